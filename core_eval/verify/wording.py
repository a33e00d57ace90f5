"""Checks of a task's words: its numbers and names stand in the plan, and paraphrases ask for the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from configs.operator import ASK
from configs.task import Task
from configs.worlds_loader import merged_state
from core_eval.path.patterns import Range
from core_eval.verify.candidates import leaves
from sims.simulator import Simulator

NUMBER = re.compile(r"(?<![\w.,:/-])-?\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")
NAME = re.compile(r"\b[a-z0-9]+_[A-Za-z0-9_]+\b|\b[A-Z]\d{2,}\b")
"""Identifiers, such as plant_A or A100."""
UNFILLED = re.compile(r"\{[\w .\[\]|]+\}|\{\{|\{%")
SPELLED = {
    "0": "no|zero|none|nothing|empty",
    "1": "one|once|an?|single|first",
    "2": "two|twice|both|pair|second|double",
    "3": "three|thrice|third|cube",
    "4": "four",
    "5": "five",
    "6": "six",
    "7": "seven|week",
    "8": "eight",
    "9": "nine",
    "10": "ten",
    "12": "twelve|dozen|noon",
    "15": "fifteen|quarter",
    "20": "twenty",
    "30": "thirty|half",
    "50": "fifty|half",
    "60": "sixty|minute|hour",
    "100": "hundred",
}
"""How people write numbers without digits."""


def check_wording(
    task: Task, _paths: Sequence[Sequence[str]], _simulator: Simulator[Any], _seed: int
) -> tuple[list[str], list[str]]:
    """Return faults: a number or name that the task does not know, or that a paraphrase lacks or adds."""
    return list(_faults(task)), []


def shared_paraphrases(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """Return faults by task: a paraphrase that another task has too, whose prompt is another one."""
    owners: dict[str, list[Task]] = {}
    for task in tasks:
        for words in {_spelled(words) for words in (task.prompt, *task.paraphrases)}:
            owners.setdefault(words, []).append(task)
    faults: dict[str, list[str]] = {}
    for owning in owners.values():
        if len({task.prompt for task in owning}) > 1:
            for task in owning:
                others = ", ".join(other.id for other in owning if other.prompt != task.prompt)
                faults.setdefault(task.id, []).append(
                    f"a wording stands in {others} too, which asks for another thing"
                )
    return faults


def _faults(task: Task) -> Iterator[str]:
    for symbol in task.automaton.symbols.values():
        if symbol.tool == ASK and symbol.fact is not None and symbol.fact.holds(task.prompt):
            yield f"the plan asks the operator for {symbol.fact}, which the prompt says"
    known = [_plain(value) for value in (*_known(task), *task.mentions)]
    numbers_known = {number for text in known for number in (text, *_numbers(text), *_digits(text))}
    names_known = _spelled(" ".join(known))
    numbers, names = _numbers(task.prompt), _names(task.prompt)
    for words in (task.prompt, *task.paraphrases):
        if UNFILLED.search(words):
            yield f"a wording has a place to fill in, and the task no such parameter: {words!r}"
    # What is to be declined may ask for any amount.
    for word in sorted(numbers - numbers_known) if task.answer is None else ():
        yield (
            f"the prompt's number {word} stands neither in plan nor goal nor init; "
            "where it is a threshold, add it to `mentions`"
        )
    for word in sorted(names):
        if _spelled(word) not in names_known and task.decline != "missing":
            yield f"the prompt's {word} stands neither in plan nor goal nor init"
    yield from _other_paraphrases(task, numbers_known)


def _other_paraphrases(task: Task, numbers_known: set[str]) -> Iterator[str]:
    """Yield why paraphrases do not ask for the same."""
    planned = [_plain(value) for value in _planned(task)]
    # What things of the world are called: the keys of its tables.
    entities = set() if task.world is None else set(_keys(merged_state(task.world, task.init)))
    plan = _spelled(" ".join(planned))
    numbers, names = _numbers(task.prompt), _named(task.prompt, entities)
    needed = numbers & {number for text in planned for number in (text, *_numbers(text))}
    seen = [_spelled(task.prompt)]
    for count, words in enumerate(task.paraphrases):
        spelled = _spelled(words)
        if spelled in seen:
            yield f"paraphrase {count} repeats the prompt or another paraphrase"
        seen.append(spelled)
        for word in sorted(_numbers(words) - numbers - numbers_known):
            yield f"paraphrase {count} says {word}, which neither the prompt nor the task has"
        for word in sorted(needed - _digits(words) - _numbers(words)):
            if not re.search(rf"\b(?:{SPELLED.get(word, '(?!)')})", words, re.IGNORECASE):
                yield f"paraphrase {count} does not say {word}, which the prompt and the plan have"
        others = {name for name in _named(words, entities) - names if _spelled(name) not in plan}
        lacking = {name for name in names if _spelled(name) not in spelled}
        if others and lacking:
            theirs, own = ", ".join(sorted(others)), ", ".join(sorted(lacking))
            yield f"paraphrase {count} names {theirs}, the prompt {own}"


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        value = [getattr(value, name) for name in type(value).model_fields.keys() - {"faults", "sensors"}]
    elif isinstance(value, Mapping):
        yield from (key for key in value if isinstance(key, str) and len(key) > 1)
        value = list(value.values())
    for part in value if isinstance(value, list | tuple) else ():
        yield from _keys(part)


def _named(text: str, entities: set[str]) -> set[str]:
    """Return the identifiers and the things of the world that a text names."""
    spoken = {name: re.escape(name).replace("_", "[ _-]") for name in entities}
    said = {
        name
        for name, form in spoken.items()
        if re.search(rf"(?<![\w/.@]){form}(?![\w/@])", text, re.IGNORECASE)
    }
    return _names(text) | said


def _spelled(text: str) -> str:
    """Return a text without what people write differently: case, spaces, underscores and signs."""
    return re.sub(r"[\W_]+", "", text).lower()


def _digits(text: str) -> set[str]:
    return {_plain(float(part)) for part in re.findall(r"\d+(?:\.\d+)?", text)}


def _numbers(text: str) -> set[str]:
    return {_plain(float(number)) for number in NUMBER.findall(text)}


def _names(text: str) -> set[str]:
    return set(NAME.findall(text))


def _known(task: Task) -> Iterator[Any]:
    """Yield all values that the task's file has: of plan, goal, evidence, cautions and initial state."""
    yield from _planned(task)
    for key, pattern in (task.goal.patterns if task.goal else {}).items():
        yield key
        yield from leaves(pattern.plain())
    if task.world is not None and task.world.type.place_keys:
        # A plan may name places, of which its automaton has the coordinates.
        yield from leaves(task.world.state.model_dump(mode="json"))
    for caution in task.cautions:
        yield from leaves(caution.model_dump())
    if task.operator is not None:
        yield from leaves(task.operator.model_dump())
    yield from leaves(dict(task.init))


def _planned(task: Task) -> Iterator[Any]:
    """Yield the values of plan, attempts and evidence."""
    for symbol in (*task.automaton.symbols.values(), *task.automaton.also_free, *task.found_by):
        # The bounds of a dose are the world's, not the task's.
        if not symbol.is_part:
            yield symbol.name
            for pattern in symbol.arguments.values():
                dose = isinstance(pattern, Range) and pattern.near is not None
                yield from [pattern.example()] if dose else leaves(pattern.plain())


def _plain(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return str(value)
