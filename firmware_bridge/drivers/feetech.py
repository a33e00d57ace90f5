"""The bus of Feetech's STS servos: packets, and the registers that are used here.

Facts: the memory table of the STS/SMS series (doc.feetech.cn), as the tables of LeRobot
(huggingface/lerobot, src/lerobot/motors/feetech/tables.py) and Feetech's SDK (feetech-servo-sdk) have it.
A packet is FF FF, id, length, instruction or error, parameters, and the inverted sum from the id on. Numbers
are little-endian; a sign is the top bit of a magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from devices.drivers.tool_driver import inverted_sum
from firmware_bridge.serial.frame_port import FramePort

BAUD = 1_000_000
HEADER = b"\xff\xff"
EVERYONE = 0xFE
READ, WRITE, SYNC_WRITE = 2, 3, 0x83
TORQUE_ENABLE, GOAL_POSITION, PRESENT, STEPS = 40, 42, 56, 4096
ERRORS = {1: "voltage", 2: "angle", 4: "temperature", 8: "current", 32: "overload"}
"""The bits of a status packet's error, and of the register `Status`."""
TRIES = 2
"""Times that a register is read before its servo counts as mute."""


class Servo(NamedTuple):
    """What one servo reports: steps, steps/s, share of its torque, V, degrees Celsius, mA and its faults."""

    position: int
    speed: int
    load: float
    voltage: float
    temperature: int
    current: float
    moving: bool
    faults: tuple[str, ...]


class FeetechBus:
    """An open bus, locked against other programs. Raises OSError when it is lost.

    Args:
        url: a serial URL.
        seconds: time for a servo's answer.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._port = FramePort(url, seconds, HEADER, BAUD)

    def close(self) -> None:
        """Close the port. Never raises."""
        self._port.close()

    def read(self, servo: int, address: int, size: int) -> bytes:
        """Read registers. Raises TimeoutError: no whole answer came."""
        for _ in range(TRIES):
            answer = self._ask(servo, READ, bytes([address, size]), size)
            if answer is not None:
                return answer
        raise TimeoutError(f"servo {servo} gave no status packet")

    def write(self, servo: int, address: int, data: bytes) -> None:
        """Write registers; a servo is asked once, and acknowledges. Raises TimeoutError."""
        if self._ask(servo, WRITE, bytes([address]) + data, 0) is None:
            raise TimeoutError(f"servo {servo} gave no status packet")

    def write_all(self, address: int, values: Mapping[int, int]) -> None:
        """Write two bytes to each of these servos at once; none acknowledges it."""
        parts = [bytes([servo]) + value.to_bytes(2, "little") for servo, value in values.items()]
        self._port.send(_packet(EVERYONE, SYNC_WRITE, bytes([address, 2]) + b"".join(parts)))

    def state(self, servo: int) -> Servo:
        """Read what a servo reports."""
        raw = self.read(servo, PRESENT, 15)

        def number(offset: int, sign_bit: int) -> int:
            value = int.from_bytes(raw[offset : offset + 2], "little")
            magnitude = value & ((1 << sign_bit) - 1)
            return -magnitude if value >> sign_bit & 1 else magnitude

        return Servo(
            position=number(0, 15),
            speed=number(2, 15),
            load=number(4, 10) / 1000.0,
            voltage=raw[6] / 10.0,
            temperature=raw[7],
            current=6.5 * number(13, 15),
            moving=bool(raw[10]),
            faults=tuple(name for bit, name in ERRORS.items() if raw[9] & bit),
        )

    def _ask(self, servo: int, instruction: int, parameters: bytes, size: int) -> bytes | None:
        def whole(heard: bytes) -> bytes | None:
            packet = heard[: size + 6]
            fits = len(packet) == size + 6 and packet[2:4] == bytes([servo, size + 2])
            return packet[5:-1] if fits and packet[-1] == inverted_sum(packet[2:-1]) else None

        try:
            return self._port.ask(_packet(servo, instruction, parameters), whole)
        except TimeoutError:
            return None


def _packet(servo: int, instruction: int, parameters: bytes) -> bytes:
    body = bytes([servo, len(parameters) + 2, instruction]) + parameters
    return HEADER + body + bytes([inverted_sum(body)])
