"""What the operating system gives a program, in a simulated world: threads, queues, time, files, processes.

Each class has the part of its original's interface that the bridge uses. All belong to `WORLD[0]`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from greenlet import GreenletExit

from simulated_bridge.scheduler import Process, Task, World

MSG_DONTWAIT, MSG_PEEK = int(socket.MSG_DONTWAIT), int(socket.MSG_PEEK)
READING = 1e-7
"""Seconds that a reading of a clock takes: a loop that waits for a moment comes to it."""
WORLD: list[World] = []
"""The one world that lives."""


def world() -> World:
    """Return the world that lives."""
    return WORLD[0]


def process() -> Process:
    """Return the process of the running thread."""
    return WORLD[0].this.process


class Lock:
    """threading.Lock."""

    __slots__ = ("_depth", "_owner", "_waiting")

    def __init__(self) -> None:
        self._owner: Task | None = None
        self._depth = 0
        self._waiting: deque[Task] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        here = WORLD[0]
        if here.over:
            return True
        task = here.current
        if task is not None:
            if task.until_overtaken:
                task.until_overtaken -= 1
            else:
                here.overtake()
        if self._depth and not self._wait(blocking, timeout):
            return False
        self._owner, self._depth = task, 1
        return True

    def _wait(self, blocking: bool, timeout: float) -> bool:
        here = WORLD[0]
        until = None if timeout < 0 else here.now + timeout
        while self._depth:
            if not blocking or (until is not None and here.now >= until):
                return False
            task = here.this
            self._waiting.append(task)
            here.park(None if until is None else until - here.now)
            with contextlib.suppress(ValueError):
                self._waiting.remove(task)
        return True

    def release(self) -> None:
        if WORLD[0].over:
            return
        self._depth -= 1
        if not self._depth:
            self._owner = None
            if self._waiting:
                WORLD[0].unpark(self._waiting.popleft())

    def locked(self) -> bool:
        return self._depth > 0

    __enter__ = acquire

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    """threading.RLock."""

    __slots__ = ()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._depth and self._owner is WORLD[0].current:
            self._depth += 1
            return True
        return super().acquire(blocking, timeout)

    __enter__ = acquire

    def give_up(self) -> tuple[Task | None, int]:
        kept = self._owner, self._depth
        self._depth = 1
        self.release()
        return kept

    def take_back(self, kept: tuple[Task | None, int]) -> None:
        Lock.acquire(self)
        self._owner, self._depth = kept


class Waiters:
    """Threads that wait for something."""

    __slots__ = ("tasks",)

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def wait_for(self, done: Callable[[], Any], timeout: float | None) -> Any:
        here = WORLD[0]
        if (result := done()) or here.over:
            return result
        until = None if timeout is None else here.now + timeout
        tasks = self.tasks
        while not (result := done()):
            left = None if until is None else until - here.now
            if left is not None and left <= 0:
                return result
            task = here.this
            tasks.append(task)
            if not here.park(left) and task in tasks:
                tasks.remove(task)
        return result

    def wake(self, most: int | None = None) -> None:
        if self.tasks:
            woken, self.tasks[:most] = self.tasks[:most], []
            for task in woken:
                WORLD[0].unpark(task)

    def add(self, task: Task) -> None:
        self.tasks.append(task)

    def drop(self, task: Task) -> None:
        if task in self.tasks:
            self.tasks.remove(task)


class Event:
    """threading.Event."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters = Waiters()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self._waiters.wake()
        WORLD[0].overtake()

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        here = WORLD[0]
        if self._set or here.over:
            return self._set
        # Most waits are a watchdog's ticks: the short way for one that no one ends.
        task, tasks = here.this, self._waiters.tasks
        tasks.append(task)
        if not here.park(timeout):
            if task in tasks:
                tasks.remove(task)
            return self._set
        return self._set or bool(self._waiters.wait_for(self.is_set, timeout))


class Condition:
    """threading.Condition."""

    def __init__(self, lock: RLock | None = None) -> None:
        self._lock = RLock() if lock is None else lock
        self._waiters = Waiters()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        here = WORLD[0]
        if here.over:
            raise GreenletExit
        task = here.this
        self._waiters.add(task)
        kept = self._lock.give_up()
        try:
            return here.park(timeout)
        finally:
            self._waiters.drop(task)
            if not here.over:
                self._lock.take_back(kept)

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        here = WORLD[0]
        until = None if timeout is None else here.now + timeout
        while not (result := predicate()):
            left = None if until is None else until - here.now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self, n: int = 1) -> None:
        self._waiters.wake(n)

    def notify_all(self) -> None:
        self._waiters.wake()


class SimpleQueue:
    """queue.SimpleQueue."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._waiters = Waiters()

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._waiters.wake(1)
        WORLD[0].overtake()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if block:
            self._waiters.wait_for(lambda: self._items, timeout)
        if not self._items:
            if WORLD[0].over:
                raise GreenletExit
            raise queue.Empty
        return self._items.popleft()

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        return not self._items

    def __class_getitem__(cls, _: object) -> type[SimpleQueue]:
        return cls


class Thread:
    """threading.Thread."""

    def __init__(
        self,
        target: Callable[..., object],
        args: Iterable[Any] = (),
        name: str = "",
        daemon: bool | None = None,
    ) -> None:
        self.name = name
        self._act = lambda: target(*args)
        self._task: Task | None = None

    def start(self) -> None:
        if not WORLD[0].over:
            self._task = process().spawn(self._act, self.name)
            self._task.thread = self

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.done

    def join(self, timeout: float | None = None) -> None:
        here = WORLD[0]
        if here.over or self._task is None:
            return
        until = None if timeout is None else here.now + timeout
        while not self._task.done:
            left = None if until is None else until - here.now
            if left is not None and left <= 0:
                return
            self._task.joiners.append(here.this)
            here.park(left)
            self._task.joiners.remove(here.this)


class File:
    """An open file: what `select` watches. Several processes may hold it."""

    def __init__(self) -> None:
        here = WORLD[0]
        self._number = next(here.numbers)
        here.files[self._number] = self
        self.holders = 0
        self.closed = False
        self.watchers = Waiters()
        if here.current is not None:
            self.hold(here.current.process)

    def hold(self, holder: Process) -> None:
        self.holders += 1
        holder.files.append(self)

    def release(self) -> None:
        self.holders -= 1
        if self.holders <= 0 and not self.closed:
            self.closed = True
            WORLD[0].files.pop(self._number, None)
            self.on_closed()
            self.watchers.wake()

    def close(self) -> None:
        here = WORLD[0]
        if here.over or here.current is None:
            return
        holder = here.current.process
        if self in holder.files:
            holder.files.remove(self)
            self.release()

    def fileno(self) -> int:
        return -1 if self.closed else self._number

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def on_closed(self) -> None:
        return

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Socket(File):
    """A stream socket; `latency` draws how long bytes to it are under way."""

    def __init__(self, family: int = 0, kind: int = 0, proto: int = 0, fileno: int | None = None) -> None:
        super().__init__()
        self.peer: Socket | None = None
        self.inbox = bytearray()
        self.ended = False
        self.latency: Callable[[], float] | None = None
        self.held: list[bytes] | None = None
        """What arrived while the network was parted; None: it is not."""
        self._last = 0.0
        self._timeout: float | None = None
        self._name = ""
        self._doors: dict[str, Any] = {}
        self._waiting: list[Socket] = []
        self.reset = False
        self.credentials = (0, 0)

    def readable(self) -> bool:
        return bool(self.inbox) or self.ended or bool(self._waiting) or self.reset

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def setblocking(self, flag: bool) -> None:
        self._timeout = None if flag else 0.0

    def setsockopt(self, *_: object) -> None:
        return

    def recv(self, size: int, flags: int = 0) -> bytes:
        # Without its enumeration: a host receives often.
        flags = int(flags)
        here = WORLD[0]
        if here.over:
            raise GreenletExit
        if not self.readable() and (self._timeout == 0.0 or flags & MSG_DONTWAIT):
            raise BlockingIOError
        if not self.watchers.wait_for(lambda: self.readable() or self.closed, self._timeout):
            raise TimeoutError("timed out")
        if self.reset:
            raise ConnectionResetError("connection reset")
        if self.closed:
            raise OSError("bad file descriptor")
        data = bytes(self.inbox[:size])
        if not flags & MSG_PEEK:
            del self.inbox[:size]
        return data

    def send(self, data: bytes, flags: int = 0) -> int:
        here = WORLD[0]
        if here.over:
            raise GreenletExit
        here.overtake()
        if self.closed or self.ended or self.peer is None or self.reset:
            raise BrokenPipeError("broken pipe")
        self.peer.arrive(bytes(data))
        return len(data)

    def sendall(self, data: bytes) -> None:
        self.send(data)

    def arrive(self, data: bytes) -> None:
        if self.latency is None:
            self._take(data)
        else:
            here = WORLD[0]
            self._last = max(self._last, here.now + self.latency())
            here.at(self._last, lambda: self._take(data))

    def _take(self, data: bytes) -> None:
        if self.held is not None:
            self.held.append(data)
        elif not self.closed:
            if data:
                self.inbox += data
            else:
                self.ended = True
            self.watchers.wake()

    def mend(self) -> None:
        held, self.held = self.held or [], None
        for data in held:
            self._take(data)

    def abort(self) -> None:
        """Reset the connection at this end."""
        self.reset = True
        self.watchers.wake()

    def shutdown(self, how: int) -> None:
        self.ended = True
        self.watchers.wake()
        if self.peer is not None:
            self.peer.arrive(b"")

    def on_closed(self) -> None:
        if self.peer is not None:
            self.peer.arrive(b"")
        if self._doors.get(self._name) is self:
            del self._doors[self._name]
        for host in self._waiting:
            host.release()

    def bind(self, name: str) -> None:
        doors = process().machine.doors
        if name in doors:
            raise OSError("address already in use")
        doors[name], self._name, self._doors = self, name, doors

    def listen(self, backlog: int) -> None:
        return

    def connect(self, name: str) -> None:
        door = process().machine.doors.get(name)
        if door is None:
            raise ConnectionRefusedError("connection refused")
        far = Socket()
        # The listener's process holds it once it accepts.
        process().files.remove(far)
        self.peer, far.peer = far, self
        self.credentials = (door.holder.pid, os.geteuid())
        far.credentials = (process().pid, os.geteuid())
        door._waiting.append(far)
        door.watchers.wake()

    @property
    def holder(self) -> Process:
        return next(one for one in WORLD[0].processes if self in one.files)

    def accept(self) -> tuple[Socket, str]:
        if not self._waiting:
            raise BlockingIOError
        host = self._waiting.pop(0)
        process().files.append(host)
        return host, ""


def make_socket(family: int = 0, kind: int = 0, proto: int = 0, fileno: int | None = None) -> Socket:
    if fileno is not None:
        found = WORLD[0].files[fileno]
        assert isinstance(found, Socket)
        return found
    return Socket()


def socketpair() -> tuple[Socket, Socket]:
    ours, its = Socket(), Socket()
    ours.peer, its.peer = its, ours
    ours._timeout = its._timeout = None
    return ours, its


def waking_pair() -> tuple[Socket, Socket]:
    """Return the pair by which paho wakes its own loop."""
    ours, its = socketpair()
    ours.setblocking(False)
    its.setblocking(False)
    return ours, its


class PipeEnd(File):
    """An end of a pipe."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox = bytearray()

    def readable(self) -> bool:
        return bool(self.inbox)


def _pipe() -> tuple[int, int]:
    read, write = PipeEnd(), PipeEnd()
    write.inbox = read.inbox
    write.watchers = read.watchers
    return read.fileno(), write.fileno()


def _read(fd: int, size: int) -> bytes:
    file = WORLD[0].files.get(fd)
    if file is None:
        raise OSError("bad file descriptor")
    if not file.inbox:
        raise BlockingIOError
    data = bytes(file.inbox[:size])
    del file.inbox[:size]
    return data


def _write(fd: int, data: bytes) -> int:
    here = WORLD[0]
    if here.over:
        raise GreenletExit
    file = here.files.get(fd)
    if file is None:
        raise OSError("bad file descriptor")
    if isinstance(file, PipeEnd):
        file.inbox += data
        file.watchers.wake()
        return len(data)
    return int(file.write(bytes(data)))


def _close(fd: int) -> None:
    file = WORLD[0].files.get(fd)
    if file is not None:
        file.close()


def _exit(status: int) -> None:
    process().end(status)


def _select(
    readers: Iterable[Any], writers: Iterable[Any], _: Iterable[Any], timeout: float | None = None
) -> tuple[list[Any], list[Any], list[Any]]:
    here = WORLD[0]
    if here.over:
        raise GreenletExit
    watched = [(one, _file(one)) for one in readers]
    written = [(one, _file(one)) for one in writers]
    until = None if timeout is None else here.now + timeout

    def ready() -> tuple[list[Any], list[Any], list[Any]] | None:
        can_read = [one for one, file in watched if file.readable()]
        can_write = [one for one, file in written if file.writable()]
        return (can_read, can_write, []) if can_read or can_write else None

    while (found := ready()) is None:
        left = None if until is None else until - here.now
        if left is not None and left <= 0:
            if timeout is not None and timeout <= 0:
                # A thread that polls gives way, and takes time.
                here.park(READING)
            return [], [], []
        task = here.this
        for _one, file in watched:
            file.watchers.add(task)
        here.park(left)
        for _one, file in watched:
            file.watchers.drop(task)
    return found


def _file(one: Any) -> File:
    number = one if isinstance(one, int) else one.fileno()
    file = WORLD[0].files.get(number)
    if file is None:
        raise ValueError("file descriptor cannot be a negative integer (-1)")
    assert isinstance(file, File)
    return file


PROGRAMS: list[Callable[[list[str], bytes], None]] = []
"""What a started process runs: its command and its standard input."""


class Popen:
    """subprocess.Popen, of a Python program that gets its input before it starts."""

    def __init__(self, command: list[str], *, pass_fds: Iterable[int] = (), **_: Any) -> None:
        here = WORLD[0]
        self._process = Process(here, process().machine, "rig process")
        self.pid = self._process.pid
        for number in pass_fds:
            here.files[number].hold(self._process)
        start = here.stream(f"start of {self._process.label}")
        child, started = self._process, start.choice((0.05, 0.2, 0.6))

        class Input(BytesIO):
            def close(self) -> None:
                if not self.closed:
                    given = self.getvalue()
                    here.after(started, lambda: child.dead or child.main(lambda: PROGRAMS[0](command, given)))
                super().close()

        self.stdin = Input()

    def kill(self) -> None:
        if not WORLD[0].over:
            self._process.end(-9)

    def wait(self, timeout: float | None = None) -> int | None:
        if not WORLD[0].over and not self._process.wait(timeout):
            raise subprocess.TimeoutExpired("rig process", timeout or 0.0)
        return self._process.status

    def poll(self) -> int | None:
        return self._process.status


class AdoptedProcess:
    """What the host has of a rig process that is not its child."""

    def __init__(self, number: int) -> None:
        self.pid = number
        self._process = next(one for one in WORLD[0].processes if one.pid == number)

    def kill(self) -> None:
        if not WORLD[0].over:
            self._process.end(-9)

    def wait(self, timeout: float | None = None) -> None:
        if not WORLD[0].over and not self._process.wait(timeout):
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)


def is_stopped(number: int) -> bool:
    """Whether the system says that a signal has stopped a process."""
    return any(one.pid == number and one.stopped and not one.dead for one in WORLD[0].processes)


def monotonic() -> float:
    here = WORLD[0]
    here.now += READING
    return here.now - (0.0 if here.current is None else here.current.process.machine.asleep)


def boottime() -> float:
    WORLD[0].now += READING
    return WORLD[0].now


def wall() -> float:
    return WORLD[0].now + 1.7e9


def sleep(seconds: float) -> None:
    if WORLD[0].over:
        raise GreenletExit
    WORLD[0].sleep(seconds)


def token_hex(size: int = 8) -> str:
    return f"{WORLD[0].tokens.getrandbits(8 * size):0{2 * size}x}"


def uuid4() -> Any:
    return SimpleNamespace(hex=token_hex(16))


class Module:
    """A module of the standard library, of which some names are others."""

    def __init__(self, real: Any, **names: Any) -> None:
        self._real = real
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _current_thread() -> object:
    return WORLD[0].this.thread


THREADING = Module(
    threading,
    Thread=Thread,
    Lock=Lock,
    RLock=RLock,
    Event=Event,
    Condition=Condition,
    current_thread=_current_thread,
    main_thread=lambda: None,
)
TIME = Module(time, monotonic=monotonic, time=wall, sleep=sleep)
QUEUE = Module(queue, SimpleQueue=SimpleQueue)
SELECT = Module(select, select=_select)
SOCKET = Module(socket, socket=make_socket, socketpair=socketpair)
OS = Module(
    os,
    pipe=_pipe,
    read=_read,
    write=_write,
    close=_close,
    set_blocking=lambda fd, flag: None,
    getpid=lambda: process().pid,
    _exit=_exit,
)
SUBPROCESS = Module(subprocess, Popen=Popen)
SIGNAL = Module(signal, signal=lambda number, handler: None)
TEMPFILE = SimpleNamespace(TemporaryFile=BytesIO)
