"""The base class of drivers in Python: a method for each tool; deadlines, stop and samples are here."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import xor
from typing import Any, TypeVar

from core_eval.call_status import CallStatus
from devices.drivers.settings import Settings
from devices.outcome import Outcome, Refusal
from devices.sensors import Emit, Sample, SampleValue, Truth
from devices.tool import Tool

T = TypeVar("T")
NOT_REACHED, DEVICE_RESET = "not_reached", "device_reset"


class DriverFault(Exception):
    """A call failed in the midst of its work. `code` is a stable name, `message` a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Stopped(Exception):
    """The call was stopped."""


class ToolDriver:
    """Hardware whose tools are methods: the tool's arguments in, its result out (None: an empty one).

    A method raises `Refusal` where nothing was done, `DriverFault` where something failed, TimeoutError where
    the hardware did not answer, and OSError where it is gone. After a fault the kit stops the hardware, and
    connects it again if it says nothing. A subclass has `connect`, `stop`, `standing` and `close`; `ready` if
    there is something to set up, and `poll` if there is something to read while no call runs. A tool with
    the name of a method here has `NAME_`.

    Attributes:
        options, tables: the rig's settings.
        talking: held while one message and its answer are exchanged. `stop` waits for it, so keep it short.
    """

    firmware = "not stated"
    poll_seconds = 1.0
    """Time between two calls of `poll`."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url
        self.options: Mapping[str, Any] = settings.options
        self.tables = settings.tables
        self.talking = threading.RLock()
        self._stop = threading.Event()
        self._began = time.monotonic()
        self._samples: dict[str, SampleValue] = {}
        self._emit: Emit | None = None
        self._restarted, self._at_rest = False, True
        self.connect()

    def connect(self) -> None:
        """Open the hardware, for the first time or once it was closed. Raises OSError."""
        raise NotImplementedError

    def ready(self) -> None:
        """Set it up for calls, and release its stop. Called at each reset, and by the call after a fault.

        Raises OSError, or as a tool's method.
        """

    def restarted(self) -> None:
        """Tell that the hardware has restarted: the call that runs, or else the next one, is a fault."""
        self._restarted = True

    def stop(self) -> None:
        """Send what stops the hardware at once, and do not wait. Raises OSError if it was not sent."""
        raise NotImplementedError

    def standing(self) -> bool | None:
        """Ask whether the hardware stands still, with all outputs off. Raises OSError without an answer."""
        return None

    def poll(self) -> None:
        """Read what is worth a sample while no call runs. Raises OSError."""

    def close(self) -> None:
        """Close the hardware. Never raises."""

    def until(self, condition: Callable[[], T], seconds: float, goal: str, every: float = 0.05) -> T:
        """Wait until the condition holds, asked so often, and return its value.

        Raises:
            Stopped: the call was stopped.
            DriverFault: not within `seconds`; the message has `goal`, what was waited for.
        """
        deadline = time.monotonic() + seconds
        while not (value := condition()) or self._restarted:
            self._go_on()
            if time.monotonic() >= deadline:
                raise DriverFault(NOT_REACHED, f"{goal} was not reached within {seconds:g} s.")
            self.pause(every)
        return value

    def pause(self, seconds: float) -> None:
        """Wait so long. Raises Stopped."""
        self._stop.wait(seconds)
        self._go_on()

    def _go_on(self) -> None:
        """Raise Stopped after a stop, and DriverFault after a restart."""
        if self._stop.is_set():
            raise Stopped
        if self._restarted:
            raise DriverFault(DEVICE_RESET, "The hardware has restarted.")

    @property
    def stopping(self) -> bool:
        """Whether the call that runs, or ran last, was stopped."""
        return self._stop.is_set()

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Hold `talking` for what moves or switches something: after a stop none of it is sent.

        Raises:
            Stopped: the call was stopped.
            DriverFault: the hardware has restarted.
        """
        with self.talking:
            self._go_on()
            yield

    def sample(self, sensor: str, value: SampleValue) -> None:
        """Report a reading, if it changed."""
        if self._emit is not None and self._samples.get(sensor) != value:
            self._samples[sensor] = value
            self._emit(Sample(sensor, value, time.monotonic() - self._began))

    def row(self, table: str, name: str) -> Mapping[str, Any]:
        """Return a row of the rig's table. Raises Refusal."""
        if name not in self.tables[table]:
            known = ", ".join(self.tables[table]) or "none"
            raise Refusal("unknown_name", f"there is no {name!r}; there are {known}.")
        return self.tables[table][name]

    def cell(self, table: str, name: str, column: str) -> Any:
        """Return a cell of a row that may lack it. Raises Refusal."""
        if column not in (row := self.row(table, name)):
            raise Refusal("not_fitted", f"{name} has no {column}.")
        return row[column]

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Run the tool's method, and tell how it ended."""
        began, self._stop = time.monotonic(), stop
        status, value, code, message = CallStatus.FAULT, None, None, None
        method = getattr(self, method_name(tool), None)
        try:
            if method is None:
                raise Refusal("not_fitted", f"This rig has nothing for {tool}.")
            self._go_on()
            if self._at_rest:
                self.ready()
                self._at_rest = False
            value = method(**arguments) or {}
            status = CallStatus.OK
        except Refusal as refusal:
            status, code, message = CallStatus.REJECTED, refusal.code, refusal.message
        except Stopped:
            pass
        except DriverFault as fault:
            code, message = fault.code, fault.message
        except TimeoutError as error:
            code, message = "no_answer", f"The hardware did not answer: {error}"
        except OSError as error:
            code, message = "link", f"The hardware is gone: {error}"
        if status is CallStatus.FAULT:
            self._restarted, self._at_rest = False, True
        if status is CallStatus.FAULT and stop.is_set():
            # What else went wrong came of it.
            code, message = "stopped", "The call was stopped."
        now = time.monotonic()
        return Outcome(status, value, code, message, now - self._began, now - began)

    def reset(self) -> None:
        """Leave the stop: an episode begins, and its log needs the unchanged readings too."""
        self._samples.clear()
        self._stop, self._restarted, self._at_rest = threading.Event(), False, True
        self.ready()
        self._at_rest = False

    def subscribe(self, emit: Emit) -> None:
        """Deliver every later sample to `emit`."""
        self._emit = emit

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """Refuse: hardware has no initial state that could be set."""
        return Outcome(CallStatus.INVALID, code="physical", message="this rig is hardware")

    def truth(self) -> Truth | None:
        """Return None: hardware does not know it."""
        return None


def method_name(tool: str) -> str:
    """Return the name of a tool's method."""
    return f"{tool}_" if hasattr(ToolDriver, tool) else tool


def method_faults(driver: object, tools: Iterable[Tool]) -> Iterator[str]:
    """Yield which of these tools' methods a driver's class lacks, or which do not take their arguments."""
    if not (isinstance(driver, type) and issubclass(driver, ToolDriver)):
        return
    for tool in tools:
        name = method_name(tool.name)
        method = getattr(driver, name, None)
        if method is None:
            yield f"{driver.__name__} has no method {name!r}: write it, or list under `tools` what it has"
            continue
        fields = tool.arguments.model_fields
        try:
            inspect.signature(method).bind(None, **dict.fromkeys(fields))
        except TypeError as error:
            taken = ", ".join(fields) or "none"
            yield f"{driver.__name__}.{name}: {error}; the arguments of the tool are {taken}"


class LockedDriver(ToolDriver):
    """A driver whose `lock` is software: what moves or pours asks `unlocked` first, and a stop locks it."""

    locked = True

    def unlocked(self) -> None:
        """Raises Refusal while the safety is locked."""
        if self.locked:
            raise Refusal("safety_locked", "The safety is locked. Unlock it first.")

    def _lock(self, locked: bool) -> dict[str, str]:
        self.locked = locked
        return {"safety": "locked" if locked else "unlocked"}

    def unlock_safety(self) -> Mapping[str, Any]:
        """Unlock."""
        return self._lock(False)

    def lock_safety(self) -> Mapping[str, Any]:
        """Lock."""
        return self._lock(True)

    unlock_safety_mode, lock_safety_mode = unlock_safety, lock_safety

    def wait(self, seconds: float) -> Mapping[str, Any]:
        """Let time pass."""
        self.pause(seconds)
        return {"seconds": seconds}

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Run the tool's method; after a fault the safety is locked."""
        outcome = super().execute(tool, arguments, stop)
        self.locked |= outcome.status is CallStatus.FAULT
        return outcome

    def reset(self) -> None:
        """Leave the stop, locked."""
        super().reset()
        self.locked = True


def xor_of(data: bytes) -> int:
    """Return the exclusive or of all bytes: the checksum of G-code and NMEA."""
    return reduce(xor, data, 0)


def inverted_sum(data: bytes) -> int:
    """Return the inverted low byte of the sum: the checksum of Feetech's and Dynamixel's first protocols."""
    return ~sum(data) & 0xFF
