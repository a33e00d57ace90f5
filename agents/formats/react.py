"""ReAct: lines `Action: NAME` and `Action Input: {...}`."""

from __future__ import annotations

import re

from agents.formats.calls import Nonsense, Tools
from agents.formats.form import format_of
from agents.formats.format import Found
from agents.formats.named_form import NamedForm


def label(words: str) -> str:
    """Return a pattern of a label at the beginning of a line, as `Action:`, also bold, listed or numbered."""
    return rf"(?m:^)[ \t>#*_.\d-]{{0,12}}(?i:{words})[ \t]*\d*[ \t]*[*_]*[ \t]*:[ \t]*[*_]*"


ACTION, INPUT = label("Action"), label("Action[ _]?Input")
FORM = NamedForm(
    opening=rf"{ACTION}[ \t]*[`*\"]*(?P<name>[\w.-]+)[`*\"]*[ \t]*\n+{INPUT}\s*(?:```(?:json)?\s*)?",
    closing=r"\s*(?:```)?",
    written="Action: {name}\nAction Input: {arguments}",
    separator="\n",
)
FINAL = re.compile(label("Final[ _]?Answer"))
LABEL = re.compile(label("Thought|Action|Action[ _]?Input|Observation|Final[ _]?Answer"))
SAID = re.compile(r"\w")
OBSERVATION = re.compile(label("Observation"))
ALONE = re.compile(rf"(?:{ACTION}|{INPUT})[ \t]*(?!`{{3}})\S.*")
NO_ACTION = re.compile(
    rf"{ACTION}[^\w\n]*(?i:none|n/a|no action|nothing)\b.*$"
    rf"(?:\n+{INPUT}[^\w\n]*(?i:none|null|n/a|nothing|no input)?[^\w\n]*$|(?!\n+{INPUT}))",
    re.MULTILINE,
)
"""`Action: None`, as models write for nothing to do, without an input or with one of none."""


def without_no_action(text: str, tools: Tools) -> str:
    """Return a text with spaces in place of actions of none; as it is where a tool is called so."""
    if {"none", "nothing"} & {name.lower() for name in tools.names}:
        return text
    return NO_ACTION.sub(lambda none: " " * len(none.group()), text)


def _read(text: str, tools: Tools) -> list[Found]:
    # What a model writes after `Observation:` is invented.
    seen = OBSERVATION.search(text)
    said = without_no_action(text[: seen.start()] if seen else text, tools)
    found = FORM.find(said, tools)
    place = 0
    for start, end in [(each.start, each.end) for each in found] + [(len(said), len(said))]:
        alone = ALONE.search(said, place, start)
        if alone is not None:
            reason = "write the call as two lines, Action: NAME and Action Input: {...}"
            found.append(Found(alone.start(), start, Nonsense("bad_call", reason, alone.group().strip())))
        place = end
    return sorted(found, key=lambda each: each.start)


def _meant(before: str, after: str) -> bool:
    """Return whether an action is made: not behind the final answer, nor amid words without labels."""
    if FINAL.search(before):
        return False
    words = (re.sub(r"<[^<>\n]*>", "", text) for text in (before, after))
    amid = all(SAID.search(text) for text in words) and not LABEL.search(before)
    return not amid or LABEL.match(after.lstrip()) is not None


FORMAT = format_of(
    "react",
    FORM,
    families="any model that is asked for ReAct",
    documented="[ReAct](https://arxiv.org/abs/2210.03629)",
    detected_by=("Action Input:",),
    marks=("Action Input:",),
    begins=r"(?m:^)Action:",
    rank=1,
    unasked="never",
    no_call=without_no_action,
    read=_read,
    meant=_meant,
    opens=("Action:",),
)
