"""ReAct: lines `Action: NAME` and `Action Input: {...}`."""

from __future__ import annotations

import re

from agents.formats.calls import Nonsense, Tools
from agents.formats.format import Found
from agents.formats.named_form import NamedForm, find_named, named_format

FORM = NamedForm(
    opening=r"(?m:^)[ \t]*\**Action:\**[ \t]*`?(?P<name>[\w.-]+)`?[ \t]*\n+[ \t]*\**Action Input:\**\s*"
    r"(?:```(?:json)?\s*)?",
    closing=r"\s*(?:```)?",
    before="Action: ",
    between="\nAction Input: ",
    after="",
    separator="\n",
)
OBSERVATION = re.compile(r"(?m:^)[ \t]*\**Observation:")
ALONE = re.compile(r"(?m:^)[ \t]*\**Action(?: Input)?:\**[ \t]*(?!`{3})(?P<words>\S.*)")


def _read(text: str, tools: Tools) -> list[Found]:
    # What a model writes after `Observation:` is invented.
    seen = OBSERVATION.search(text)
    said = text[: seen.start()] if seen else text
    found = find_named(said, re.compile(FORM.opening), re.compile(FORM.closing))
    if not found and (alone := ALONE.search(said)) and alone["words"].strip(" .*`").lower() != "none":
        reason = "write the call as two lines, Action: NAME and Action Input: {...}"
        found = [Found(alone.start(), len(said), Nonsense("bad_call", reason, alone.group().strip()))]
    return found


FORMAT = named_format(
    "react",
    FORM,
    families="any model that is asked for ReAct",
    documented="[ReAct](https://arxiv.org/abs/2210.03629)",
    detected_by=("Action Input:",),
    marks=("Action Input:",),
    begins=re.compile(r"(?m:^)Action:"),
    read=_read,
    opens=("Action:",),
)
