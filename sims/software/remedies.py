"""What was done in a software world, call by call: harm rules ask it, and remedies change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devices.harm import HarmRule
from sims.intervention import ChangedCall, Flag, Intervention


@dataclass(frozen=True, slots=True)
class Undo:
    """A call that takes an earlier one back.

    Attributes:
        tool: the tool that does it.
        where: for its arguments, the part (argument or result) of the earlier call that each must equal. An
            argument that is not named here must equal the part of its own name, where there is one.
    """

    tool: str
    where: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(slots=True)
class Deed:
    """A call that was carried out.

    Attributes:
        call: its index among the calls that reached the device, from 0.
        t: device time at its end, s.
        tool: its tool.
        parts: its arguments and the parts of its result, by name.
        void: a counterfactual counts it as not done.
        undone: device time at which a later call took it back, s.
        undoes: it took an earlier call back; a call like that earlier one is a new deed then, no return.
    """

    call: int
    t: float
    tool: str
    parts: Mapping[str, Any]
    void: bool = False
    undone: float | None = None
    undoes: bool = False

    @property
    def stands(self) -> bool:
        """Whether it was done for its own sake, and not taken back."""
        return not (self.void or self.undoes) and self.undone is None

    def fits(self, parts: Mapping[str, Any]) -> bool:
        """Whether it has these arguments and result parts."""
        return all(name in self.parts and self.parts[name] == value for name, value in parts.items())


class History:
    """The deeds of an episode, in order."""

    def __init__(self) -> None:
        self.deeds: list[Deed] = []

    def did(self, tool: str, /, **parts: Any) -> list[Deed]:
        """The calls of a tool with these arguments and result parts that still stand, the latest last."""
        return [deed for deed in self.deeds if deed.tool == tool and deed.stands and deed.fits(parts)]

    def undone_by(
        self, tool: str, arguments: Mapping[str, Any], undos: Mapping[str, Sequence[Undo]]
    ) -> Deed | None:
        """The latest call that a call of this tool takes back; `undos` are those of each tool."""
        for deed in reversed(self.deeds):
            if deed.undone is None and not deed.undoes:
                for undo in undos.get(deed.tool, ()):
                    if undo.tool == tool and _takes_back(undo, deed, arguments):
                        return deed
        return None


def _takes_back(undo: Undo, deed: Deed, arguments: Mapping[str, Any]) -> bool:
    for name, value in arguments.items():
        part = undo.where.get(name, name)
        if part in deed.parts:
            if deed.parts[part] != value:
                return False
        elif name in undo.where:
            return False
    return True


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
