"""The rig itself: a valve, a soil probe, a stop button and a lamp. Write this part for your own hardware."""

import time

from machine import ADC, Pin
from rig import Refusal, Rig
from stop_input import StopInput

valve = Pin(5, Pin.OUT, value=0)
probe = ADC(Pin(26))
WET = 32768
STOP_PIN, STOP_LEVEL = 14, 1  # a contact to ground that opens; without a button, wire the pin to ground
lamp = Pin(15, Pin.OUT, value=0)


def safe():
    """Nothing flows. Called on every stop, so it must always work."""
    valve.value(0)


def read_soil():
    """A read: nothing changes, and the answer comes at once."""
    return {"soil": "wet" if probe.read_u16() >= WET else "dry"}


def open_valve(seconds):
    """The interlock first; then a generator, since watering takes its time."""
    if probe.read_u16() >= WET:
        raise Refusal("soil_wet", "The soil is wet already. Do not water.")
    return watering(seconds)


def watering(seconds):
    """The valve is shut on every way out, a stop included."""
    start = time.ticks_ms()
    valve.value(1)
    try:
        while time.ticks_diff(time.ticks_ms(), start) < 1000 * seconds:
            yield
    finally:
        valve.value(0)
    return {"seconds": seconds}


TOOLS = {"read_soil": (read_soil, {}), "open_valve": (open_valve, {"seconds": (float, 0.1, 60)})}


def make_rig(send, **limits):
    """The rig; `send` takes its messages to the host."""
    button = StopInput(STOP_PIN, safe, STOP_LEVEL)
    return Rig("garden_valve", TOOLS, safe, send, stop_input=button, lamp=lamp, **limits)
