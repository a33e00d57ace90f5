"""The host's link to a rig process: any link, opened and served by a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from devices.outcome import StopOutcome
from devices.rig_motion import Event
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.lines import RESETS
from firmware_bridge.link import Link, LinkError, LinkGoneError, OnFrame, OnNoted, Tell, gone, tell_terminal
from firmware_bridge.rig_process.door import AdoptedProcess, door_name, enter
from firmware_bridge.rig_process.protocol import (
    BEAT_SECONDS,
    Frames,
    Kind,
    RigWatch,
    frame,
    numbered,
    request,
)

PROGRAM = """
import json, sys
sys.path[:], successor, *opener = json.loads(sys.stdin.buffer.read())
from firmware_bridge.rig_process.rig_side import main
main(int(sys.argv[1]), *opener, successor=successor)
"""
ANSWER_SECONDS = 60.0
"""Longest time for a request: a driver asks its machine meanwhile."""
ATTACH_SECONDS = 10.0
"""Longest time for an earlier run's rig process to finish a stop that it is sending."""
END_SECONDS = 3.0
"""Time for the process to end after its link was closed."""
SYSTEMD = Path("/run/systemd/system")
"""Exists where systemd runs the machine."""


@dataclass(frozen=True)
class Opener:
    """How the rig process opens its link.

    Attributes:
        function: `module:function`, which returns an open link or raises LinkError; with `stop_first=True` it
            stops the rig before all else.
        arguments: its arguments, JSON values.
        deadman: the port of a relay that gets a heartbeat while a host lives.
    """

    function: str
    arguments: Mapping[str, Any]
    deadman: str | None = None


class RigProcessLink(Link):
    """A link that another process holds; it stops the rig when this one is dead or silent for 3 s.

    The rig process of an earlier run that still waits to stop the rig is attached to. One that dies is
    noticed at once, one that a signal has stopped within 1 s, and one that is silent for another reason
    within 4 s: another takes its place, and stops the rig first.

    Args:
        opener: how the process opens the link.
        tell: receives a line when the process has died.
        clock: of the beats.

    Raises:
        LinkError: the link cannot be opened.
    """

    def __init__(self, opener: Opener, tell: Tell = tell_terminal, clock: Clock = MONOTONIC) -> None:
        self._opener, self._tell, self._clock = opener, tell, clock
        self._changed = threading.Condition()
        self._replacing, self._writing = threading.Lock(), threading.Lock()
        self._is_new = False
        self._on_frame: OnFrame | None = None
        self._on_state: Callable[[bool], None] | None = None
        self._early: list[bytes] = []
        self._strikes = self._number = 0
        self._done: dict[int, dict[str, Any]] = {}
        self._process: subprocess.Popen[bytes] | AdoptedProcess
        self._ending = False
        self._closed = threading.Event()
        self.late_stop_seconds = 0.0
        self.keeper = self
        self.on_noted: OnNoted | None = None
        self._start(attach=True)
        threading.Thread(target=self._beat, name=f"beat of {self.name}", daemon=True).start()

    @property
    def connected(self) -> bool:
        """Whether bytes can go out to the rig now."""
        return self._up and self._alive and not self._is_new

    @property
    def why_down(self) -> str:
        """Why no bytes can go out to the rig; one line."""
        return self._why_down or gone(self.name)

    @property
    def strikes(self) -> int:
        """How often the rig process has stopped the rig because this process stood still."""
        return self._strikes

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        """Deliver payloads and changes of the wire on the reader thread."""
        with self._changed:
            self._on_frame, self._on_state = on_frame, on_state
            early, self._early = self._early, []
            for payload in early:
                on_frame(payload, False)

    def ensure(self, timeout: float) -> None:
        """Open a lost wire, or replace a dead rig process; the stop is sent first. Raises LinkError."""
        if self._ending:
            raise LinkError(f"{self.name} is closed")
        if not self._alive:
            self._replace()
        elif not self._up:
            self._request(Kind.ENSURE, str(timeout).encode())

    def send(self, payload: bytes) -> None:
        """Send one payload; a reset returns when it is done. Raises LinkError."""
        if not self.connected:
            raise LinkError(self.why_down)
        if payload in RESETS:
            self._request(Kind.RESET, payload)
        else:
            self._write(frame(Kind.MESSAGE, payload))

    def estop(self) -> StopOutcome | None:
        """Stop the rig, and let its driver ask whether it is stopped. Raises LinkError."""
        outcome = self._request(Kind.STOP).get("outcome")
        return None if outcome is None else StopOutcome(outcome)

    def discard(self) -> None:
        """Discard what was not sent."""
        with contextlib.suppress(LinkError):
            self._write(frame(Kind.DISCARD))

    def close(self) -> None:
        """Close the link; the process stays for a stop that a lost wire still owes."""
        if self._ending:
            return
        self._ending = True
        with contextlib.suppress(LinkError):
            self.late_stop_seconds = float(self._request(Kind.CLOSE).get("late", 0.0))
        self._closed.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(2.0)
        self._socket.close()
        self._errors.close()
        if self.late_stop_seconds:
            return
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self, *, attach: bool = False) -> None:
        """Start a process, or attach to one whose host is gone; wait for its link. Raises LinkError."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - the process's, as long as it lives
        found = None
        if attach:
            found = enter(door_name(self._opener.function, self._opener.arguments), ATTACH_SECONDS)
        ours = self._spawn() if found is None else found[0]
        if found is not None:
            self._process = AdoptedProcess(found[1])
        try:
            frames = Frames()
            ready = self._first_frames(ours, frames)
        except BaseException:
            ours.close()
            raise
        self._begin(ours, frames, ready)

    def _spawn(self) -> socket.socket:
        ours, its = socket.socketpair()
        try:
            with its:
                # A session of its own, so that what kills our process group leaves it alive.
                self._process = process = subprocess.Popen(
                    [*scope(), sys.executable, "-c", PROGRAM, str(its.fileno())],
                    stdin=subprocess.PIPE,
                    stdout=self._errors,
                    stderr=self._errors,
                    pass_fds=(its.fileno(),),
                    start_new_session=True,
                )
            # Not as arguments, which every user may read: a URL may hold a password.
            opener = json.dumps([sys.path, self._is_new, *astuple(self._opener)])
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError), process.stdin as spec:
                spec.write(opener.encode())
        except BaseException:
            ours.close()
            raise
        return ours

    def _begin(self, ours: socket.socket, frames: Frames, ready: list[tuple[Kind, bytes]] | None) -> None:
        if ready is None:
            ours.close()
            raise LinkError(f"the rig process did not start: {self._ending_of_process()}")
        (kind, body), *rest = ready
        if kind is Kind.REFUSED:
            ours.close()
            self._process.wait()
            self._errors.close()
            raise LinkError(body.decode())
        features = json.loads(body)
        up = features.pop("up")
        for name, value in features.items():
            setattr(self, name, value)
        if self.late_stop is not None:
            self._tell(f"attached to an earlier run's rig process; its stop: {self.late_stop['outcome']}")
        self._socket, self._watch = ours, RigWatch()
        self._up, self._alive, self._why_down = up, True, ""
        self._reader = threading.Thread(
            target=self._read, args=(ours, frames, rest), name=f"read {self.name}", daemon=True
        )
        self._reader.start()

    def _ending_of_process(self) -> str:
        """Return how the process has ended, and the last line that it printed."""
        status = self._process.wait()
        if status is None:
            return "it was an earlier run's"
        how = f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1]}" if lines else how

    def _first_frames(self, ours: socket.socket, frames: Frames) -> list[tuple[Kind, bytes]] | None:
        early: list[tuple[Kind, bytes]] = []
        while data := ours.recv(1 << 16):
            for kind, body in frames.feed(data):
                if kind is Kind.TELL:
                    self._tell(body.decode())
                else:
                    early.append((kind, body))
            # An earlier run's rig process may pass a message on before it greets.
            first = next((one for one in early if one[0] in (Kind.READY, Kind.REFUSED)), None)
            if first is not None:
                return [first, *(one for one in early if one is not first)]
        return None

    def _read(self, ours: socket.socket, frames: Frames, ready: list[tuple[Kind, bytes]]) -> None:
        for kind, body in ready:
            self._take(kind, body)
        try:
            while data := ours.recv(1 << 16):
                self._watch.heard()
                for kind, body in frames.feed(data):
                    self._take(kind, body)
        except OSError:
            pass
        self._lost()

    def _take(self, kind: Kind, body: bytes) -> None:
        match kind:
            case Kind.MESSAGE:
                with self._changed:
                    if self._on_frame is None:
                        self._early.append(body)
                        return
                self._on_frame(body, False)
            case Kind.UP | Kind.DOWN:
                self._up, self._why_down = kind is Kind.UP, body.decode()
                if self._on_state is not None:
                    self._on_state(self._up)
            case Kind.BEAT:
                self.dropped = int(body)
            case Kind.TELL:
                self._tell(body.decode())
            case Kind.STRUCK if body:
                self._note("stop by the rig process", json.loads(body))
            case Kind.STRUCK:
                self._strikes += 1
                self._note("stopped by the rig process", {"why": "the host was silent, or will sleep"})
            case Kind.DONE:
                number, result = numbered(body)
                with self._changed:
                    self._done[number] = json.loads(result)
                    self._changed.notify_all()

    def _request(self, kind: Kind, body: bytes = b"") -> dict[str, Any]:
        with self._changed:
            self._number += 1
            number = self._number
        process = self._process
        self._write(request(kind, number, body))
        with self._changed:
            self._changed.wait_for(
                lambda: number in self._done or not self._alive or self._process is not process,
                ANSWER_SECONDS,
            )
            result = self._done.pop(number, None)
        if result is None:
            raise LinkError(f"the rig process of {self.name} does not answer")
        if result.get("error") is not None:
            raise (LinkGoneError if result["gone"] else LinkError)(result["error"])
        return result

    def _write(self, data: bytes) -> None:
        try:
            with self._writing:
                self._socket.sendall(data)
        except OSError as error:
            raise LinkError(f"the rig process of {self.name} is gone: {error}") from None

    def _beat(self) -> None:
        while not self._clock.wait(self._closed, BEAT_SECONDS):
            if not self._alive:
                continue
            if self._watch.beat() or is_stopped(self._process.pid):
                # What it holds is free once it is dead.
                self._process.kill()
            # Not where another thread writes: that is a sign of life too.
            if self._writing.acquire(blocking=False):
                try:
                    self._socket.send(frame(Kind.BEAT), socket.MSG_DONTWAIT)
                except OSError:
                    pass
                finally:
                    self._writing.release()

    def _lost(self) -> None:
        """Replace a rig process that has ended, unless the link is closed."""
        how = ""
        if not self._ending:
            try:
                self._process.wait(0.2)
            except subprocess.TimeoutExpired:
                self._process.kill()
            # Before anybody else may replace it.
            how = self._ending_of_process()
        with self._changed:
            self._alive = self._up = False
            self._changed.notify_all()
        if self._ending:
            return
        if self._on_state is not None:
            self._on_state(False)
        self._tell(f"the process that drives {self.name} has ended ({how}); another one stops the rig")
        began = self._clock.now()
        with contextlib.suppress(LinkError):
            self._replace()
        detail = {"ended": how, "seconds": round(self._clock.now() - began, 3), "stop": self.rig.outcome}
        self._note("rig process replaced" if self._alive else "rig process lost", detail)

    def _note(self, state: str, detail: Mapping[str, Any]) -> None:
        if self.on_noted is not None:
            self.on_noted(state, detail)

    def _replace(self) -> None:
        with self._replacing:
            if self._alive or self._ending:
                return
            self._process.kill()
            self._process.wait()
            self._socket.close()
            self._errors.close()
            self._is_new = True
            self._start()
            self.rig.on(Event.HALT)
            with contextlib.suppress(LinkError):
                self.stop()
            self._is_new = False
        if self._on_state is not None and self._up:
            self._on_state(True)


def is_stopped(process: int) -> bool:
    """Whether a signal has stopped a process: the system says so, and a busy one is never taken for it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def scope() -> list[str]:
    """Return the command that puts a process into a systemd scope of its own, where systemd runs the machine.

    A service's end kills all processes of its own scope at once.
    """
    tool = shutil.which("systemd-run")
    if tool is None or not SYSTEMD.is_dir():
        return []
    mine = [] if os.geteuid() == 0 else ["--user"]
    alone = [tool, *mine, "--scope", "--quiet", "--collect"]
    # Without a session's bus there is no manager to ask.
    probe = subprocess.run([*alone, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return [*alone, "--"] if probe.returncode == 0 else []
