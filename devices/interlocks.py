"""Interlocks: what must hold before a tool acts, declared once for device, host and firmware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

View = TypeVar("View")


@dataclass(frozen=True, slots=True)
class Check(Generic[View]):
    """One interlock of a tool.

    Attributes:
        name: in generated firmware tables.
        refuse: takes a view of the rig and the call's complete arguments; raises a `Refusal` if the call must
            not run. A part of the view that is None is unknown and never refuses.
        always: it also holds for a forced call: the rig cannot do what it refuses.
    """

    name: str
    refuse: Callable[[View, Mapping[str, Any]], None]
    always: bool = False


Interlocks = Mapping[str, tuple[Check[View], ...]]
"""The checks of each tool, in the order in which the device makes them; other tools have none."""


def check_interlocks(
    interlocks: Interlocks[View],
    tool: str,
    view: Callable[[], View],
    arguments: Mapping[str, Any],
    *,
    forced: bool = False,
) -> None:
    """Make a tool's checks in their order; `view` is only called if there are any.

    Raises:
        Refusal: of the first check that fails.
    """
    checks = [check for check in interlocks.get(tool, ()) if check.always or not forced]
    if checks:
        seen = view()
        for check in checks:
            check.refuse(seen, arguments)
