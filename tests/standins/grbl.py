"""GRBL 1.1 as its interface documents describe it: real-time bytes, a planner, holds, alarms, soft limits."""

from __future__ import annotations

import re
import time
from collections import deque

from standins.pty_board import PtyBoard

WORD = re.compile(r"([A-Z])(-?\d+\.?\d*)")
SYNCING = ("G4", "M3", "M5")


class Grbl(PtyBoard):
    """Says its banner at the start and after each reset; `travel` turns soft limits on, in mm."""

    baud_bytes = 128

    def __init__(
        self,
        speed: float = 6000.0,
        travel: float | None = None,
        locked: bool = False,
        homing: bool = False,
        banner: bool = True,
    ) -> None:
        super().__init__()
        self.speed = speed
        self.travel = travel
        self.homing = homing
        self.state = "Alarm" if locked else "Idle"
        self.position = [0.0, 0.0, 0.0]
        self.spindle = 0.0
        self.spindle_log: list[float] = []
        self.targets: list[tuple[float, float, float]] = []
        self.hold_at: float | None = None
        self.holds: list[float] = []
        self.resets = 0
        self.hard_limit_next = False
        self._line = ""
        self._plan: deque[list[float]] = deque()
        self._waiting: str | None = None
        self._critical = False
        self._asked = False
        self._reset = False
        self._last = time.monotonic()
        self._banner = banner

    def byte_came(self, byte: int) -> bool:
        if byte == 0x18:
            self._reset = True
        elif byte == ord("?"):
            self._asked = True
        elif byte == ord("!"):
            if self.state in ("Idle", "Run"):
                self.state, self.hold_at = "Hold", time.monotonic()
                self.holds.append(self.hold_at)
        elif byte == ord("~"):
            if self.state == "Hold":
                self.state, self.hold_at = "Run" if self._plan else "Idle", None
        else:
            return True
        return False

    def step(self) -> None:
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if self._banner:
            self._banner = False
            self._greet()
        if self._reset:
            self._soft_reset()
            return
        if self._asked and not self._critical:
            self._asked = False
            self._report()
        if self._critical:
            return
        self._go(passed)
        if self.state == "Hold":
            return
        if self._waiting is not None:
            if not self._plan:
                self._synced(self._waiting)
                self._waiting = None
            return
        while self.input and self._waiting is None and not self._critical:
            byte = chr(self.input.pop(0))
            if byte not in "\r\n":
                self._line += byte if byte > " " else ""
                continue
            line, self._line = self._line.upper(), ""
            self._execute(line)

    @property
    def _slowing(self) -> bool:
        return self.hold_at is not None and bool(self._plan) and time.monotonic() - self.hold_at < 0.03

    def _greet(self) -> None:
        self.say("")
        self.say("Grbl 1.1h ['$' for help]")
        if self.state == "Alarm":
            self.say("[MSG:'$H'|'$X' to unlock]")
        else:
            self.say(">G54G21:ok")

    def _soft_reset(self) -> None:
        self._reset = False
        self.resets += 1
        if self._plan and (self.state == "Run" or self._slowing):
            self.say("ALARM:3")
            self.state = "Alarm"
        elif self.state != "Alarm":
            self.state = "Idle"
        self._plan.clear()
        self.input.clear()
        self._line, self._waiting, self._critical, self.hold_at, self._asked = "", None, False, None, False
        self._spin(0.0)
        self._greet()

    def _report(self) -> None:
        x, y, z = self.position
        name = self.state
        if name == "Hold":
            name = f"Hold:{int(self._slowing)}"
        self.say(f"<{name}|MPos:{x:.3f},{y:.3f},{z:.3f}|FS:0,{self.spindle:.0f}|WCO:0.000,0.000,0.000>")

    def _go(self, passed: float) -> None:
        if not self._plan:
            if self.state == "Run":
                self.state = "Idle"
            return
        if self.state == "Hold" and not self._slowing:
            return
        if self.state == "Idle":
            self.state = "Run"
        if self.hard_limit_next:
            self.hard_limit_next = False
            self._alarm(1)
            return
        target = self._plan[0]
        away = max(abs(b - a) for a, b in zip(self.position, target, strict=True))
        share = 1.0 if away == 0 else min(1.0, self.speed * passed / away)
        self.position = [a + (b - a) * share for a, b in zip(self.position, target, strict=True)]
        if share == 1.0:
            self._plan.popleft()
            if not self._plan and self.state == "Run":
                self.state = "Idle"

    def _alarm(self, number: int) -> None:
        self.state, self._critical = "Alarm", True
        self._plan.clear()
        self.say(f"ALARM:{number}")
        self.say("[MSG:Reset to continue]")

    def _execute(self, line: str) -> None:
        if line in ("", "$X", "$H"):
            if line == "$H" and not self.homing:
                self.say("error:5")
                return
            if line == "$X" and self.state == "Alarm":
                self.say("[MSG:Caution: Unlocked]")
                self.state = "Idle"
            if line == "$H":
                self.position, self.state = [0.0, 0.0, 0.0], "Idle"
            self.say("ok")
        elif line.startswith("$"):
            self.say("error:3")
        elif self.state == "Alarm":
            self.say("error:9")
        else:
            self._block(line)

    def _block(self, line: str) -> None:
        words = WORD.findall(line)
        if "".join(letter + number for letter, number in words) != line:
            self.say("error:2")
            return
        codes = {f"{letter}{float(number):g}" for letter, number in words if letter in "GM"}
        values = {letter: float(number) for letter, number in words if letter not in "GM"}
        if codes - {"G0", "G1", "G4", "G21", "G53", "G90", "M3", "M5"}:
            self.say("error:20")
        elif "G1" in codes and values.get("F", 0.0) <= 0.0:
            self.say("error:22")
        elif codes & set(SYNCING):
            self._waiting = line
        elif "G1" in codes or "G0" in codes:
            start = self._plan[-1] if self._plan else self.position
            target = [values.get(axis, start[index]) for index, axis in enumerate("XYZ")]
            if self.travel is not None and any(not 0.0 <= value <= self.travel for value in target):
                self._alarm(2)
                return
            self.targets.append((target[0], target[1], target[2]))
            self._plan.append(target)
            self.say("ok")
        else:
            self.say("ok")

    def _synced(self, line: str) -> None:
        if line.startswith("M5"):
            self._spin(0.0)
        elif line.startswith("M3"):
            self._spin(float(line.partition("S")[2] or 0.0))
        self.say("ok")

    def _spin(self, speed: float) -> None:
        if speed != self.spindle:
            self.spindle_log.append(speed)
        self.spindle = speed
