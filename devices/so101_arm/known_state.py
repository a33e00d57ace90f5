"""A host's knowledge of an SO-101, and the interlocks and limits that it foresees."""

from __future__ import annotations

from devices.arm.known_state import KnownGripperArm
from devices.so101_arm.interlocks import SO101_INTERLOCKS, So101View
from devices.so101_arm.tools import SO101_ARM


class KnownSo101(KnownGripperArm):
    """The known state of an SO-101."""

    device_type = SO101_ARM
    interlocks = SO101_INTERLOCKS
    view_type = So101View
