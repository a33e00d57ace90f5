"""Link faults of a simulated rig: messages that are late or lost. The emergency stop always comes through."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Protocol

from core_eval.call_status import CallStatus
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.streams import keyed_uniform
from firmware_bridge import messages as wire
from firmware_bridge.link import Port, PortHandler
from sims.faults import FaultSchedule

FAULTY_OPS = frozenset({"call", "ping", "hello", "result", "ack", "pong", "sample"})
CALLS_KEPT = 1024
"""Number of calls whose copies are distinguished, the latest ones."""


class FaultyRig(Protocol):
    """The simulated rig at the port: what link faults depend on."""

    @property
    def seed(self) -> int:
        """Seed of the episode."""

    @property
    def faults(self) -> FaultSchedule:
        """The faults of the episode: another object in each episode."""

    def link_faults(self) -> FaultSchedule | None:
        """Return the link's faults in this episode; None without any."""


class Delayed:
    """Messages on their way in one direction, in their order where link faults apply.

    Args:
        name: of the thread that delivers late messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._changed = threading.Condition()
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, seconds: float, deliver: Callable[[], None]) -> None:
        """Deliver a message after this delay, and after those ahead of it."""
        with self._changed:
            if self._closed:
                return
            if seconds > 0.0 or self._waiting:
                due = time.monotonic() + seconds
                self._waiting.append((max(due, self._waiting[-1][0]) if self._waiting else due, deliver))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                    self._thread.start()
                self._changed.notify()
                return
        deliver()

    def close(self) -> None:
        """Drop the messages on their way."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (
                    not self._waiting or (left := self._waiting[0][0] - time.monotonic()) > 0
                ):
                    self._changed.wait(left if self._waiting else None)
                if self._closed:
                    return
                deliver = self._waiting[0][1]
            deliver()
            with self._changed:
                # Only now, so that later messages queue up behind it.
                if self._waiting:
                    self._waiting.popleft()


class LinkFaults:
    """Decides the fate of each message, by the faults of the episode."""

    def __init__(self, simulator: FaultyRig) -> None:
        self._simulator = simulator
        self._lock = threading.Lock()
        self._episode: FaultSchedule | None = None
        self._faults: FaultSchedule | None = None
        self._calls: OrderedDict[wire.MessageId, int] = OrderedDict()
        self._numbered = 0
        self._seen: Counter[tuple[object, ...]] = Counter()
        self.lost = 0
        """Messages that were lost."""
        self.delayed = 0
        """Messages that were late."""

    @property
    def any(self) -> bool:
        """Whether the episode has link faults."""
        with self._lock:
            return self._current() is not None

    def fate(self, direction: str, op: str, call: wire.MessageId | None) -> float | None:
        """Return the delay of this message, s; None if it is lost."""
        with self._lock:
            faults = self._current()
            if faults is None or op not in FAULTY_OPS:
                return 0.0
            which: tuple[object, ...] = (direction, op)
            if call is not None:
                if call not in self._calls:
                    if direction == "out":
                        # The answer to an init, or to a call of the previous episode.
                        return 0.0
                    self._calls[call] = self._numbered
                    self._numbered += 1
                    if len(self._calls) > CALLS_KEPT:
                        self._calls.popitem(last=False)
                which = (*which, self._calls[call])
            self._seen[which] += 1
            loss = faults.strength("link_loss")
            if loss and keyed_uniform(self._simulator.seed, "link", *which, self._seen[which]) < loss:
                self.lost += 1
                return None
            delay = faults.strength("link_delay")
            self.delayed += delay > 0.0
            return delay

    def _current(self) -> FaultSchedule | None:
        if self._episode is not self._simulator.faults:
            self._episode = self._simulator.faults
            self._faults = self._simulator.link_faults()
            self._calls.clear()
            self._numbered = 0
            self._seen.clear()
        return self._faults


class FaultyPort(Port):
    """A simulator's port with the link faults of its world; without any it passes all on.

    After a call that a `reset` of the board has ended it reports its status, as a starting board does.
    """

    def __init__(self, port: Port, simulator: FaultyRig) -> None:
        self._port = port
        self.faults = LinkFaults(simulator)
        self._in = Delayed("delayed to the device")
        self._out = Delayed("delayed from the device")
        self._handler: PortHandler | None = None

    @property
    def dropped(self) -> int:
        """Number of bad frames; lost messages never arrived."""
        return self._port.dropped

    def open(self, handler: PortHandler, last_will: wire.Status, max_frame: int) -> None:
        """Start delivering. Raises LinkError."""
        self._handler = handler
        self._port.open(self, last_will, max_frame)

    def send(self, message: wire.DeviceMessage, payload: bytes) -> None:
        """Send a message, now, later or not at all."""
        call = message.id if isinstance(message, wire.Result | wire.Ack) else None
        delay = self.faults.fate("out", message.op, call)
        if message.op not in FAULTY_OPS:
            self._port.send(message, payload)
        elif delay is not None:
            self._out.put(delay, lambda: self._port.send(message, payload))
        if (
            isinstance(message, wire.Result)
            and message.status == CallStatus.FAULT
            and message.error is not None
            and message.error.code == "reset"
            and self._handler is not None
        ):
            self._handler.on_up()

    def discard(self) -> None:
        """Discard unsent messages."""
        self._port.discard()

    def close(self, last: bytes) -> None:
        """Send this last status and close; messages on their way are lost."""
        self._in.close()
        self._out.close()
        self._port.close(last)

    # Callbacks of the underlying port.

    def on_frame(self, payload: bytes, before_stop: bool = False) -> None:
        """Pass on a payload from the host, now, later or not at all."""
        handler = self._handler
        assert handler is not None
        if not self.faults.any:
            self._in.put(0.0, lambda: handler.on_frame(payload, before_stop))
            return
        op, call = _what(payload)
        if op not in FAULTY_OPS:
            handler.on_frame(payload, before_stop)
            return
        delay = self.faults.fate("in", op, call)
        if delay is not None:
            self._in.put(delay, lambda: handler.on_frame(payload, before_stop))

    def on_stop(self) -> None:
        """Pass on the emergency stop at once."""
        assert self._handler is not None
        self._handler.on_stop()

    def on_up(self) -> None:
        """Report that the link is up."""
        assert self._handler is not None
        self._handler.on_up()


def _what(payload: bytes) -> tuple[str, wire.MessageId | None]:
    """Return the op of a host's message, and its id if any."""
    try:
        data = parse_json(payload)
    except ForeignJsonError:
        return "", None
    if not isinstance(data, dict):
        return "", None
    message_id = data.get("id")
    if data.get("op") == "call" and isinstance(message_id, str | int):
        return "call", message_id
    op = data.get("op")
    return (op if isinstance(op, str) and op != "call" else ""), None
