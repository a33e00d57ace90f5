"""GRBL 1.1h as its sources have it (gnea/grbl, folder `grbl`), and as they ran on an emulated ATmega328P.

- serial.c: `?`, `!`, `~` and 0x18 are taken out of the line the moment they come and never reach the buffer
  of 128 bytes; bytes above 0x7F are dropped; what does not fit is lost.
- protocol.c, `protocol_main_loop`: a line is answered once it is carried out; spaces are dropped, letters
  made large; 80 characters or more are error:11; in an alarm every line but `$` is error:9.
  `protocol_exec_rt_system`: an alarm is told, and after a limit (1, 2) the machine waits for a reset that
  comes after "[MSG:Reset to continue]"; an alarm or check mode is not held; `?` is answered before `!` is
  obeyed. `protocol_buffer_synchronize`: G4 and a change of M3 and M5 wait until all is moved.
- report.c: `report_alarm_message` waits for half a second, deaf to `?`; `report_realtime_status` sends WCO
  and Ov now and then; `report_status_message`, `report_init_message`, `report_grbl_settings`.
- motion_control.c, `mc_reset`: at once the spindle is off, and a machine that moves loses its steps and
  raises alarm 3 (6 while homing); a second reset before the first is carried out is none.
  `mc_homing_cycle`.
- main.c: a reset empties the input; the position is kept, and so is an alarm. The line that was being
  worked on is answered `ok` first.
- limits.c, `limits_soft_check`, `limits_go_home`: the travel is from -$130 to 0; homing answers nothing.
- gcode.c: error:2 bad number, error:20 unknown code, error:22 no feed; S and F stay until a reset.
"""

from __future__ import annotations

import re
import time
from collections import deque

from standins.pty_board import PtyBoard

WORD = re.compile(r"([A-Z])([-+]?\d*\.?\d*)")
SETTINGS = {
    0: "10",
    1: "25",
    10: "1",
    13: "0",
    20: "0",
    21: "0",
    22: "0",
    30: "1000",
    32: "0",
    130: "200.000",
}


class Grbl(PtyBoard):
    """Says its banner at the start and after each reset; `travel` turns soft limits on, in mm."""

    baud_bytes = 128
    alarm_seconds = 0.5
    slowing_seconds = 0.03

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
        self.homing_seconds = 0.1
        self.homing_fails = False
        self.startup_line = ""
        self.settings = dict(SETTINGS)
        self.state = "Alarm" if locked else "Idle"
        self.position = [0.0, 0.0, 0.0]
        self.spindle = 0.0
        self.spindle_log: list[float] = []
        self.targets: list[tuple[float, float, float]] = []
        self.hold_at: float | None = None
        self.holds: list[float] = []
        self.resets = 0
        self.lost_resets = 0
        self.hard_limit_next = False
        self._line = ""
        self._plan: deque[list[float]] = deque()
        self._working: str | None = None
        self._asked = self._hold = self._reset = False
        self._alarm = 0
        self._deaf_until: float | None = None
        self._limit_waits = False
        self._home_until: float | None = None
        self._last = time.monotonic()
        self._banner = banner
        self._reports = 0

    def byte_came(self, byte: int) -> bool:
        if byte == 0x18:
            self._interrupt()
        elif byte == ord("?"):
            self._asked = True
        elif byte == ord("!"):
            self._hold = True
        elif byte == ord("~"):
            if self.state == "Hold":
                self.state, self.hold_at = "Run" if self._plan else "Idle", None
        else:
            return byte < 0x80
        return False

    def step(self) -> None:
        now = time.monotonic()
        passed, self._last = now - self._last, now
        if self._banner:
            self._banner = False
            self._greet()
        if self._busy_with_alarm(now) or self._busy_with_homing(now):
            return
        if self._reset:
            self._abort()
            return
        if self._asked:
            self._asked = False
            self._report()
        if self._hold:
            self._hold = False
            self._feed_hold()
        self._go(passed)
        if self.state == "Hold":
            return
        if self._working is not None:
            if not self._plan:
                line, self._working = self._working, None
                self._synced(line)
            return
        while self.input and self._working is None and not self._alarm:
            byte = chr(self.input.pop(0))
            if byte not in "\r\n":
                self._line += byte if byte > " " else ""
                continue
            line, self._line = self._line.upper(), ""
            self._execute(line)

    @property
    def _slowing(self) -> bool:
        late = self.hold_at is not None and time.monotonic() - self.hold_at < self.slowing_seconds
        return late and bool(self._plan)

    def _interrupt(self) -> None:
        if self._reset:
            self.lost_resets += 1
            return
        self._reset = True
        self._spin(0.0)
        if self.state == "Home":
            self._alarm = self._alarm or 6
        elif self._plan and (self.state == "Run" or self._slowing):
            self._alarm = 3

    def _busy_with_alarm(self, now: float) -> bool:
        if self._limit_waits:
            if self._reset:
                self._limit_waits = False
                self._abort()
            return True
        if not self._alarm:
            return False
        if self._deaf_until is None:
            self.state = "Alarm"
            self.say(f"ALARM:{self._alarm}")
            self._deaf_until = now + self.alarm_seconds
        if now < self._deaf_until:
            return True
        limit = self._alarm in (1, 2)
        self._deaf_until, self._alarm = None, 0
        if limit:
            self.say("[MSG:Reset to continue]")
            self._reset, self._limit_waits = False, True
            return True
        self._abort()
        return True

    def _busy_with_homing(self, now: float) -> bool:
        if self._home_until is None:
            return False
        if now < self._home_until and not self._reset:
            return True
        self._home_until = None
        if self._reset or self.homing_fails:
            self._alarm, self._reset = 6 if self._reset else 9, True
            return True
        self.position, self.state, self._working = [-1.0, -1.0, -1.0], "Idle", None
        self.say("ok")
        return True

    def _abort(self) -> None:
        self._reset = False
        self.resets += 1
        if self._working is not None:
            self.say("ok")
        if self.state != "Alarm":
            self.state = "Idle"
        self._plan.clear()
        self.input.clear()
        self._line, self._working, self.hold_at, self._asked, self._hold = "", None, None, False, False
        self._home_until = None
        self._spin(0.0)
        self._greet()

    def _greet(self) -> None:
        self._reports = 0
        self.say("")
        self.say("Grbl 1.1h ['$' for help]")
        if self.state == "Alarm":
            self.say("[MSG:'$H'|'$X' to unlock]")
        elif self.startup_line:
            self.say(f">{self.startup_line}:ok")

    def _report(self) -> None:
        x, y, z = self.position
        name = f"Hold:{int(self._slowing)}" if self.state == "Hold" else self.state
        kind = "MPos" if self.settings[10] in "13" else "WPos"
        scale = 0.0393701 if self.settings[13] == "1" else 1.0
        extra = {0: "|WCO:0.000,0.000,0.000", 1: "|Ov:100,100,100"}.get(self._reports % 10, "")
        self._reports += 1
        where = f"{x * scale:.3f},{y * scale:.3f},{z * scale:.3f}"
        self.say(f"<{name}|{kind}:{where}|FS:0,{self.spindle:.0f}{extra}>")

    def _feed_hold(self) -> None:
        if self.state in ("Idle", "Run"):
            self.state, self.hold_at = "Hold", time.monotonic()
            self.holds.append(self.hold_at)

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
            self._plan.clear()
            self._reset, self._alarm = True, 1
            return
        target = self._plan[0]
        away = max(abs(b - a) for a, b in zip(self.position, target, strict=True))
        share = 1.0 if away == 0 else min(1.0, self.speed * passed / away)
        self.position = [a + (b - a) * share for a, b in zip(self.position, target, strict=True)]
        if share == 1.0:
            self._plan.popleft()
            if not self._plan and self.state == "Run":
                self.state = "Idle"

    def _execute(self, line: str) -> None:
        if len(line) >= 80:
            self.say("error:11")
        elif line.startswith("$"):
            self._system(line)
        elif not line:
            self.say("ok")
        elif self.state == "Alarm":
            self.say("error:9")
        else:
            self._block(line)

    def _system(self, line: str) -> None:
        match line:
            case "$$":
                for number, value in self.settings.items():
                    self.say(f"${number}={value}")
            case "$X":
                if self.state == "Alarm":
                    self.say("[MSG:Caution: Unlocked]")
                    self.state = "Idle"
            case "$C" if self.state in ("Idle", "Check"):
                self.state = "Check" if self.state == "Idle" else "Idle"
                self.say(f"[MSG:{'Enabled' if self.state == 'Check' else 'Disabled'}]")
            case "$H" if not self.homing:
                self.say("error:5")
                return
            case "$H":
                self.state, self._working = "Home", line
                self._home_until = time.monotonic() + self.homing_seconds
                return
            case _:
                self.say("error:3")
                return
        self.say("ok")

    def _block(self, line: str) -> None:
        words = WORD.findall(line)
        if "".join(letter + number for letter, number in words) != line:
            self.say("error:1")
            return
        if any(not re.search(r"\d", number) for _, number in words):
            self.say("error:2")
            return
        codes = {f"{letter}{float(number):g}" for letter, number in words if letter in "GM"}
        values = {letter: float(number) for letter, number in words if letter not in "GM"}
        if codes - {"G0", "G1", "G4", "G21", "G53", "G90", "M3", "M5"}:
            self.say("error:20")
        elif "G1" in codes and values.get("F", 0.0) <= 0.0:
            self.say("error:22")
        elif "G4" in codes or ("M3" in codes and self.spindle == 0) or ("M5" in codes and self.spindle != 0):
            self._working = line
        elif "G1" in codes or "G0" in codes:
            self._move(line, values)
        else:
            self.say("ok")

    def _move(self, line: str, values: dict[str, float]) -> None:
        start = self._plan[-1] if self._plan else self.position
        target = [values.get(axis, start[index]) for index, axis in enumerate("XYZ")]
        if self.travel is not None and any(not -self.travel <= value <= 0.0 for value in target):
            self._plan.clear()
            self._working, self._reset, self._alarm = line, True, 2
            return
        if self.state != "Check":
            self.targets.append((round(target[0], 3), round(target[1], 3), round(target[2], 3)))
            self._plan.append(target)
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
