"""Marlin 2 as its sources have it (MarlinFirmware/Marlin, folder Marlin/src).

- gcode/queue.cpp: a numbered line needs its turn and its checksum, else `Error:` and `Resend:`; `M410`
  without a number is obeyed when it is read; queued commands are answered `ok` in their order. `M110 N` sets
  the number.
- gcode/control/M400.cpp, module/planner.cpp: M400 is answered once the planner is empty; serial input is read
  meanwhile.
- module/stepper.cpp, `quickstop_stepper`: the position is that of the steppers then.
- gcode/host/M114.cpp, M115.cpp, M118.cpp; gcode/gcode.cpp: `echo:busy: processing` each 2 s,
  or as `M113` says.
"""

from __future__ import annotations

import re
import time
from collections import deque

from standins.pty_board import PtyBoard

STEPS = 80


class Marlin(PtyBoard):
    """Moves at `speed` mm/s; `spoil` lines arrive with a wrong byte."""

    baud_bytes = 128
    keepalive = 2.0

    def __init__(self, speed: float = 400.0) -> None:
        super().__init__()
        self.speed = speed
        self.at, self.goal = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        self.servo: list[str] = []
        self.spoil = self.resent = self.quickstops = 0
        self._last_n = 0
        self._queue: deque[str] = deque()
        self._last = self._busy = time.monotonic()

    @property
    def moving(self) -> bool:
        return self.at != self.goal

    def step(self) -> None:
        now = time.monotonic()
        passed, self._last = now - self._last, now
        away = max(abs(goal - at) for goal, at in zip(self.goal, self.at, strict=True))
        share = 1.0 if away <= self.speed * passed else self.speed * passed / away
        self.at = [
            goal if share == 1.0 else at + (goal - at) * share
            for goal, at in zip(self.goal, self.at, strict=True)
        ]
        while b"\n" in self.input and len(self._queue) < 4:
            line, _, rest = bytes(self.input).partition(b"\n")
            self.input[:] = rest
            self._take(line.decode("latin-1").strip())
        if self._queue and not (self._queue[0] == "M400" and self.moving):
            self._execute(self._queue.popleft())
        if self._queue and now - self._busy > self.keepalive:
            self._busy = now
            self.say("echo:busy: processing")

    def _take(self, line: str) -> None:
        if self.spoil and line.startswith("N"):
            self.spoil -= 1
            line = line.replace("N", "N1", 1)
        if found := re.match(r"N(\d+) (.*)\*(\d+)$", line):
            checksum = 0
            for byte in line[: line.rindex("*")].encode("latin-1"):
                checksum ^= byte
            if checksum != int(found[3]):
                return self._again("checksum mismatch")
            if int(found[1]) != self._last_n + 1:
                return self._again("Line Number is not Last Line Number+1")
            self._last_n, line = int(found[1]), found[2]
        elif line.startswith("N"):
            return self._again("No Checksum with line number")
        elif line == "M410":
            self.goal = list(self.at)
            self.quickstops += 1
        if line:
            self._queue.append(line)
        return None

    def _again(self, why: str) -> None:
        self.resent += 1
        self.input.clear()
        self.say(f"Error:{why}, Last Line: {self._last_n}")
        self.say(f"Resend: {self._last_n + 1}")
        self.say("ok")

    def _execute(self, line: str) -> None:
        words = line.split()
        numbers = {word[0]: float(word[1:]) for word in words[1:] if re.fullmatch(r"[A-Z]-?[\d.]+", word)}
        match words[0]:
            case "G0" | "G1":
                self.goal = [numbers.get(axis, was) for axis, was in zip("XYZ", self.goal, strict=True)]
            case "G28":
                self.goal = [0.0, 0.0, 0.0]
            case "M110":
                self._last_n = int(numbers["N"])
            case "M114":
                place = " ".join(f"{a}:{v:.2f}" for a, v in zip("XYZ", self.goal, strict=True))
                count = " ".join(f"{a}:{round(v * STEPS)}" for a, v in zip("XYZ", self.at, strict=True))
                self.say(f"{place} E:0.00 Count {count}")
            case "M115":
                self.say("FIRMWARE_NAME:Marlin 2.1.2 (Jan 1 2026) SOURCE_CODE_URL:github.com")
                self.say("Cap:EMERGENCY_PARSER:1")
            case "M118":
                self.say(line[5:])
            case "M280":
                self.servo.append(words[2])
        self.say("ok")
