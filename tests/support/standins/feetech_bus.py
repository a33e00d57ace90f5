"""A bus of STS3215 servos on a pty: the memory table of the STS series, and its overload latch.

Registers and packets: doc.feetech.cn (STS/SMS memory table), and Feetech's own SDK, which reads this bus in
a test. A servo whose load stays above Overload_Torque (36) for Protection_Time (35, of 10 ms) sets the
overload bit of Status (65), and gives Protective_Torque (34) until Torque_Enable (40) is written.
"""

from __future__ import annotations

import os
import time

from standins.pty_board import PtyBoard

MIDDLE, SPEED = 2048, 3000.0


class Sts3215:
    """One servo; `load` is what its motion meets, in thousandths of its torque."""

    def __init__(self, number: int) -> None:
        self.table = bytearray(90)
        self.table[3:5] = (777).to_bytes(2, "little")
        self.table[5], self.table[34], self.table[35], self.table[36] = number, 20, 200, 80
        self.table[40], self.table[62], self.table[63] = 1, 74, 31
        self.position = float(MIDDLE)
        self.load = 40
        self.blocked_below: float | None = None
        self.goal = MIDDLE
        self._over_since: float | None = None

    @property
    def goal(self) -> int:
        return int.from_bytes(self.table[42:44], "little")

    @goal.setter
    def goal(self, steps: int) -> None:
        self.table[42:44] = steps.to_bytes(2, "little")

    def step(self, passed: float, now: float) -> None:
        away = self.goal - self.position
        moves = bool(self.table[40]) and not self.table[65] and abs(away) > 0.5
        before = self.position
        if moves:
            self.position += max(-SPEED * passed, min(SPEED * passed, away))
            if self.blocked_below is not None:
                self.position = max(self.position, self.blocked_below)
        stalled = moves and self.position == before
        load = min(950, 4 * round(abs(away))) if stalled else self.load
        if load > self.table[36] * 10:
            self._over_since = self._over_since or now
            if now - self._over_since >= self.table[35] / 100:
                self.table[65] |= 32
        else:
            self._over_since = None
        if self.table[65] & 32:
            load = self.table[34] * 10
        self.table[56:58] = round(self.position).to_bytes(2, "little")
        self.table[60:62] = load.to_bytes(2, "little")
        self.table[66] = int(moves and not stalled)
        self.table[69:71] = (load // 5).to_bytes(2, "little")

    def write(self, address: int, data: bytes) -> None:
        self.table[address : address + len(data)] = data
        if address <= 40 < address + len(data):
            self.table[65] &= ~32
            self._over_since = None


class FeetechBus(PtyBoard):
    """Servos 1 to 6."""

    baud_bytes = 512

    def __init__(self) -> None:
        super().__init__()
        self.servos = {number: Sts3215(number) for number in range(1, 7)}
        self.torque_writes: list[tuple[int, int]] = []
        self._last = time.monotonic()

    def step(self) -> None:
        now = time.monotonic()
        passed, self._last = now - self._last, now
        for servo in self.servos.values():
            servo.step(passed, now)
        while (start := self.input.find(b"\xff\xff")) >= 0 and len(self.input) >= start + 4:
            size = self.input[start + 3] + 4
            if len(self.input) < start + size:
                return
            packet = bytes(self.input[start : start + size])
            del self.input[: start + size]
            if packet[-1] == ~sum(packet[2:-1]) & 0xFF:
                self._obey(packet[2], packet[4], packet[5:-1])

    def _obey(self, number: int, instruction: int, rest: bytes) -> None:
        if instruction == 0x83:
            address, size = rest[0], rest[1]
            for at in range(2, len(rest), size + 1):
                self.servos[rest[at]].write(address, rest[at + 1 : at + 1 + size])
            return
        servo = self.servos.get(number)
        if servo is None:
            return
        if instruction == 1:
            self._answer(number, b"")
        elif instruction == 2:
            self._answer(number, bytes(servo.table[rest[0] : rest[0] + rest[1]]))
        elif instruction == 3:
            if rest[0] == 40:
                self.torque_writes.append((number, rest[1]))
            servo.write(rest[0], rest[1:])
            self._answer(number, b"")

    def _answer(self, number: int, data: bytes) -> None:
        body = bytes([number, len(data) + 2, self.servos[number].table[65]]) + data
        if not self.mute:
            os.write(self.master, b"\xff\xff" + body + bytes([~sum(body) & 0xFF]))
