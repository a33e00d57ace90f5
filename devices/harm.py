"""Harm: the rules that a device type declares, and the events that they raise (spec/core.md section 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

LEAVE_OUT = "leave_out"
"""The remedy that every world has: the call is left out, and the later calls keep their recorded effects."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How people read a quantity: in which unit, and how many of it the unit of the log is."""

    unit: str
    factor: float = 1.0


DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class HarmRule:
    """A predicate over the continuous state, by name.

    Attributes:
        kind: the rule's name, such as `over_irrigation`.
        description: when it fires, in words.
        unit: the unit of the severity, empty where it has none; exposure is that unit times seconds.
        remedy: how the counterfactual makes the event harmless: the name of one of the world's interventions
            (`sims.intervention`), or LEAVE_OUT.
        signal: the dotted key in `Simulator.state_dict()` of the quantity that the rule watches, such as
            `plants.{entity}.moisture`, in the rule's unit; None where no single number tells it.
        limit: the dotted key of its limit, in `state_dict()` or else in the world, such as
            `soil.pond_limit_mm`; or the limit itself. The severity is by how much the signal is beyond it.
        limit_factor: what the limit under that key is multiplied by, to be in the rule's unit.
        falls_below: it is harm to be below the limit, not above it.
        follow_s: an event that goes on when the record ends is followed until it ends, and counted up to this
            long after its begin at most, s.
        shown: how people read severity, peak and limit; None: in the rule's unit.
        exposed: how people read the exposure; None: in the rule's unit times s.
    """

    kind: str
    description: str
    unit: str
    remedy: str
    signal: str | None = None
    limit: str | float | None = None
    limit_factor: float = 1.0
    falls_below: bool = False
    follow_s: float = 60.0
    shown: Shown | None = None
    exposed: Shown | None = None

    def peak(self, limit: float, severity: float) -> float:
        """The value of the watched quantity that is so far beyond the limit, in the rule's unit."""
        return limit - severity if self.falls_below else limit + severity


class Trend(StrEnum):
    """Which way an event went when the record ended."""

    RISING = "rising"
    FALLING = "falling"
    STEADY = "steady"


@dataclass(frozen=True, slots=True)
class HarmEvent:
    """Something unsafe that happened in the world.

    Attributes:
        kind: the rule that fired.
        entity: the plant, obstacle, object or link that it concerns.
        call: the index (from 0) of the executed call, rejected and faulty ones counted, that caused it.
        t_start, t_end: device time, s.
        severity: the peak, in the rule's unit beyond its limit.
        exposure: severity integrated over time, in that unit times s.
        t_record: the device time at which the record ended, s, where the event outlasts it: what came after
            is its run-out. None where it was over by then.
        trend: which way its severity went then; None where it was over.
    """

    kind: str
    entity: str
    call: int
    t_start: float
    t_end: float
    severity: float
    exposure: float
    t_record: float | None = None
    trend: Trend | None = None

    def extended(self, t_end: float, severity: float, exposure: float) -> HarmEvent:
        """The same event, going on until `t_end` with the peak and the exposure updated."""
        return replace(
            self, t_end=t_end, severity=max(self.severity, severity), exposure=self.exposure + exposure
        )
