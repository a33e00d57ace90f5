"""The link to a snapshot in this process, which knows where the record was left."""

from __future__ import annotations

from core_eval.snapshot.device import SnapshotDevice
from core_eval.snapshot.file import Snapshot
from firmware_bridge.link import LinkGoneError
from firmware_bridge.local.link import LocalLink


class SnapshotLink(LocalLink):
    """The link to a snapshot. Once the record is left without a twin, nothing answers any more."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self.record = self._device = SnapshotDevice(snapshot)
        super().__init__(self._device, name="snapshot")
        self.name = name

    def ensure(self, timeout: float) -> None:
        """Raise LinkGoneError if the record was left and no twin goes on, LinkError if the link is closed."""
        super().ensure(timeout)
        if self._device.stranded:
            raise LinkGoneError(f"{self._device.departure}")
