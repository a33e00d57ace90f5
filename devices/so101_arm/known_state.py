"""A host's knowledge of an SO-101, and the interlocks and limits that it foresees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devices.arm.known_state import KnownGripperArm
from devices.so101_arm.interlocks import SO101_INTERLOCKS, So101View
from devices.so101_arm.tools import SO101_ARM
from devices.so101_arm.world import So101World


class KnownSo101(KnownGripperArm):
    """The known state of an SO-101."""

    device_type = SO101_ARM
    interlocks = SO101_INTERLOCKS

    def __init__(self, world: So101World | None = None, initial: bool = False) -> None:
        self._world = world
        super().__init__(world, initial)

    def view(self) -> So101View:
        """Return the known state."""
        return So101View(world=self._world, locked=self._locked, empty=self._empty)

    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return a violated limit: a goal in an obstacle."""
        return None if self._world is None else self.blocked(tool, arguments, self._world.obstacles)
