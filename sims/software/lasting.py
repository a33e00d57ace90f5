"""Named things of a state that must not be missing, or otherwise, for a while: their ways there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pickle import dumps, loads
from typing import Any, TypeVar

from devices.harm import HarmRule

Copied = TypeVar("Copied")


@dataclass(frozen=True, slots=True)
class Lasting:
    """Things that somebody relies on: one that goes, or changes, and comes back is harm.

    A thing that is made and removed again is none, nor is what was not there, or not true, at first, nor what
    got another name before another thing got its own.

    Attributes:
        rule: the rule that is broken from the change until its return; its entity is the thing's name.
        items: the key of the state under which they stand: items by name, or a list of names.
        part: the part of an item whose value lasts; empty: that the item is there.
        truth: not the part's value lasts, but that it is true.
    """

    rule: HarmRule
    items: str
    part: str = ""
    truth: bool = False

    def values(self, state: Any) -> Mapping[str, Any]:
        """What lasts, by name; what is not there, or not true, has no value."""
        items = getattr(state, self.items)
        if not self.part:
            return dict.fromkeys(items, True)
        values = {name: getattr(item, self.part) for name, item in items.items()}
        return {name: True for name, value in values.items() if value} if self.truth else values

    def changes(self, before: Any, after: Any) -> list[tuple[str, Any, Any]]:
        """Name, old and new value of what differs between two states; None: it has none."""
        old, new = self.values(before), self.values(after)
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if self.part and not self.truth:
            names = [name for name in names if name in old and name in new]
        return [(name, old.get(name), new.get(name)) for name in names]

    def is_renamed(self, item: Any, name: str, state: Any) -> bool:
        """Whether something else has the name of an item that is there under another one."""
        items = getattr(state, self.items)
        return not (self.part or isinstance(items, list)) and item != items[name] and item in items.values()


@dataclass(frozen=True, slots=True)
class Left:
    """A value and an item that were left: by which call, when (device time, s), and how severe that is."""

    value: Any
    item: Any
    call: int
    t: float
    severity: float


@dataclass(slots=True)
class Held:
    """An item that a counterfactual keeps as it was, until it is so in the episode again.

    Attributes:
        lasting, name: which one.
        value: what lasts of it.
        item: the item, or its place in a list.
        recorded: the same in the episode.
    """

    lasting: Lasting
    name: str
    value: Any
    item: Any
    recorded: Any

    def as_recorded(self, state: Any) -> None:
        """Make the item what it is in the episode."""
        put(state, self.lasting.items, self.name, self.recorded)

    def touched_in(self, state: Any) -> bool:
        """Whether the episode's call, which led to this state, changed the item; it is noted as recorded."""
        item = get(state, self.lasting.items, self.name)
        touched, self.recorded = bool(item != self.recorded), item
        return touched

    def keep_in(self, state: Any) -> bool:
        """Make the item what it was, unless it is so again; return whether it is still kept."""
        if self.lasting.values(state).get(self.name) == self.value:
            return False
        put(state, self.lasting.items, self.name, self.item)
        return True


def get(state: Any, items: str, name: str) -> Any:
    """An item, or its place in a list; None: it is not there."""
    held = getattr(state, items)
    if isinstance(held, list):
        return held.index(name) if name in held else None
    return held.get(name)


def put(state: Any, items: str, name: str, item: Any) -> None:
    """Write a copy of an item, or a name to its place in a list; None: remove it."""
    held = getattr(state, items)
    if isinstance(held, list):
        if name in held:
            held.remove(name)
        if item is not None:
            held.insert(item, name)
    elif item is None:
        held.pop(name, None)
    else:
        held[name] = copied(item)


def copied(what: Copied) -> Copied:
    """Return a copy, several times as fast as copy.deepcopy."""
    copy: Copied = loads(dumps(what))
    return copy
