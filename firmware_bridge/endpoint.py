"""The device's end of the wire: one call at a time, each id once, and a stop at any time."""

from __future__ import annotations

import logging
import secrets
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event

from core_eval.call_status import CallStatus
from devices.device import Device
from devices.error_text import described
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Sample
from firmware_bridge import messages as wire
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.codec import CodecError, decode_host_message, encode
from firmware_bridge.device_messages import id_of_unfit, refusal, status_message, truth_message
from firmware_bridge.link import Port
from firmware_bridge.result_cache import ResultCache
from firmware_bridge.stop_input import StopInput

log = logging.getLogger(__name__)

MAX_FRAME = 65_536
"""Default of the longest frame that is accepted, bytes."""
ACK_AFTER, ACK_EVERY = 0.1, 1.0
"""Time before the first ack of a running call, and between two of them, s."""

END_SECONDS = 2.0
"""Time in which a stopped call must end before the endpoint closes."""


@dataclass(slots=True)
class _Running:
    message: wire.Call | wire.Init
    stop: Event
    next_ack: float


class DeviceEndpoint:
    """Answers the wire for a device: results, acks, refusals, watchdog, status, samples, truth.

    Stop, ping and hello are answered while a call runs on the worker thread. Every answered id is kept,
    refusals too: a second copy of a refused call must not move the machine later.
    An `init` is accepted while the device is stopped, and leaves it stopped. An ack goes out when a call
    takes longer than `ACK_AFTER`, and again every `ACK_EVERY`; its eta is twice that.

    Args:
        device: what runs the calls.
        port: the link's end.
        watchdog_ms: the device stops when its host has sent nothing for so long; armed by the first message.
        max_frame: longest accepted frame, bytes.
        results_kept: number of results kept for repeated ids, at least 32.
        clock: of the watchdog and the acks.
        stop_input: a physical stop input, or the counterpart of one; None: the device has none.
    """

    def __init__(
        self,
        device: Device,
        port: Port,
        *,
        watchdog_ms: int = 5000,
        max_frame: int = MAX_FRAME,
        results_kept: int = 256,
        clock: Clock = MONOTONIC,
        stop_input: StopInput | None = None,
    ) -> None:
        if watchdog_ms <= 0:
            raise ValueError(f"watchdog_ms must be above 0, not {watchdog_ms}")
        self._device, self._port, self._clock = device, port, clock
        self._watchdog_ms, self._max_frame = watchdog_ms, max_frame
        self._born = self._clock.now()
        self._boot = secrets.token_hex(4)
        self._last_received: float | None = None
        self._lock = threading.Lock()
        self._safety = threading.RLock()
        self._running: _Running | None = None
        self._stopped = self._reset_waits = self._status_waits = False
        self.last_stop: StopOutcome | None = None
        """How the last stop went; None if there was none."""
        self._stop = Event()  # of the running call; once set, the next call gets another one
        self._results = ResultCache(results_kept)
        self._jobs: SimpleQueue[_Running | None] = SimpleQueue()
        self._t = 0.0
        self._closed = Event()
        self._worker = threading.Thread(target=self._work, name=f"calls of {device.name}", daemon=True)
        self._ticker = threading.Thread(target=self._tick, name=f"watchdog of {device.name}", daemon=True)
        self._malformed = 0
        self._stop_input = stop_input

    @property
    def state(self) -> str:
        """`online`, `estop`, or `offline` once closed."""
        if self._closed.is_set():
            return "offline"
        return "estop" if self._stopped else "online"

    @property
    def dropped(self) -> int:
        """Number of frames with a wrong checksum, or without a valid message."""
        return self._malformed + self._port.dropped

    def note_stop(self, outcome: StopOutcome) -> None:
        """Record the outcome of a stop that the device made itself."""
        with self._safety:
            self.last_stop = outcome
        if self._stopped:
            self._publish_status()

    def start(self) -> None:
        """Open the port and serve. Raises LinkError."""
        self._device.subscribe(self._sample)
        if self._stop_input is not None:
            self._stop_input.on_change = self._input_changed
            if self._held:
                self._go_safe(publish=False)
        self._port.open(self, self._status("offline"), self._max_frame)
        self._worker.start()
        self._ticker.start()

    def close(self) -> None:
        """Stop a running call and the device, publish `offline`, and close the port."""
        if self._closed.is_set():
            return
        at_work = self._running is not None
        if not self._stopped or at_work or self.last_stop is StopOutcome.NOT_SENT:
            self._go_safe(publish=False)
        self._closed.set()
        self._jobs.put(None)
        for thread in (self._worker, self._ticker):
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(END_SECONDS)
        if at_work:
            # A call that ignored the stop may have started something since.
            self._device_safe()
        self._port.close(encode(self._status("offline")))

    def __enter__(self) -> DeviceEndpoint:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def on_up(self) -> None:
        """Publish the status: the link is up."""
        self._publish_status()

    def on_stop(self) -> None:
        """Stop the device at once."""
        self._last_received = self._clock.now()
        self._go_safe()

    def on_frame(self, payload: bytes, before_stop: bool = False) -> None:
        """Handle a host's payload. Never raises."""
        if len(payload) > self._max_frame:
            self._malformed += 1
            return
        try:
            message = decode_host_message(payload)
        except CodecError as error:
            self._malformed += 1
            self._answer_unfit(error)
            return
        if message is None:
            return
        # Only a message that is understood is a sign of life.
        self._last_received = self._clock.now()
        match message:
            case wire.Call() | wire.Init():
                self._accept(message.id, message)
            case wire.Ping():
                self._send(wire.Pong(m=self._link_ms(), boot=self._boot))
            case wire.Hello():
                self._publish_status()
            case wire.Estop():
                self._go_safe()
            case wire.Reset() if not before_stop:
                if self._stop_input is not None and message.stop_input:
                    self._stop_input.forget()
                self._reset()

    def _link_ms(self) -> int:
        return int((self._clock.now() - self._born) * 1000)

    def _answer_unfit(self, error: CodecError) -> None:
        if error.data is not None and error.data.get("op") == "estop":
            self.on_stop()
        message_id = id_of_unfit(error)
        if message_id is not None:
            self._accept(message_id, error)

    def _accept(self, message_id: wire.MessageId, message: wire.Call | wire.Init | CodecError) -> None:
        """Run or refuse a new message; answer a known id, whatever the rest of the message is."""
        refused = None
        with self._lock:
            known = self._results.get(message_id)
            running = self._running
            if known is None and (running is None or running.message.id != message_id):
                if isinstance(message, CodecError):
                    refused = Outcome(CallStatus.INVALID, code="malformed", message=str(message), t=self._t)
                elif (refused := self._refusal(message)) is None:
                    self._running = _Running(message, self._stop, self._clock.now() + ACK_AFTER)
                    self._jobs.put(self._running)
        if known is not None:
            self._port.send(*known)
        elif refused is not None:
            self._port.send(*self._results.keep(message_id, refused))
        elif running is not None:
            self._send(wire.Ack(id=message_id, eta=2 * ACK_EVERY))

    def _refusal(self, message: wire.Call | wire.Init) -> Outcome | None:
        busy = self._running is not None
        return refusal(message, busy, self._stopped, self._held, self._link_ms(), self._t, self._boot)

    @property
    def _held(self) -> bool:
        return self._stop_input is not None and self._stop_input.state in wire.HELD

    def _input_changed(self) -> None:
        if self._stop_input is not None and self._stop_input.state == "pressed":
            self._go_safe()
        else:
            self._publish_status()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            outcome = self._run(job)
            self._t = outcome.t
            self._send_truth(job.message)
            answer = self._results.keep(job.message.id, outcome)
            with self._safety:
                before = self.last_stop
                if job.stop.is_set():
                    # The call may have started something between the stop and its own end.
                    self._device_safe()
                with self._lock:
                    self._running = None
                    if job.stop.is_set():
                        self._stop = Event()
                    leave, self._reset_waits = self._reset_waits and not self._held, False
                    self._stopped = self._stopped and not leave
                if leave:
                    self._device_reset()
            self._port.send(*answer)
            if leave or self._status_waits or (self._stopped and self.last_stop is not before):
                self._publish_status()

    def _run(self, job: _Running) -> Outcome:
        message = job.message
        try:
            if message.op == "call":
                return self._device.execute(message.tool, message.args, job.stop)
            return self._device.init(message.state, message.seed)
        except Exception as error:
            log.exception("the device failed in %s", message.op)
            self._device_safe()
            return Outcome(CallStatus.FAULT, code="internal", message=described(error), t=self._t)

    def _send_truth(self, message: wire.Call | wire.Init) -> None:
        try:
            truth = self._device.truth()
            if truth is not None:
                self._send(truth_message(message, truth))
        except Exception:
            log.exception("the ground truth could not be sent")

    def _go_safe(self, publish: bool = True) -> None:
        with self._lock:
            self._stopped, self._reset_waits = True, False
            if self._running is not None:
                self._running.stop.set()
        with self._safety:
            self._device_safe()
        if publish or self._status_waits:
            self._publish_status()

    def _device_safe(self) -> None:
        try:
            self.last_stop = self._device.safe()
        except Exception:
            log.exception("the device failed to go to its safe state")
            self.last_stop = StopOutcome.NOT_SENT

    def _reset(self) -> None:
        with self._safety:
            with self._lock:
                # A call that was stopped must end before the device may leave the stop.
                unwinding = self._running is not None and self._running.stop.is_set()
                self._reset_waits = self._stopped and unwinding
                leave = self._stopped and not unwinding and not self._held
                self._stopped = self._stopped and not leave
            if leave:
                self._device_reset()
        if not unwinding or self._status_waits:
            self._publish_status()

    def _device_reset(self) -> None:
        try:
            self._device.reset()
        except Exception:
            log.exception("the device failed to reset")
            self._stopped = True

    def _tick(self) -> None:
        period = min(0.05, self._watchdog_ms / 4000)
        wait = period
        while not self._clock.wait(self._closed, wait):
            now = self._clock.now()
            received = self._last_received
            if received is not None and not self._stopped and now - received >= self._watchdog_ms / 1000:
                self._go_safe(publish=False)
                self._port.discard()
                self._publish_status()
            # The watchdog expires on time, not at the next tick.
            left = None if received is None or self._stopped else received + self._watchdog_ms / 1000 - now
            wait = period if left is None else max(0.0, min(period, left))
            with self._lock:
                job = self._running
            if job is not None and now >= job.next_ack:
                job.next_ack = now + ACK_EVERY
                self._send(wire.Ack(id=job.message.id, eta=2 * ACK_EVERY))

    def _status(self, state: str) -> wire.Status:
        return status_message(
            self._device,
            state,
            self._boot,
            self._watchdog_ms,
            self._max_frame,
            self.last_stop,
            None if self._stop_input is None else self._stop_input.state,
            self._link_ms(),
        )

    def _publish_status(self) -> None:
        if self._closed.is_set():
            return
        # While the device is brought to rest nothing is known of it: whoever does that tells how it went.
        self._status_waits = True
        if self._safety.acquire(blocking=False):
            try:
                self._status_waits = False
                status = self._status(self.state)
            finally:
                self._safety.release()
            self._send(status)

    def _sample(self, sample: Sample) -> None:
        try:
            self._send(wire.Sample(sensor=sample.sensor, value=sample.value, t=sample.t))
        except ValueError:
            log.exception("the sample %s could not be sent", sample)

    def _send(self, message: wire.DeviceMessage) -> None:
        self._port.send(message, encode(message))
