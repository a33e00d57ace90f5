"""A rig's envelope: limits of range, speed and dose for every call of every task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core_eval.path.patterns import Pattern, parse_pattern


class Envelope:
    """The pattern of each argument of each tool.

    Args:
        limits: tool to argument to pattern, written as in a plan: `{min: 0, max: 20}`, `{in: [..]}`, a value.

    Raises:
        ValueError: not a pattern; one line that names tool and argument.
    """

    def __init__(self, limits: Mapping[str, Mapping[str, Any]]) -> None:
        self._limits: dict[str, dict[str, Pattern]] = {}
        for tool, arguments in limits.items():
            for argument, written in arguments.items():
                try:
                    pattern = parse_pattern(written)
                except ValueError as error:
                    raise ValueError(f"{tool}.{argument}: {error}") from None
                self._limits.setdefault(tool, {})[argument] = pattern

    def leaves(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return what of a call is outside, in one line; None if it is inside.

        A limited argument that is missing is outside: the rig's default is not known.
        """
        for argument, pattern in self._limits.get(tool, {}).items():
            if argument not in arguments:
                if not pattern.may_be_missing:
                    return f"{tool} needs {argument}{pattern}, and it is missing"
            elif not pattern.holds(arguments[argument]):
                return (
                    f"{tool} has {argument}={arguments[argument]!r}, and the rig allows {argument}{pattern}"
                )
        return None
