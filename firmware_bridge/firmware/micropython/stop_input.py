"""A stop button: a contact from a pin to ground, closed until it is pressed, so that a cut cable stops."""

import os
import time

from machine import Pin

MARK = "stop_input.pressed"  # this file keeps a press over a reset and a power cut
RELEASED_MS = 50


class StopInput:
    """`safe` is called in the interrupt; `pressed` is the pin's level then: 0 for a contact that closes.

    A press is latched until `forget`, which does nothing before the contact has been at rest for RELEASED_MS.
    """

    def __init__(self, pin, safe, pressed=1):
        self.pin, self.safe, self.level = Pin(pin, Pin.IN, Pin.PULL_UP), safe, pressed
        self.latched = self.kept = MARK in os.listdir()  # noqa: PTH208
        self.moved = time.ticks_ms()
        self.pin.irq(self.press, Pin.IRQ_RISING if pressed else Pin.IRQ_FALLING)

    def press(self, _pin):
        """The contact has moved, whatever it says by now."""
        self.safe()
        self.latched, self.moved = True, time.ticks_ms()

    def look(self):
        """Once a turn: a press from before the start, or whose edge was lost; what is slow is done here."""
        if self.pin.value() == self.level:
            if not self.latched:
                self.press(self.pin)
            self.moved = time.ticks_ms()
        if self.latched and not self.kept:
            self.kept = True
            open(MARK, "w").close()  # noqa: PTH123

    def state(self):
        """`released`, `pressed`, or `latched`: it was pressed, and a person has not reset it."""
        if not self.latched:
            return "released"
        return "pressed" if time.ticks_diff(time.ticks_ms(), self.moved) < RELEASED_MS else "latched"

    def forget(self):
        """A person resets it."""
        if self.state() == "latched":
            self.latched = False
            if self.kept:
                self.kept = False
                os.remove(MARK)  # noqa: PTH107
