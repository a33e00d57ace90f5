"""FarmBot's Arduino firmware 6.6 as its sources have it (FarmBot/farmbot-arduino-firmware, `src`).

- src.ino, `setup`: a start says what it does and lists all parameters (R21) before R99 ARDUINO STARTUP
  COMPLETE.
- farmbot_arduino_controller.cpp, `checkSerialInputs`: bytes are taken one by one; e and E stop and go into
  no command; each line is echoed (R08 *...*). `periodicChecksAndReport`: R00, or R87 when stopped, R82,
  R84, R85, R81 and R88 when nothing came for half a second (5 s on the oldest boards).
  `checkEmergencyStop`: the first turn after a stop switches off the motors and every pin that was written.
- GCodeProcessor.cpp, `execute`: R87, R88 and R09 refuse; else R01, the handler, again with R07 up to three
  times where the error is neither 0 nor 2, then **whatever came meanwhile is thrown away, a stop as well**,
  then R02, or R03 with the error: 1 stop, 2 time, 3 stall, 14 command, 15 parameters. Then Q is 0.
- Movement.cpp, `moveToCoords`: R15 to R17 where the target was changed to what the axis allows, R81, R05;
  while it moves it reads a byte at a time, obeys a stop with R87 and drops everything else, and says R04
  and R82 by turns, letter by letter; motors are switched on for 0.1 s before, and off for two times 0.1 s
  after, deaf. Speeds are the least of the command's A, B, C and the parameters 71 to 73, in steps/s.
- PinGuardPin.cpp, `processTick`, once a second from the main loop: a guarded pin (parameters 201 to 223:
  number, seconds, level) that reads its level for so many seconds is set to the other one.
- PinControl.cpp: pins 1 to 52 can be written, others are left alone without a word; a reading is R41.
- HardwareSerial of the Arduino core: 64 bytes of input, of which it holds 63.
"""

from __future__ import annotations

import re
import time

from standins.pty_board import PtyBoard

ALLOWED_IN_STOP = ("F09", "F20", "F21", "F22", "F81", "F82", "F83")
MOVES = ("G00", "G01", "F11", "F12", "F13", "F14", "F15", "F16")
KNOWN = (
    *ALLOWED_IN_STOP,
    *(code for code in MOVES if code != "G01"),
    "G28",
    "F41",
    "F42",
    "F43",
    "F44",
    "F84",
)
PARAMETERS = {0: 1, 2: 0, 3: 0, 4: 0, 5: 3, 11: 120, 12: 120, 13: 120, 55: 5, 56: 5, 57: 25, 71: 400, 72: 400}


class FarmBot(PtyBoard):
    """`speed` in mm/s; `length` in mm ends the x and y axes, as parameters 141, 142, 145 and 146 do."""

    baud_bytes = 63
    motor_seconds = 0.1
    guard_every = 1.0

    def __init__(
        self,
        speed: float = 8000.0,
        report_every: float = 0.5,
        boot_seconds: float = 0.02,
        chatter: bool = True,
        length: float | None = None,
    ) -> None:
        super().__init__()
        self.speed = speed
        self.report_every = report_every
        self.length = length
        self.position = [0.0, 0.0, 0.0]
        self.stopped = False
        self.stop_times: list[float] = []
        self.swallowed_stops = 0
        self.parameters = dict(PARAMETERS)
        self.pins: dict[int, int] = {}
        self.pin_log: list[tuple[int, int]] = []
        self.analog = {59: 200}
        self.stuck_pins: set[int] = set()
        self.moves: list[tuple[float, float, float]] = []
        self.stall_next = 0
        self.reboot_next = False
        self._written: set[int] = set()
        self._safe = False
        self._command = bytearray()
        self._q = 0
        self._last_action = self._guard_last = time.monotonic()
        self._guard_counts: dict[int, int] = {}
        self._boot_until = time.monotonic() + boot_seconds
        self._chatter = chatter

    @property
    def confirmed(self) -> bool:
        """Whether the parameters were confirmed since the start."""
        return self.parameters[2] == 1

    def reply(self, text: str) -> None:
        self.say(f"{text} Q{self._q}")

    def step(self) -> None:
        if self._chatter:
            if time.monotonic() < self._boot_until:
                self.input.clear()  # the boot loader takes what comes before the firmware runs
                return
            self._chatter = False
            self._boot()
        if self.input:
            self._last_action = time.monotonic()
            self._take(self.input.pop(0))
        if self.stopped and not self._safe:
            self._go_safe()
        self._safe = self.stopped
        if time.monotonic() - self._guard_last >= self.guard_every:
            self._guard_last += self.guard_every
            self._guard_pins()
        if time.monotonic() - self._last_action > self.report_every:
            self._last_action = time.monotonic()
            self._report()

    cycle = 0.0005

    def _boot(self) -> None:
        for text in ("Serial connection started", "Set input/output", "Read parameters"):
            self.say(f"R99 {text}")
        for number, value in self.parameters.items():
            self.reply(f"R21 P{number} V{value}")
        for text in ("Load movement settings", "Start interrupt", "ARDUINO STARTUP COMPLETE"):
            self.say(f"R99 {text}")

    def _report(self) -> None:
        self.reply("R87" if self.stopped else "R00")
        self._say_position()
        self.reply("R84 X0.00 Y0.00 Z0.00")
        self.reply("R85 X0 Y0 Z0")
        self._say_end_stops()
        if not self.confirmed:
            self.reply("R88")

    def _take(self, byte: int) -> None:
        if byte in b"eE":
            self._stop()
        elif byte == 10:
            text, self._command = self._command.decode("latin-1"), bytearray()
            if text:
                self.say(f"R08 *{text}*")
                self._execute(text)
        else:
            self._command.append(byte)

    def _stop(self) -> None:
        self.stopped = True
        self.stop_times.append(time.monotonic())

    def _go_safe(self) -> None:
        for pin in sorted(self._written):
            self.say(f"R99 resetting digital pin{pin}")
            self._write_pin(pin, 0)
            self.reply(f"R41 P{pin} V{self.pins.get(pin, 0)}")
        self._written.clear()

    def _execute(self, text: str) -> None:
        code, *words = text.split() or [""]
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
        for attempt in range(3):
            if attempt:
                self.reply("R07")
            error = self._carry_out(code, values)
            if error in (0, 2) or self.stopped:
                break
        self._throw_away()
        self.reply("R02" if error == 0 else f"R03 V{error}")
        self._q = 0

    def _throw_away(self) -> None:
        self.listen()
        self.swallowed_stops += sum(byte in b"eE" for byte in self.input)
        self.input.clear()

    def _carry_out(self, code: str, values: dict[str, float]) -> int:
        pin, level = int(values.get("P", 0)), int(values.get("V", 0))
        match code:
            case "F09":
                self.stopped = False
            case "F22":
                self.parameters[pin] = level
                self.reply(f"R21 P{pin} V{level}")
            case "F41":
                if 0 < pin <= 52:
                    self._written.add(pin)
                    self._write_pin(pin, level)
            case "F42":
                self.reply(f"R41 P{pin} V{self.analog.get(pin, self.pins.get(pin, 0))}")
            case "F81":
                self._say_end_stops()
            case "F82":
                self._say_position()
            case "F83":
                self.reply("R83 6.6.0.R.genesisK12")
            case "G00":
                return self._move([values.get(axis, 0.0) for axis in "XYZ"])
            case "G28":
                x, y, _ = self.position
                errors = [self._move(target) for target in ([x, y, 0.0], [x, 0.0, 0.0], [0.0, 0.0, 0.0])]
                return errors[-1]
        return 0

    def _guard_pins(self) -> None:
        for first in (201, 205, 211, 215, 221):
            pin, seconds, level = (self.parameters.get(first + n, 0) for n in range(3))
            if pin and self.pins.get(pin, 0) == level:
                self._guard_counts[pin] = self._guard_counts.get(pin, 0) + 1
                if self._guard_counts[pin] >= seconds:
                    self._write_pin(pin, 1 - level)
                    self.reply(f"R41 P{pin} V{self.pins[pin]}")
            elif pin:
                self._guard_counts[pin] = 0

    def _write_pin(self, pin: int, level: int) -> None:
        if pin not in self.stuck_pins or level:
            self.pins[pin] = level
        self.pin_log.append((pin, level))

    def _move(self, target: list[float]) -> int:
        self.moves.append((target[0], target[1], target[2]))
        for index, code in enumerate(("R15 X", "R16 Y")):
            if self.length is not None and abs(target[index]) > self.length:
                target[index] = self.length
                self.reply(f"{code}{target[index]:.0f}")
        self._say_end_stops()
        for axis in "XYZ":
            self.reply(f"R05 {axis}1")
        self._pause()
        error = self._travel(target)
        self.say("R99 stopped")
        self._pause()
        self._say_end_stops()
        self._say_position()
        self.reply("R84 X0.00 Y0.00 Z0.00")
        self.reply("R85 X0 Y0 Z0")
        self._pause()
        self.say(f"R99 error {error}")
        return error

    def _pause(self) -> None:
        """The motors are switched on or off, and no input is read; what comes is kept by the interrupt."""
        end = time.monotonic() + self.motor_seconds
        while time.monotonic() < end:
            self.listen()
            time.sleep(0.002)

    def _travel(self, target: list[float]) -> int:
        if self.stopped:
            return 1
        if self.stall_next:
            self.stall_next -= 1
            self.say("R99 deactivate motor X due to missed steps")
            return 3
        start, began = list(self.position), time.monotonic()
        away = max(abs(b - a) for a, b in zip(start, target, strict=True))
        seconds, said, busy = away / self.speed, began, True
        while (gone := time.monotonic() - began) < seconds:
            self.listen()
            if self.reboot_next:
                self.reboot_next, self.parameters[2], self.stopped = False, 0, False
                self._boot()
                return 0
            if self.input and self.input.pop(0) in b"eE":
                self._stop()
                self.reply("R87")
                self.say("R99 emergency stop")
                return 1
            self.position = [a + (b - a) * gone / seconds for a, b in zip(start, target, strict=True)]
            if time.monotonic() - said > 0.05:
                said, busy = time.monotonic(), not busy
                if busy:
                    self.reply("R04")
                else:
                    self._say_position()
            time.sleep(0.0005)
        self.position = list(target)
        return 0

    def _say_position(self) -> None:
        x, y, z = self.position
        self.reply(f"R82 X{x:.2f} Y{y:.2f} Z{z:.2f}")

    def _say_end_stops(self) -> None:
        self.reply("R81 XA0 XB0 YA0 YB0 ZA0 ZB0")
