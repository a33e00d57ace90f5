"""What a rig sends, and what the host sees of it, on the way to the log, the guard and the observers."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

from core_eval.log import Emit, EpisodeLog, RigStatusRow, ignore
from devices.sensors import Sample, Truth
from firmware_bridge.messages import Status

if TYPE_CHECKING:
    from firmware_bridge.mqtt.homeassistant import HomeAssistantDiscovery


class Recorder:
    """Records what a rig sends to the current episode, from any thread.

    Attributes:
        samples: the readings of the episode, for its guard.
        last_samples: the last reading of each sensor.
        discovery: announces the rig's sensors, where its file asks for it.
        failure: of a log write, on the thread that wrote.
        on_truth: records ground truth, which is logged only: neither guard nor observers get it.
    """

    def __init__(self) -> None:
        self.samples: SimpleQueue[Sample] = SimpleQueue()
        self.last_samples: dict[str, Sample] = {}
        self.discovery: HomeAssistantDiscovery | None = None
        self._recording = Lock()
        self._episode: EpisodeLog | None = None
        self._emit: Emit = ignore
        self.failure: sqlite3.Error | None = None
        self.on_truth: Callable[[Truth], None] = partial(self._record, EpisodeLog.truth)

    def record_to(self, episode: EpisodeLog | None, emit: Emit = ignore) -> None:
        """Record samples, truth and statuses to this episode from now on, or to none."""
        with self._recording:
            # No thread writes to the previous episode when this returns, so its log may be closed.
            self._episode, self._emit, self.failure = episode, emit, None
            self.samples = SimpleQueue()

    def note(self, state: str, detail: Mapping[str, Any] | None) -> None:
        """Log a status of the rig as seen by the host, and emit it."""
        self._said("host", state, detail)

    def on_sample(self, sample: Sample) -> None:
        """Record a reading."""
        self.last_samples[sample.sensor] = sample
        self.samples.put(sample)
        if self.discovery is not None:
            self.discovery.sampled(sample)
        self._record(EpisodeLog.sample, sample)
        self._emit(sample)

    def on_status(self, status: Status, source: str) -> None:
        """Record a status that the device or its keeper (`source`) has sent."""
        detail = status.model_dump(mode="json", exclude={"v", "op", "state", "m"}, exclude_none=True)
        self._said(source, status.state, detail)
        if self.discovery is not None:
            self.discovery.told(status)

    def _said(self, source: str, state: str, detail: Mapping[str, Any] | None) -> None:
        self._record(EpisodeLog.rig_status, source, state, detail)
        self._emit(RigStatusRow(time.time(), source, state, detail))

    def _record(self, write: Callable[..., None], *args: Any) -> None:
        with self._recording:
            if self._episode is not None:
                try:
                    write(self._episode, *args)
                except sqlite3.Error as error:
                    self.failure = error
