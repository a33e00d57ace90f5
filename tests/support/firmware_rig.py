"""An emulated board for tests: its port as raw frames, and what it has driven its pins to."""

import json
import os
import select
import subprocess
import threading
import time
import tty
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import pytest

from firmware_bridge.firmware.build import missing_packages
from firmware_bridge.lines import LineDecoder, to_line
from sims.farm_rover.board_pins import Outputs
from sims.farm_rover.emulated_board import EmulatedBoard, initial_world

RAM_BYTES = 8192
"""Of the rover's board."""

WORLD_SPEED = 20
ANSWER_SECONDS = 15.0

Frame = dict[str, Any]


@contextmanager
def board(
    world_speed: int = WORLD_SPEED,
    *,
    on_outputs: Callable[[Outputs], None] | None = None,
    test_hooks: bool = False,
    bootloader: bool = False,
    **init: Any,
) -> Iterator[EmulatedBoard]:
    """A board that has just been powered up, over a field with these overrides."""
    if missing := missing_packages():
        pytest.skip(f"the emulated board needs {', '.join(missing)}")
    with EmulatedBoard(
        initial_world(init),
        world_speed=world_speed,
        on_outputs=on_outputs,
        test_hooks=test_hooks,
        bootloader=bootloader,
    ) as running:
        yield running


class Seen:
    """The lines of pins, in the board's own milliseconds: `on_outputs=seen.lines.append`."""

    def __init__(self) -> None:
        self.lines: list[Outputs] = []

    def took(self, since: int, condition: Callable[[Outputs], bool]) -> int:
        """Milliseconds from then until the pins were so."""
        return next(line.ms for line in self.lines if line.ms >= since and condition(line)) - since


def is_safe(out: Outputs) -> bool:
    """Whether every actuator is off and the wheels rest."""
    return (out.port_a, out.left, out.right) == (0, 0, 0)


class RawHost:
    """A host that sends what it likes."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._fd)
        self._decoder = LineDecoder()
        self._waiting: list[Frame] = []
        self._syncs = 0

    def __enter__(self) -> "RawHost":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._fd, data) :]

    def send(self, **message: Any) -> None:
        self.raw(to_line(json.dumps({"v": 1, **message}).encode()))

    def frames(self) -> Iterator[Frame]:
        """Frames as they come, until none has come for long."""
        while True:
            while self._waiting:
                yield self._waiting.pop(0)
            if not select.select([self._fd], [], [], ANSWER_SECONDS)[0]:
                raise AssertionError("the board is silent")
            self._waiting += [json.loads(payload) for payload in self._decoder.feed(os.read(self._fd, 4096))]

    def until(self, wanted: Callable[[Frame], bool]) -> Frame:
        return next(frame for frame in self.frames() if wanted(frame))

    def op(self, op: str) -> Frame:
        return self.until(lambda frame: frame["op"] == op)

    def result(self, call_id: Any) -> Frame:
        return self.until(lambda frame: frame["op"] == "result" and frame["id"] == call_id)

    def call(self, call_id: Any, tool: str, **arguments: Any) -> Frame:
        self.send(op="call", id=call_id, tool=tool, args=arguments)
        return self.result(call_id)

    def ping(self) -> int:
        self.send(op="ping")
        return int(self.op("pong")["m"])

    @contextmanager
    def pings_at_line_rate(self, longest: float) -> Iterator[None]:
        """Pings without a pause, for `longest` seconds at most; nothing else may be sent meanwhile."""
        ended = threading.Event()

        def flood() -> None:
            until = time.monotonic() + longest
            while not ended.is_set() and time.monotonic() < until:
                self.raw(crc_line(b'{"v":1,"op":"ping"}') * 20)

        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def wait_for_quiet(self) -> None:
        """Read until the board has said nothing for half a second.

        A flood outruns the board's answers, and what stands in its full buffer is cut: a call sent into it is
        lost, as on a real line.
        """
        while select.select([self._fd], [], [], 0.5)[0]:
            os.read(self._fd, 4096)
        self._decoder = LineDecoder()
        self._waiting.clear()

    def catch_up(self) -> None:
        """Pass over all that the board has said so far."""
        self._syncs += 1
        self.send(op="init", id=f"sync {self._syncs}", state={}, seed=0)
        self.result(f"sync {self._syncs}")

    def status(self) -> Frame:
        """The status now."""
        self.catch_up()
        self.send(op="hello")
        return self.op("status")

    def ready(self) -> Frame:
        """Wait until the board has started, and take it out of any stop."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < deadline:
            self.send(op="ping")
            if select.select([self._fd], [], [], 0.2)[0]:
                break
        status = self.status()
        if status["state"] == "estop":
            self.send(op="reset")
            status = self.status()
        self.catch_up()
        return status


def crc_line(payload: bytes) -> bytes:
    """A frame made without the kit's codec, straight from the specification."""
    return payload + b"*" + f"{zlib.crc32(payload):08X}".encode() + b"\n"


def ram_used(elf: str) -> int:
    """Bytes of RAM that a firmware's variables take, without its stack."""
    output = subprocess.run(["avr-size", elf], capture_output=True, text=True, check=True).stdout
    _text, data, bss = map(int, output.splitlines()[1].split()[:3])
    return data + bss
