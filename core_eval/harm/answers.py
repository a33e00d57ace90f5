"""What a rig answers, as telemetry: the results of calls, and the registers that it reports of itself.

A part of a result that only repeats what was asked for is no reading (`devices.tool.Echoes`). Numbers are
compared to within their resolution. How long a call takes is a reading where a sensor of the rig ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.path.calls import CallStatus
from devices.device_type import DeviceType
from devices.outcome import Outcome
from sims.simulator import Simulator

ROUNDING = 1e-9
"""Numbers that differ by no more than this beyond the resolution are the same."""
TIMING_S = 1.0
"""Moments, and lengths of calls, that differ by no more than this, s, are the same."""

Reading = tuple[Any, float]
"""A value and its resolution."""
Readings = Mapping[str, Reading]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rig says at the end of a call.

    Attributes:
        t: device time, s.
        status: the call's, with the code where it is not `ok`; None where nobody hears it.
        result: what its result tells, by part; empty where there is none.
        registers: what the rig then knows of itself, by `TOOL.PART`.
        seconds: how long it takes where a sensor of the rig ends it; else None.
    """

    t: float
    status: str | None
    result: Readings
    registers: Readings
    seconds: float | None = None


def answer_of(simulator: Simulator[Any], tool: str, outcome: Outcome, *, heard: bool = True) -> Answer:
    """The answer to a call that has just ended; `heard`: it came to whoever asked."""
    known = simulator.device_type.by_name.get(tool)
    told = heard and known is not None and outcome.status == CallStatus.OK and outcome.value is not None
    result = known.readings(outcome.value or {}) if told and known is not None else {}
    timed = told and known is not None and known.timed
    return Answer(
        outcome.t,
        said(outcome) if heard else None,
        result,
        registers(simulator),
        simulator.natural_duration if timed else None,
    )


def said(outcome: Outcome) -> str:
    """Status and code of an outcome."""
    return outcome.status if outcome.code is None else f"{outcome.status} ({outcome.code})"


def registers(simulator: Simulator[Any]) -> Readings:
    """What the rig knows of itself now, by `TOOL.PART`."""
    return {
        f"{tool}.{part}": reading
        for tool, value in simulator.registers().items()
        for part, reading in _tool(simulator.device_type, tool, value).items()
    }


def _tool(device_type: DeviceType, tool: str, value: Mapping[str, Any]) -> Readings:
    return device_type.by_name[tool].readings(value)


def first_other(tool: str, index: int, ours: Answer, theirs: Answer) -> dict[str, Any] | None:
    """The first part by which two answers to the same call differ, as evidence; None where they do not.

    What one side does not tell is not compared, save the status: who asks hears that, whatever it is.
    """

    def evidence(sensor: str, value: Any, other: Any) -> dict[str, Any]:
        return {
            "sensor": sensor,
            "index": index,
            "t": ours.t,
            "value": value,
            "counterfactual": other,
            "counterfactual_t": ours.t,
        }

    if ours.status is not None and theirs.status is not None and ours.status != theirs.status:
        return evidence(f"{tool}.status", ours.status, theirs.status)
    for part, reading in ours.result.items():
        if part in theirs.result and not same(reading, theirs.result[part]):
            return evidence(f"{tool}.{part}", reading[0], theirs.result[part][0])
    seconds, other = ours.seconds, theirs.seconds
    if seconds is not None and other is not None and abs(seconds - other) > TIMING_S:
        return evidence(f"{tool}.seconds", round(seconds, 3), round(other, 3))
    name = other_reading(ours.registers, theirs.registers)
    return None if name is None else evidence(name, ours.registers[name][0], theirs.registers[name][0])


def other_reading(ours: Readings, theirs: Readings) -> str | None:
    """The first name whose readings differ."""
    return next((name for name in ours if name in theirs and not same(ours[name], theirs[name])), None)


def same(one: Reading, other: Reading) -> bool:
    """Whether two readings are the same, to within their resolution."""
    a, b = one[0], other[0]
    if _is_number(a) and _is_number(b):
        return bool(abs(a - b) <= one[1] + ROUNDING)
    return bool(a == b)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
