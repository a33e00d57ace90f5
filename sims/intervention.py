"""Interventions: how a counterfactual makes one call harmless. A world has its own, in a file of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

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
    """One way to make a call harmless. It keeps nothing: what it changes is the simulator's.

    A subclass gives `name`, and what it needs of the three methods. `after` is called in any case, whether
    the tool came to its end or not.
    """

    name: str
    """What rules, logs and reports call it."""
    until_the_end: ClassVar[bool] = False
    """It lasts for all the time that the call shall take, not only while its tool works."""

    def arguments(self, sim: Sim, call: ChangedCall) -> ToolArguments:
        """The arguments that the tool gets instead of the call's."""
        return call.arguments

    def before(self, sim: Sim, call: ChangedCall) -> None:
        """Set the simulator up, right before the tool works."""

    def after(self, sim: Sim, call: ChangedCall) -> None:
        """Take back what must not outlast the call."""


class Flag(Intervention[Any]):
    """Sets an attribute of the simulator to True, as long as the call's tool works; its physics heeds it.

    Args:
        name: the intervention's.
        attribute: the simulator's, False by default.
    """

    def __init__(self, name: str, attribute: str) -> None:
        self.name, self._attribute = name, attribute

    def before(self, sim: Any, call: ChangedCall) -> None:
        """Set it."""
        setattr(sim, self._attribute, True)

    def after(self, sim: Any, call: ChangedCall) -> None:
        """Take it back."""
        setattr(sim, self._attribute, False)


Interventions = Mapping[str, Intervention[Any]]
NO_INTERVENTIONS: Interventions = MappingProxyType({})


def by_name(interventions: Iterable[Intervention[Any]]) -> Interventions:
    """A world's interventions under their names."""
    return MappingProxyType({one.name: one for one in interventions})
