"""Marlin, the firmware of 3D printers, as an XYZ gantry with a gripper.

Each command has a line number and a checksum; `Resend` asks for it again. The stop is a line `M410` without
a number, which Marlin obeys when it reads it, in the midst of a move (its sources: gcode/queue.cpp, `M410`
among the "critical commands", and feature/e_parser.h). Its own `ok` follows, so afterwards an echo (`M118`)
tells which `ok` is whose.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from devices.drivers.tool_driver import DriverFault, Stopped, xor_of
from devices.outcome import Refusal
from firmware_bridge.drivers.gripper import GripperDriver, Pose
from firmware_bridge.serial.line_port import LinePort

RESENDS = 5
QUIET_SECONDS = 0.1
TOLERANCE, ARRIVED = 0.01, 0.5
"""Of limits, and of a position that was reached, mm."""
POSITION = r"X:\s*(-?[\d.]+) Y:\s*(-?[\d.]+) Z:\s*(-?[\d.]+).*?Count X:\s*(-?\d+) Y:\s*(-?\d+) Z:\s*(-?\d+)"


class Marlin(GripperDriver):
    """Lengths of the driver file's options are mm of the machine; of the tables and tools m of the bench."""

    _syncs = 0

    def connect(self) -> None:
        """Open the port, which resets most boards, and wait for an answer."""
        self._port = LinePort(self.url, self.options["answer_seconds"])
        deadline = time.monotonic() + self.options["boot_seconds"]
        while True:
            try:
                self._sync()
                break
            except TimeoutError:
                if time.monotonic() > deadline:
                    raise
        answers = self._command("M115")
        found = re.search(r"FIRMWARE_NAME:(.*?)(?: [A-Z_]+:|$)", " ".join(answers))
        self.firmware = found[1] if found else "Marlin"
        self._command("G21")
        self._command("G90")

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def stop(self) -> None:
        """Stop the steppers; whoever waits for an answer meanwhile gets it."""
        self._port.send("M410")
        self.locked = True

    def standing(self) -> bool:
        """Whether the steppers' counts stay the same."""
        with self.talking:
            self._sync()
            before = self._position()[3:]
            time.sleep(QUIET_SECONDS)
            return self._position()[3:] == before

    def poll(self) -> None:
        """Read the position."""
        self.where()

    def _sync(self) -> None:
        """Begin the line numbers anew, and drop what was answered to earlier lines."""
        with self.talking:
            self._syncs += 1
            self._port.send("M110 N0")
            self._number = 0
            self._port.ask(f"M118 sync{self._syncs}", f"sync{self._syncs}$")
            self._port.expect("^ok", "M118")

    def _send(self, text: str, *, moves: bool) -> None:
        """Send a line. Where the stop, which waits for none, went out just before a move, it follows again.

        Raises:
            Stopped: it did.
        """
        self._port.send(text)
        if moves and self.stopping:
            self._port.send("M410")
            # A move that still waited in the queue has begun when the echo comes.
            self._sync()
            self._port.send("M410")
            raise Stopped

    def _command(self, line: str, *, moves: bool = False) -> list[str]:
        """Send a numbered line, and return what came before its `ok`. Raises Stopped."""
        with self.talking:
            self._number += 1
            numbered = f"N{self._number} {line}"
            text = f"{numbered}*{xor_of(numbered.encode())}"
            answers: list[str] = []
            self._send(text, moves=moves)
            sent, resends = self._number, 0
            deadline = time.monotonic() + self.options["answer_seconds"]
            while (left := deadline - time.monotonic()) > 0:
                answer = self._port.read(left)
                if answer is None:
                    break
                if answer.startswith("ok"):
                    return answers
                if found := re.match(r"(?:Resend|rs):?\s*N?(\d+)", answer):
                    resends += 1
                    if int(found[1]) != sent or resends > RESENDS:
                        raise DriverFault("bad_line", f"The machine asks for line {found[1]}, not {sent}.")
                    while self._port.read(QUIET_SECONDS) is not None:
                        # Some versions add an `ok`.
                        pass
                    self._send(text, moves=moves)
                elif answer.startswith("start"):
                    raise DriverFault("device_reset", "The machine started anew in the middle of the call.")
                elif "halted" in answer or "kill()" in answer:
                    raise DriverFault("halted", "The machine has halted itself. Switch it off and on.")
                elif answer.startswith("echo:busy"):
                    deadline = time.monotonic() + self.options["answer_seconds"]
                answers.append(answer)
            raise TimeoutError(f"no ok to {line}")

    def _position(self) -> Sequence[float]:
        found = re.search(POSITION, " ".join(self._command("M114")))
        if found is None:
            raise TimeoutError("no position in the answer to M114")
        return [float(number) for number in found.groups()]

    def where(self) -> dict[str, float]:
        """Return the position that Marlin states, in metres of the bench."""
        options = self.options
        found = self._position()
        pose = {"yaw": 0.0}
        for axis, value in zip("xyz", found, strict=False):
            self.sample(f"position.{axis}", round(value, 1))
            pose[axis] = round((value - options[f"origin_{axis}"]) / options["mm_per_metre"], 4)
        return pose

    def pose_of(self, place: Pose) -> Pose:
        """The gripper does not turn."""
        return {axis: place[axis] for axis in ("x", "y", "z")}

    def go(self, pose: Pose) -> None:
        """Move, and wait until it has arrived: `M400` answers then."""
        options, there = self.options, self.where()
        if pose.get("yaw"):
            raise Refusal("out_of_range", "The gripper cannot turn: give yaw 0.")
        target = {axis: options[f"origin_{axis}"] + pose[axis] * options["mm_per_metre"] for axis in "xyz"}
        for axis, value in target.items():
            if not -TOLERANCE <= value <= options[f"length_{axis}"] + TOLERANCE:
                raise Refusal("out_of_range", f"{axis} is beyond the machine's travel.")
        words = " ".join(f"{axis.upper()}{value:.3f}" for axis, value in target.items())
        with self.acting():
            self._command(f"G1 {words} F{options['feed']:g}", moves=True)
            self._arrive()
        there = self.where()
        self.pause(0)
        if any(abs(there[axis] - pose[axis]) * options["mm_per_metre"] > ARRIVED for axis in "xyz"):
            raise DriverFault("target_changed", "The machine stopped somewhere else. Is it at its limit?")

    def _arrive(self) -> None:
        """Wait for the end of all motion; Marlin says that it is busy each 2 s."""
        self._command("M400")

    def home(self) -> dict[str, float]:
        """Home by the switches if the machine has them, and go to the rest pose."""
        self.unlocked()
        if self.options["homing"]:
            with self.acting():
                self._command("G28", moves=True)
        return dict(super().home())

    def grip(self, close: bool) -> bool:
        """Drive the gripper's servo; nothing senses what it holds."""
        with self.acting():
            self._command(self.options["close_command" if close else "open_command"])
        self.pause(self.options["grip_seconds"])
        return close
