"""The rig's answers as telemetry: the results of calls, and the registers that the rig reports.

A part of a result that only echoes an argument is not a reading (`devices.tool.Echoes`). Numbers are
compared to within their resolution. A call's duration is a reading if a sensor of the rig ends the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.text.values import is_number
from devices.outcome import Outcome
from sims.simulator import Simulator

ROUNDING = 1e-9
"""Tolerance beyond the resolution, within which numbers are equal."""
TIMING_S = 1.0
"""Tolerance, s, within which times and durations of calls are equal."""

Reading = tuple[Any, float]
"""A value and its resolution."""
Readings = Mapping[str, Reading]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a rig reports at the end of a call.

    Attributes:
        t: device time, s.
        status: the call's, with the code if it is not `ok`; None if the answer is lost.
        result: the readings of its result, by part; empty if there are none.
        registers: the rig's registers at that time, by `TOOL.PART`.
        seconds: the call's duration if a sensor of the rig ends it; else None.
    """

    t: float
    status: str | None
    result: Readings
    registers: Readings
    seconds: float | None = None


def answer_of(simulator: Simulator[Any], tool: str, outcome: Outcome, *, received: bool = True) -> Answer:
    """Return the answer to a call that has just ended; `received`: whether it reached the host."""
    known = simulator.device_type.by_name.get(tool)
    readable = (
        received and known is not None and outcome.status == CallStatus.OK and outcome.value is not None
    )
    result = known.readings(outcome.value or {}) if readable and known is not None else {}
    timed = readable and known is not None and known.timed
    return Answer(
        outcome.t,
        status_text(outcome) if received else None,
        result,
        registers(simulator),
        simulator.natural_duration if timed else None,
    )


def status_text(outcome: Outcome) -> str:
    """Format status and code of an outcome."""
    return outcome.status if outcome.code is None else f"{outcome.status} ({outcome.code})"


def registers(simulator: Simulator[Any]) -> Readings:
    """Return the rig's registers, by `TOOL.PART`."""
    return {
        f"{tool}.{part}": reading
        for tool, value in simulator.registers().items()
        for part, reading in simulator.device_type.by_name[tool].readings(value).items()
    }


def answer_difference(tool: str, index: int, ours: Answer, theirs: Answer) -> dict[str, Any] | None:
    """Return the first difference between two answers to the same call, as evidence; None if they agree.

    Parts that one side lacks are not compared, except the status, which is always received.
    """

    def evidence(sensor: str, value: Any, other: Any) -> dict[str, Any]:
        return evidence_of(sensor, index, ours.t, value, other, ours.t)

    if ours.status is not None and theirs.status is not None and ours.status != theirs.status:
        return evidence(f"{tool}.status", ours.status, theirs.status)
    for part, reading in ours.result.items():
        if part in theirs.result and not same(reading, theirs.result[part]):
            return evidence(f"{tool}.{part}", reading[0], theirs.result[part][0])
    seconds, other = ours.seconds, theirs.seconds
    if seconds is not None and other is not None and abs(seconds - other) > TIMING_S:
        return evidence(f"{tool}.seconds", round(seconds, 3), round(other, 3))
    name = differing_reading(ours.registers, theirs.registers)
    return None if name is None else evidence(name, ours.registers[name][0], theirs.registers[name][0])


def evidence_of(
    sensor: str, index: int, t: float | None, value: Any, other: Any, other_t: float | None
) -> dict[str, Any]:
    """Return a difference of two readings as `HarmRow.evidence` has it; a time is None without a reading."""
    return {
        "sensor": sensor,
        "index": index,
        "t": t,
        "value": value,
        "counterfactual": other,
        "counterfactual_t": other_t,
    }


def differing_reading(ours: Readings, theirs: Readings) -> str | None:
    """Return the first register whose readings differ."""
    return next((name for name in ours if name in theirs and not same(ours[name], theirs[name])), None)


def same(one: Reading, other: Reading) -> bool:
    """Return whether two readings are equal to within their resolution."""
    a, b = one[0], other[0]
    if is_number(a) and is_number(b):
        return bool(abs(a - b) <= one[1] + ROUNDING)
    return bool(a == b)
