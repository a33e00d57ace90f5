"""The greenhouse box's microcontroller on a pty: it reads lines, and stops at the byte `!`."""

from __future__ import annotations

from standins.pty_board import PtyBoard

STOP = ord("!")


class LineBox(PtyBoard):
    """Vent, heater and lamp; the thermometer shows `degrees`."""

    def __init__(self) -> None:
        super().__init__()
        self.vent, self.heater, self.lamp = "SHUT", "OFF", "OFF"
        self.degrees = 18.5
        self.commands: list[str] = []

    def byte_came(self, byte: int) -> bool:
        if byte != STOP:
            return True
        self.heater = self.lamp = "OFF"
        return False

    def step(self) -> None:
        while b"\n" in self.input:
            line, _, rest = bytes(self.input).partition(b"\n")
            self.input[:] = rest
            self._command(line.decode().strip())

    def _command(self, line: str) -> None:
        match line.split():
            case ["STATE?"]:
                self.say(f"STATE VENT {self.vent} HEAT {self.heater}")
                return
            case ["TEMP?"]:
                self.say(f"TEMP {self.degrees}")
                return
            case ["VENT", "OPEN" | "SHUT" as state]:
                self.vent = state
            case ["HEAT", "ON" | "OFF" as state]:
                self.heater = state
            case ["LAMP", "ON" | "OFF" as state]:
                self.lamp = state
            case _:
                self.say("ERR unknown")
                return
        self.commands.append(line)
        self.say("OK")
