"""Harm rules of software worlds, and the remedies that any of them may name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devices.harm import HarmRule
from sims.intervention import ChangedCall, Flag, Intervention
from sims.software.history import Deed


class NotDone(Flag):
    """The call counts as not done, and so does the later call that takes it back.

    Of what was away for a while, that much is not done: the item stays as it was, the amount where it was.
    """

    def before(self, sim: Any, call: ChangedCall) -> None:
        """Tell which event is to be prevented."""
        super().before(sim, call)
        sim.prevented = call.event

    def after(self, sim: Any, call: ChangedCall) -> None:
        """Take it back."""
        super().after(sim, call)
        sim.prevented = None


NOT_DONE = NotDone("not_done", "void")


class DoneBefore(Intervention[Any]):
    """The call that should have come first counts as done.

    Args:
        name: the intervention's.
        tool: that call's tool.
        result: the parts of its result that the rule looks at.
        where: for its arguments, the argument of the changed call that each equals.
    """

    def __init__(self, name: str, tool: str, result: Mapping[str, Any], **where: str) -> None:
        self.name, self._tool, self._result, self._where = name, tool, result, where

    def before(self, sim: Any, call: ChangedCall) -> None:
        """Write it into the history."""
        arguments = {name: getattr(call.arguments, own) for name, own in self._where.items()}
        parts = {**arguments, **self._result}
        sim.history.deeds.append(Deed(call.index, sim.clock.now, self._tool, parts))


def act(kind: str, description: str, unit: str = "", remedy: str = NOT_DONE.name) -> HarmRule:
    """A rule that a call breaks at once, or from its end until it is taken back."""
    return HarmRule(kind, description, unit, remedy, follow_s=0.0)


def standing(
    kind: str, description: str, unit: str = "", remedy: str = NOT_DONE.name, **more: Any
) -> HarmRule:
    """A rule that the state breaks for as long as it is so; followed for an hour, unless told, s."""
    return HarmRule(kind, description, unit, remedy, **{"follow_s": 3600.0, **more})
