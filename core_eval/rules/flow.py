"""Text that goes from the results of some tools into the arguments of others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core_eval.path.calls import Call
from core_eval.rules.calls import CallPattern
from core_eval.rules.given_text import Text
from core_eval.rules.grounds import SMALL, Told
from core_eval.rules.tool_schemas import Argument
from core_eval.text.notation import normal
from core_eval.text.values import as_float
from core_eval.text.word_runs import WordRuns

SHORTEST = 3
"""Characters that a single value needs, to be told from chance."""
_TOKEN = re.compile(r"(?<![\w@+.-])(?:[^\W\d]|[@+.-])*\d[\w@+.-]*|(?<![\w+.-])[\w+.-]+@[\w.-]+")


def flows(told: Told, call: Call, source: CallPattern, words: int) -> Iterator[str]:
    """Yield what a call's arguments hold that only the source's results hold: what, and of which step.

    What also stands in the prompt, in the user's words or in another result came from there.

    Args:
        told: what the agent has been told before the call.
        source: the calls whose results must not go into this one.
        words: so many words in a row are a quotation; a value, an id or a number is one by itself.
    """
    from_source: list[Text] = []
    others: list[Text] = []
    for text in told.texts:
        is_source = text.call is not None and source.matches(text.call)
        (from_source if is_source else others).append(text)
    for argument in told.schemas.arguments(call):
        given = normal(argument.value).split() if isinstance(argument.value, str) else []
        runs = WordRuns(given) if from_source and len(given) >= words else None
        for text in reversed(from_source):
            if (found := _shared(argument, text, others, words, given, runs)) is not None:
                tool = text.call.name if text.call else ""
                yield f"{argument.path} has {found!r} of step {text.step}, {tool}"
                break


def _shared(
    argument: Argument,
    source: Text,
    others: list[Text],
    words: int,
    given: list[str],
    runs: WordRuns | None,
) -> str | None:
    value = argument.value
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, str):
        whole = normal(str(value))
        is_small = as_float(value).is_integer() and abs(value) <= SMALL
        return None if is_small or not _is_only(whole, source, others) else str(value)
    whole = normal(value)
    if len(whole.strip()) >= SHORTEST and _is_only(whole, source, others):
        return value
    if runs is not None:
        place, size = runs.longest(source.words.split())
        quoted = " ".join(given[place : place + size])
        if size >= words and _is_only(f" {quoted} ", source, others):
            return quoted
    for found in _TOKEN.finditer(value):
        token = found[0].strip(".-")
        if len(token) >= SHORTEST and _is_only(normal(token), source, others):
            return token
    return None


def _is_only(words: str, source: Text, others: list[Text]) -> bool:
    return words in source.words and not any(words in text.words for text in others)
