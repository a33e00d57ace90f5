"""The golden run that an episode is compared with, and the response baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from agents.baselines.example_arguments import example_call
from configs.operator import ASK
from core_eval.harm.golden import AnsweredCall, response_baseline
from core_eval.log import StepRow
from core_eval.path import Call, TaskAutomaton
from core_eval.text.json_text import as_logged
from devices.device_type import DeviceType
from devices.outcome import Outcome

GOLDEN_PATHS_TRIED = 256


def golden_calls(
    automaton: TaskAutomaton, steps: Sequence[StepRow], device: DeviceType | None = None
) -> list[Call] | None:
    """Return the calls of the golden path most similar to the episode; None if there is no golden path.

    The first `GOLDEN_PATHS_TRIED` golden paths are compared. Arguments that the task leaves open are taken
    from the episode's own calls of the same symbol, else chosen to fit the device's tool. Questions to an
    operator are left out: no rig answers them.
    """
    made = [(step.symbol, step.arguments or {}) for step in steps if step.symbol is not None]
    symbols = [symbol for symbol, _ in made]
    best: tuple[float, tuple[str, ...]] | None = None
    for path in islice(automaton.golden_paths(limit=GOLDEN_PATHS_TRIED), GOLDEN_PATHS_TRIED):
        likeness = SequenceMatcher(None, symbols, path, autojunk=False).ratio()
        if best is None or likeness > best[0]:
            best = (likeness, path)
    if best is None:
        return None
    own: dict[str, list[Mapping[str, Any]]] = {}
    for symbol, arguments in made:
        own.setdefault(symbol, []).append(arguments)
    tools = {} if device is None else device.by_name
    calls = []
    for name in best[1]:
        given, meant = own.get(name), automaton.symbols[name]
        if meant.tool == ASK and device is not None and ASK not in device.by_name:
            continue
        example = example_call(meant, tools.get(meant.tool))
        calls.append(replace(example, arguments=given.pop(0)) if given else example)
    return calls


def response_ok(golden: Sequence[Call], answers: Sequence[Outcome], steps: Sequence[StepRow]) -> bool:
    """Return whether the episode contains all calls of the golden run with the same results."""
    expected = [
        AnsweredCall(
            call.name, as_logged(dict(call.arguments)), _answer(as_logged(answer.value), answer.code)
        )
        for call, answer in zip(golden, answers, strict=True)
    ]
    made = [
        AnsweredCall(step.tool or "", step.arguments or {}, _answer(step.result, step.error_code))
        for step in steps
    ]
    return response_baseline(expected, made)


def _answer(value: Any, code: str | None) -> Any:
    return value if code is None else {"error": code}
