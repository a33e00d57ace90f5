"""The relay of examples/deadman on an emulated ATmega328P: when it opens, and what closes it."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from avr_board import Board, emulated, lacks
from bridge_rig import wait_until
from paths import ROOT

pytestmark = [
    pytest.mark.firmware,
    pytest.mark.serial,
    pytest.mark.skipif(bool(lacks()) or shutil.which("avr-gcc") is None, reason="no AVR toolchain"),
]
RELAY = 1 << 4
LIMIT, TICK = 2000, 10
"""Milliseconds of the page's promise, and of the firmware's clock."""


class Relay:
    """The board, and a host that may send what it likes."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.fd = os.open(board.path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self.fd)
        board.changes("D")

    @property
    def closed(self) -> bool:
        return bool(self.board.outputs("D") & RELAY)

    @property
    def now(self) -> int:
        return self.board.changes("D")[2]

    def beat(self) -> bytes:
        """Send a heartbeat, and return its answer."""
        os.write(self.fd, b"H")
        return os.read(self.fd, 1) if select.select([self.fd], [], [], 20)[0] else b""

    def press(self) -> None:
        self.board.tell("D2=0")

    def release(self) -> None:
        self.board.tell("D2=1")

    def close(self) -> None:
        """Close it as a person does."""
        assert self.beat() == b"0"
        self.press()
        assert wait_until(lambda: self.beat() == b"1", 20.0) and self.closed
        self.release()

    def run(self, ms: int) -> None:
        """Let so much of the board's own time pass."""
        until = self.now + ms
        assert wait_until(lambda: self.now >= until, 30.0)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    make = ["make", "-s", "-C", str(ROOT / "examples" / "deadman"), f"BUILD={tmp_path}"]
    subprocess.run(make, check=True)
    with emulated(tmp_path, "atmega328p", str(tmp_path / "deadman.elf")) as board:
        relay = Relay(board)
        relay.release()
        yield relay
        os.close(relay.fd)


def test_it_opens_two_seconds_after_the_last_heartbeat_neither_late_nor_early(relay: Relay) -> None:
    relay.close()
    before = relay.now
    assert relay.beat() == b"1"
    after = relay.now
    # Bytes that are no heartbeat count for nothing.
    os.write(relay.fd, b"hello, h\x00\xff")
    assert wait_until(lambda: not relay.closed, 30.0)
    opened = relay.board.changes("D")[1]
    assert before + LIMIT - TICK <= opened <= after + LIMIT + TICK


def test_it_stays_closed_while_the_heartbeat_comes_each_second(relay: Relay) -> None:
    relay.close()
    changes = relay.board.changes("D")[0]
    for _ in range(3):
        relay.run(1000)
        assert relay.beat() == b"1"
    assert relay.board.changes("D")[0] == changes


def test_once_open_only_a_press_during_the_heartbeat_closes_it(relay: Relay) -> None:
    assert not relay.closed, "open at power-up"
    relay.press()
    relay.run(200)
    assert not relay.closed, "nobody is there"
    assert relay.beat() == b"0" and relay.beat() == b"0"
    relay.run(200)
    assert not relay.closed, "a held button is no press"
    relay.release()
    relay.run(100)
    relay.close()
