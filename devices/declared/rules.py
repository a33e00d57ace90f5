"""A device file's rules for registers: the calls that set, need and report them, and a host's knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.path.patterns import Pattern
from devices.declared.device_file import ArgumentRef, Scalar
from devices.interlocks import Check
from devices.known_state import KnownState
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample


@dataclass(frozen=True, slots=True)
class Needed:
    """A requirement of a tool: `registers` must fit if the arguments fit `when`."""

    registers: Mapping[str, Pattern]
    when: Mapping[str, Pattern]
    code: str
    message: str

    def unmet(self, known: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
        """Return the refusal's sentence if a known register does not fit; else None."""
        if not all(name in arguments and fits.holds(arguments[name]) for name, fits in self.when.items()):
            return None
        for name, fits in self.registers.items():
            if name in known and not fits.holds(known[name]):
                return self.message or f"It needs {name}{fits}, and {name} is {known[name]!r}."
        return None

    def refuse(self, known: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
        """Raise the refusal if a known register does not fit."""
        unmet = self.unmet(known, arguments)
        if unmet is not None:
            raise Refusal(self.code, unmet)


@dataclass(frozen=True, slots=True)
class ToolRules:
    """The registers that one tool sets, needs and reports.

    Attributes:
        sets: register to value, or to the argument that holds it.
        reports: key of the result to the register that it reports.
        limits: argument to the pattern that the guard enforces.
    """

    sets: Mapping[str, Scalar | ArgumentRef] = field(default_factory=dict)
    needs: tuple[Needed, ...] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Pattern] = field(default_factory=dict)


@dataclass(frozen=True)
class DeclaredRules:
    """The rules of a device type that a file declares.

    Attributes:
        tools: by the tool's name.
        after_stop: registers whose value is known after a stop.
        sensors: the sensors of the file, each with the register that it reports, if any.
    """

    tools: Mapping[str, ToolRules]
    after_stop: Mapping[str, Scalar] = field(default_factory=dict)
    sensors: Mapping[str, str | None] = field(default_factory=dict)

    def known_state(self, *, stopped: bool) -> KnownRegisters:
        """Return the knowledge at the start of an episode; `stopped`: the rig has just confirmed a stop."""
        return KnownRegisters(self, self.after_stop if stopped else {})


class KnownRegisters(KnownState):
    """The registers of a rig, as known from its results and samples."""

    def __init__(self, rules: DeclaredRules, known: Mapping[str, Scalar]) -> None:
        self._rules = rules
        self._known: dict[str, Any] = dict(known)
        self.interlocks = {
            name: tuple(Check("registers", needed.refuse) for needed in own.needs)
            for name, own in rules.tools.items()
        }
        self._since = 0.0
        """Device time up to which results are accounted for, s."""

    def view(self) -> Mapping[str, Any]:
        """Return the known registers."""
        return self._known

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the argument that violates a limit of the file."""
        for name, limit in self._of(tool).limits.items():
            if name in arguments and not limit.holds(arguments[name]):
                return f"{tool} has {name}={arguments[name]!r}, and the limit is {name}{limit}"
        return None

    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Update the registers by the outcome of a call; after a fault none is known."""
        self._since = max(self._since, outcome.t)
        if outcome.status == CallStatus.FAULT:
            self._known.clear()
        elif outcome.status == CallStatus.OK:
            self.done(tool, arguments)
            for key, register in self._of(tool).reports.items():
                if outcome.value is not None and key in outcome.value:
                    self._known[register] = outcome.value[key]

    def done(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Set the registers that the tool sets."""
        for register, value in self._of(tool).sets.items():
            if not isinstance(value, ArgumentRef):
                self._known[register] = value
            elif value.argument in arguments:
                self._known[register] = arguments[value.argument]
            else:
                self._known.pop(register, None)

    def on_sample(self, sample: Sample) -> None:
        """Set the register that a sensor reports, unless the sample is older than the last call's end."""
        register = self._rules.sensors.get(sample.sensor)
        if register is not None and sample.t >= self._since:
            self._known[register] = sample.value

    def _of(self, tool: str) -> ToolRules:
        return self._rules.tools.get(tool, _NO_RULES)


_NO_RULES = ToolRules()
