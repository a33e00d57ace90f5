"""What an observer hears of a rig that another host drives, as events of the live page."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from core_eval.call_status import CallStatus
from core_eval.live.background import Background
from core_eval.live.episode_events import MOST_STEPS, heard_pictures, sample_data, status_data, step_data
from core_eval.live.history import History
from core_eval.log import SampleRow, StepRow
from firmware_bridge import messages as wire
from sims.overrides import deep_merge

DRAW_SECONDS = 1.0
"""Least time between two drawings, s."""
SAMPLES = 20_000
"""Samples that are kept for the drawings."""
ABOUT = "Heard on the wire. Prompt, task and verdicts are not on it: they are in the log of the run."
NO_CALLS = (
    "Results are heard, and no calls: the broker lets this account not read them. Take an account that may, "
    "such as the `observer` of `pathrig rigs broker init`."
)


class HeardRig(Background):
    """Turns the messages of a rig and its host into events; each `init` begins an episode.

    As a context manager it draws on a thread of its own. `host`, `device`, `lease` and `link` are receivers
    of an observer.

    Args:
        name: of the rig.
        history: where the events go.
        layout: the state of the rig's site or world; empty where its file names none.
        place_keys: the sections of the layout that hold places.
        camera: the address of a picture.
    """

    def __init__(
        self,
        name: str,
        history: History,
        layout: Mapping[str, Any],
        place_keys: Sequence[str],
        camera: str | None = None,
    ) -> None:
        super().__init__(f"watch: {name}")
        self._name = name
        self._history = history
        # The position of the machine in its site is not known yet.
        self._layout = {key: value for key, value in layout.items() if key != "pose"}
        self._whole = layout
        self._place_keys = place_keys
        self._camera = camera
        self._device: str | None = None
        self._driver = "no host"
        self._statuses: dict[str, dict[str, Any]] = {}
        self._latest: dict[str, SampleRow] = {}
        self._ever_called = False
        self._unasked = self._episodes = 0
        self._init: wire.Init | None = None
        self._lock = threading.Lock()
        self._changed = False
        self._begin()

    def host(self, message: wire.HostMessage) -> None:
        """Take a message to the rig."""
        if message.op == "call":
            self._take_call(message)
        elif message.op == "init":
            if self._init is None or self._init.id != message.id:
                self._end()
                self._init = message
                self._begin()
        elif message.op in ("estop", "reset"):
            self._status("host", {"estop": "sent a stop", "reset": "released the stop"}[message.op])

    def device(self, message: wire.DeviceMessage, retained: bool) -> None:
        """Take a message of the rig."""
        if message.op == "result":
            self._take_result(message)
        elif message.op == "sample":
            value = int(message.value) if isinstance(message.value, bool) else message.value
            sample = SampleRow(message.sensor, value, message.t)
            with self._lock:
                self._samples.append(sample)
                self._latest[sample.sensor] = sample
                self._changed = True
            self._history.add("sample", sample_data(sample), f"sample {sample.sensor}")
        elif message.op == "status":
            stop = "" if message.stop is None else f", stop {message.stop}"
            self._status("device", f"{message.state}{stop}", message.stop_input)
            if message.device != self._device and message.device is not None:
                self._device = message.device
                self._show_rig()

    def lease(self, lease: wire.Lease | None) -> None:
        """Take the lease of the host that drives the rig."""
        driver = "no host" if lease is None else lease.holder
        if driver != self._driver:
            self._driver = driver
            self._status("driven by", driver)

    def link(self, up: bool) -> None:
        """Note whether the broker is connected."""
        self._status("broker", "connected" if up else "lost")

    def _begin(self) -> None:
        init = self._init
        with self._lock:
            self._samples: deque[SampleRow] = deque(maxlen=SAMPLES)
            self._steps: dict[wire.MessageId, StepRow] = {}
            self._calls = 0
            self._state: Mapping[str, Any] = self._layout
            self._changed = True
        seed = "" if init is None else f" · the world's seed {init.seed}"
        about = f"watched only{seed}"
        self._history.add("episode", {"task": self._name, "prompt": ABOUT, "about": about, "place": ""})
        self._show_rig()
        for source, said in self._statuses.items():
            self._history.add("status", said, f"status {source}")
        for sample in tuple(self._latest.values()):
            self._history.add("sample", sample_data(sample), f"sample {sample.sensor}")

    def _end(self) -> None:
        """Keep the episode that is heard so far as a line, if it had calls."""
        if not self._calls:
            return
        self._episodes += 1
        good = sum(step.status == CallStatus.OK for step in self._steps.values())
        self._history.add(
            "past",
            {
                "id": self._episodes,
                "task": self._name,
                "agent": self._driver,
                "status": "heard",
                "reason": None,
                "scores": [("calls", str(self._calls)), ("ok", str(good))],
            },
        )

    def _show_rig(self) -> None:
        rig = {"rig": self._name, "device": self._device or "-", "guard": "-", "camera": self._camera}
        self._history.add("rig", rig, "rig")

    def _status(self, source: str, state: str, stop_input: str | None = None) -> None:
        for said in status_data(source, state, stop_input):
            self._statuses[said["source"]] = said
            self._history.add("status", said, f"status {said['source']}")

    def _take_call(self, call: wire.Call) -> None:
        self._ever_called = True
        # A call is sent again, with its id, until it is answered.
        if call.id in self._steps:
            return
        step = self._added(call.id, call.tool, call.args)
        self._history.add("call", step_data(step), f"step {step.k}")

    def _take_result(self, result: wire.Result) -> None:
        if self._init is not None and result.id == self._init.id:
            if result.status == CallStatus.OK:
                # A simulator: it is now where the world says.
                with self._lock:
                    self._state = deep_merge(self._whole, self._init.state) if self._whole else {}
                    self._changed = True
            return
        step = self._steps.get(result.id)
        if step is None:
            self._unasked += 1
            if self._unasked > 1 and not self._ever_called:
                self._history.add("notice", {"text": NO_CALLS}, "notice")
            step = self._added(result.id, None, {})
        elif step.status is not None:
            return
        known = result.status in list(CallStatus)
        answered = replace(
            step,
            status=CallStatus(result.status) if known else CallStatus.FAULT,
            result=result.value,
            error_code=None if result.error is None else result.error.code,
            error_message=None if result.error is None else result.error.message,
            t_result=time.time(),
            t_device=result.t,
            duration=result.dur,
        )
        with self._lock:
            self._steps[result.id] = answered
            self._changed = True
        call = {} if answered.tool is not None else {"call": "(not heard)"}
        self._history.add("step", step_data(answered) | call, f"step {answered.k}")

    def _added(self, call_id: wire.MessageId, tool: str | None, arguments: Mapping[str, Any]) -> StepRow:
        with self._lock:
            step = StepRow(
                id=self._calls,
                k=self._calls,
                tool=tool,
                arguments=arguments,
                t_intent=time.time(),
                call_id=str(call_id),
            )
            self._calls += 1
            self._steps[call_id] = step
            if len(self._steps) > MOST_STEPS:
                del self._steps[next(iter(self._steps))]
        return step

    def _work(self) -> None:
        while not self._leaving.wait(DRAW_SECONDS):
            with self._lock:
                if not self._changed:
                    continue
                self._changed = False
                steps = [step for step in self._steps.values() if step.status is not None]
                samples, state = list(self._samples), self._state
            drawn = heard_pictures(state, self._place_keys, steps, samples)
            self._history.add("pictures", drawn, "pictures")
