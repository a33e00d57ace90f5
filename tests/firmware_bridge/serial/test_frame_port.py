"""A port that is spoken in frames: the answer is found among noise, parts of frames and other frames."""

from __future__ import annotations

import os
import tty

import pytest

from firmware_bridge.serial.frame_port import FramePort, crc16

pytestmark = pytest.mark.serial


def frame(kind: int, data: bytes) -> bytes:
    body = bytes([len(data), kind]) + data
    return b"\x7e" + body + crc16(body).to_bytes(2, "little")


def answer(heard: bytes) -> bytes | None:
    if len(heard) < 2 or len(heard) < heard[1] + 5:
        return None
    whole = heard[: heard[1] + 5]
    return whole[3:-2] if whole == frame(1, whole[3:-2]) else None


def test_an_answer_is_found_among_what_else_comes_and_what_came_before_is_none() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    tty.setraw(master)
    port = FramePort(f"serial://{os.ttyname(slave)}", 0.2, b"\x7e")
    os.write(master, frame(1, b"early"))
    with pytest.raises(TimeoutError, match=r"no answer to 7e 01$"):
        port.ask(b"\x7e\x01", answer)
    assert os.read(master, 99) == b"\x7e\x01"
    spoilt = bytearray(frame(1, b"bad"))
    spoilt[4] ^= 1
    # The port discards what came before the question: so all of this comes after it.
    port.send = lambda sent: os.write(  # type: ignore[method-assign, assignment, return-value]
        master, b"\x00\x7e" + bytes(spoilt) + frame(2, b"\x7e\x01") + frame(1, b"\x7e!") + b"\x7e"
    )
    assert port.ask(b"", answer) == b"\x7e!"
    port.send = lambda sent: os.write(master, bytes(spoilt))  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(TimeoutError, match=f"no answer to 7e, but {bytes(spoilt).hex(' ')}$"):
        port.ask(b"\x7e", answer)
    port.close()


def test_the_checksum_is_that_of_modbus() -> None:
    # The check value of CRC-16/MODBUS in Greg Cook's catalogue.
    assert crc16(b"123456789") == 0x4B37
