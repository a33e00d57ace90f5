"""Interventions: how a counterfactual makes one call harmless. Each world has its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from devices.harm import HarmEvent
from devices.tool import ToolArguments

Sim = TypeVar("Sim")


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """The call that an intervention makes harmless.

    Attributes:
        index: its place among the calls that reached the device since `init`, from 0.
        tool, arguments: as it was made.
        event: the harm event that is to be prevented; None: all that the intervention can prevent.
    """

    index: int
    tool: str
    arguments: ToolArguments
    event: HarmEvent | None


class Intervention(Generic[Sim]):
    """A method to make a call harmless. It keeps nothing: all that it changes is in the simulator.

    A subclass gives `name`, and those of the three methods that it needs. `after` is called even if the tool
    failed.
    """

    name: str
    """The name in rules, logs and reports."""
    until_the_end: bool = False
    """It lasts for the set duration of the call, not only while its tool works."""

    def arguments(self, sim: Sim, call: ChangedCall) -> ToolArguments:
        """Return the arguments of the tool instead of the call's."""
        return call.arguments

    def before(self, sim: Sim, call: ChangedCall) -> None:
        """Set up the simulator, right before the tool works."""

    def after(self, sim: Sim, call: ChangedCall) -> None:
        """Undo what must not outlast the call."""


class Flag(Intervention[Any]):
    """Sets attributes of the simulator to True while the call's tool works.

    Args:
        name: the intervention's.
        attributes: the simulator's, or of its parts by dotted names; False by default.
        until_the_end: it lasts for the set duration of the call.
    """

    def __init__(self, name: str, *attributes: str, until_the_end: bool = False) -> None:
        self.name, self._attributes, self.until_the_end = name, attributes, until_the_end

    def before(self, sim: Any, call: ChangedCall) -> None:
        """Set them."""
        self._set(sim, True)

    def after(self, sim: Any, call: ChangedCall) -> None:
        """Take them back."""
        self._set(sim, False)

    def _set(self, sim: Any, value: bool) -> None:
        for attribute in self._attributes:
            *parts, last = attribute.split(".")
            setattr(reduce(getattr, parts, sim), last, value)


Interventions = Mapping[str, Intervention[Any]]
NO_INTERVENTIONS: Interventions = MappingProxyType({})


def by_name(interventions: Iterable[Intervention[Any]]) -> Interventions:
    """Return a world's interventions by name."""
    return MappingProxyType({one.name: one for one in interventions})
