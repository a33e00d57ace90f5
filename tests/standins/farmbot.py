"""FarmBot's Arduino firmware as its README and its released sources describe it: codes F and G in, R out."""

from __future__ import annotations

import re
import time

from standins.pty_board import PtyBoard

ALLOWED_IN_STOP = ("F09", "F20", "F21", "F22", "F81", "F82", "F83")
MOVES = ("G00", "G01", "F11", "F12", "F13", "F14", "F15", "F16")
KNOWN = (*ALLOWED_IN_STOP, *MOVES, "G28", "F41", "F42", "F43", "F84")


class FarmBot(PtyBoard):
    """Boots with chatter, reports at any time, empties its input after each command, moves when confirmed."""

    def __init__(
        self,
        speed: float = 8000.0,
        report_every: float = 0.1,
        boot_seconds: float = 0.02,
        chatter: bool = True,
    ) -> None:
        super().__init__()
        self.speed = speed
        self.report_every = report_every
        self.position = [0.0, 0.0, 0.0]
        self.stopped = False
        self.stop_times: list[float] = []
        self.confirmed = False
        self.pins: dict[int, int] = {}
        self.pin_log: list[tuple[int, int]] = []
        self.analog = {59: 200}
        self.stuck_pins: set[int] = set()
        self.moves: list[tuple[float, float, float]] = []
        self.stall_next = False
        self.reboot_next = False
        self._command = bytearray()
        self._q = 0
        self._last_report = time.monotonic()
        self._boot_until = time.monotonic() + boot_seconds
        self._chatter = chatter

    def reply(self, text: str) -> None:
        self.say(f"{text} Q{self._q}")

    def step(self) -> None:
        if self._chatter:
            if time.monotonic() < self._boot_until:
                self.input.clear()  # what comes before setup() is over is lost
                return
            self._chatter = False
            for line in ("R99 Set input/output", "R99 Load parameters", "R99 ARDUINO STARTUP COMPLETE"):
                self.say(line)
        while self.input:
            self._take(self.input.pop(0))
        if time.monotonic() - self._last_report > self.report_every:
            self._last_report = time.monotonic()
            self.reply("R87" if self.stopped else "R00")
            self._say_position()
            self.reply("R84 X0.00 Y0.00 Z0.00")
            self.reply("R81 XA0 XB0 YA0 YB0 ZA0 ZB0")
            if not self.confirmed:
                self.reply("R88")

    def _take(self, byte: int) -> None:
        if byte in b"eE":
            self._stop()
        elif byte == 10:
            text, self._command = self._command.decode("latin-1").strip("\r"), bytearray()
            if text:
                self.say(f"R08 *{text}*")
                self._execute(text)
        else:
            self._command.append(byte)

    def _stop(self) -> None:
        self.stopped = True
        self.stop_times.append(time.monotonic())
        for pin, level in self.pins.items():
            if level:
                self._write_pin(pin, 0)
                self.say(f"R99 resetting digital pin{pin}")

    def _execute(self, text: str) -> None:
        code, *words = text.split()
        values = {word[0]: float(word[1:]) for word in words if re.fullmatch(r"[A-Z]-?[\d.]+", word)}
        self._q = int(values.get("Q", 0))
        if self.stopped and code not in ALLOWED_IN_STOP:
            self.reply("R87")
            return
        if not self.confirmed and code in MOVES:
            self.reply("R88")
            return
        if code not in KNOWN:
            self.reply("R09")
            return
        self.reply("R01")
        error = self._carry_out(code, values)
        self.input.clear()
        self.listen()
        self.input.clear()
        self.reply("R02" if error == 0 else f"R03 V{error}")
        self._q = 0

    def _carry_out(self, code: str, values: dict[str, float]) -> int:
        pin, level = int(values.get("P", 0)), int(values.get("V", 0))
        match code:
            case "F09":
                self.stopped = False
            case "F22" if pin == 2:
                self.confirmed = level == 1
            case "F41":
                self._write_pin(pin, level)
            case "F42":
                self.reply(f"R41 P{pin} V{self.analog.get(pin, self.pins.get(pin, 0))}")
            case "F81":
                self.reply("R81 XA0 XB0 YA0 YB0 ZA0 ZB0")
            case "F82":
                self._say_position()
            case "F83":
                self.reply("R83 6.6.0.R.genesisK12")
            case "G00" | "G01":
                return self._move([values.get(axis, 0.0) for axis in "XYZ"])
            case "G28":
                return self._move([0.0, 0.0, 0.0])
        return 0

    def _write_pin(self, pin: int, level: int) -> None:
        if pin not in self.stuck_pins or level:
            self.pins[pin] = level
        self.pin_log.append((pin, level))

    def _move(self, target: list[float]) -> int:
        self.moves.append((target[0], target[1], target[2]))
        if self.stall_next:
            self.stall_next = False
            return 3
        start, began = list(self.position), time.monotonic()
        away = max(abs(b - a) for a, b in zip(start, target, strict=True))
        seconds, said = away / self.speed, began
        while (gone := time.monotonic() - began) < seconds:
            self.listen()
            if self.reboot_next:
                self.reboot_next, self.confirmed, self.stopped = False, False, False
                self.say("R99 ARDUINO STARTUP COMPLETE")
                return 0
            while self.input:  # one that is no stop is read and lost
                if self.input.pop(0) in b"eE":
                    self._stop()
                    self.say("R99 emergency stop")
                    self.reply("R87")
                    return 1
            self.position = [a + (b - a) * gone / seconds for a, b in zip(start, target, strict=True)]
            if time.monotonic() - said > 0.05:
                said = time.monotonic()
                self.reply("R04")
                self._say_position()
            time.sleep(0.001)
        self.position = list(target)
        self._say_position()
        return 0

    def _say_position(self) -> None:
        x, y, z = self.position
        self.reply(f"R82 X{x:.2f} Y{y:.2f} Z{z:.2f}")
