"""What the sensors of a cheap arm would have said of a cobot's recorded signals.

Each set is a list of columns over the rows of a recording. `words` is what every arm of the kit reports; the
others add one kind of part of `configs/sensors/robotic_arm.yaml`.
"""

from __future__ import annotations

import numpy as np

from benchmarks.real_data.cobot import CURRENTS, SIGNALS, SPEEDS, TOOL, Recording
from benchmarks.real_data.station import Floats

MOVING = 0.02
"""Speed of a joint from which on the arm is not at its pose, rad/s."""
GRIPPING_A = 0.3
"""Tool current from which on a gripper's switch says closed, A: the recording's median is 0.09 A, its 99th
percentile 0.50 A."""
STEP_A = 0.5
"""Step of a cheap current sensor, A."""


def sensor_sets(recording: Recording) -> dict[str, Floats]:
    """Return the columns of each set, from coarse to fine, by its name."""
    signals = recording.signals
    speeds = np.abs(np.column_stack([signals[name] for name in SPEEDS]))
    currents = np.column_stack([signals[name] for name in CURRENTS])
    tool = signals[TOOL]
    words = np.column_stack([(speeds.max(axis=1) >= MOVING), np.abs(tool) >= GRIPPING_A]).astype(float)
    total = np.abs(currents).sum(axis=1, keepdims=True)
    return {
        "words": words,
        "words, supply": np.column_stack([words, np.round(total / STEP_A) * STEP_A]),
        "words, joints": np.column_stack([words, np.round(currents / STEP_A) * STEP_A]),
        "fine": np.column_stack([signals[name] for name in SIGNALS]),
    }
