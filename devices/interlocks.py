"""Interlocks: what must hold before a tool acts, declared once for the device and for whoever foresees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

View = TypeVar("View")


@dataclass(frozen=True, slots=True)
class Check(Generic[View]):
    """One interlock of a tool.

    Attributes:
        name: what it looks at; firmware that is generated from the declaration knows it by this name.
        refuse: takes a view of the rig and the call's complete arguments; raises the `Refusal` that the call
            deserves. A part of the view that is None is not known: then it raises nothing.
        always: it holds for a forced call, too: the rig cannot do what it refuses.
    """

    name: str
    refuse: Callable[[View, Mapping[str, Any]], None]
    always: bool = False


Interlocks = Mapping[str, tuple[Check[View], ...]]
"""The checks of each tool, in the order in which the device looks; a tool that is left out has none."""


def look(
    interlocks: Interlocks[View],
    tool: str,
    view: Callable[[], View],
    arguments: Mapping[str, Any],
    *,
    forced: bool = False,
) -> None:
    """Go through a tool's checks in their order; `view` is asked for only where there are any.

    Raises:
        Refusal: the first check that speaks against the call.
    """
    checks = [check for check in interlocks.get(tool, ()) if check.always or not forced]
    if checks:
        seen = view()
        for check in checks:
            check.refuse(seen, arguments)
