"""The pins of the rover's board, as its firmware drives and reads them, and the lines that carry them."""

from __future__ import annotations

from dataclasses import dataclass, field

STEP_S = 0.005
"""Emulated time between two exchanges of pins, s."""
DUTY_MAX = 1023
WHEEL_FULL_SPEED = 1.5
"""m/s at full duty."""
TICKS_PER_M = 500
TRACK = 0.5
"""m between the wheels."""
PULSES_PER_L = 450
"""Pulses of the flow meter (YF-S201: 7.5 Hz at 1 L/min)."""
MOISTURE_MV = 10_000
"""Millivolts of a moisture probe at 1 m3/m3."""
BATTERY_MV = 5_000
"""Millivolts of the battery's divider when it is full."""
SCANNER_MV = 250
"""Millivolts of the scanner for people at a distance of 1 m."""
TURN_MV = 5_000
"""Millivolts of its bearing over a turn: 0 is straight back, rising to the left."""

PUMP, SPRAYER, PICKER, GATE, WATER_VALVE, PESTICIDE_VALVE, CHARGER, ENABLE = (1 << bit for bit in range(8))
"""Bits of port A."""
WATER_LOW, PESTICIDE_LOW, HOPPER_FULL, PERSON_SEEN = (1 << bit for bit in range(4, 8))
"""Bits of port C."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of the firmware at `ms`: duty of both wheels, -DUTY_MAX to DUTY_MAX, port A, lamp (1: lit)."""

    ms: int = 0
    left: int = 0
    right: int = 0
    port_a: int = 0
    lamp: int = 0

    @classmethod
    def parse(cls, line: str) -> Outputs:
        """Parse the emulator's line `out MS LEFT RIGHT PORTA LAMP`."""
        word, *numbers = line.split()
        if word != "out" or len(numbers) != 5:
            raise ValueError(f"not a line of the emulator: {line!r}")
        return cls(*map(int, numbers))

    @property
    def moving(self) -> bool:
        """Whether a wheel is driven."""
        return bool(self.port_a & ENABLE) and (self.left != 0 or self.right != 0)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of the firmware in the next step: pulses, switches, the camera, stop (1: open), millivolts."""

    ticks_left: int = 0
    ticks_right: int = 0
    flow_pulses: int = 0
    port_c: int = 0
    port_l: int = 0
    stop: int = 0
    millivolts: tuple[int, ...] = field(default=(0, 0, 0, 0, BATTERY_MV, 0, 0))

    def line(self) -> str:
        """Format the emulator's line `in ...`."""
        counts = (self.ticks_left, self.ticks_right, self.flow_pulses, self.port_c, self.port_l)
        return "in " + " ".join(map(str, (*counts, self.stop, *self.millivolts))) + "\n"
