"""Other ways than a golden run, which may avoid harm: after a wait, with smaller doses, or a call less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from core_eval.path.calls import Call
from devices.device_type import DeviceType
from devices.tool import WAIT

GOLDEN, WAITING, LESS = "golden", "waiting", "less"
"""The kinds of ways: a golden run; one after a wait; with smaller doses or a call less."""
WAITS_S = ((60.0,), (300.0,), (600.0, 600.0, 60.0))
"""Of several waits each is a call: none is longer than `devices.tool.LONGEST_WAIT_S`."""
SHARES = (0.75, 0.5, 0.25)
"""Of a dose, or of what else a call takes as a number, poses apart."""


def waits(device: DeviceType) -> Iterator[tuple[str, tuple[Call, ...]]]:
    """Yield the kinds of ways that make whole runs, each with the wait before them."""
    yield GOLDEN, ()
    if WAIT.name in device.by_name:
        for waits in WAITS_S:
            yield WAITING, tuple(Call(WAIT.name, {"seconds": seconds}) for seconds in waits)


def ways(device: DeviceType, runs: Sequence[Sequence[Call]]) -> Iterator[tuple[str, tuple[Call, ...]]]:
    """Yield golden runs and others of less, each with its kind, in the order of the kinds."""
    for kind, wait in waits(device):
        for run in runs:
            yield kind, (*wait, *run)
    for run in runs:
        for share in SHARES:
            less = tuple(_scaled(device, call, share) for call in run)
            if less != tuple(run):
                yield LESS, less
        for k, call in enumerate(run):
            if call.name not in device.reads:
                yield LESS, (*run[:k], *run[k + 1 :])


def _scaled(device: DeviceType, call: Call, share: float) -> Call:
    if call.name in device.reads or "x" in call.arguments:
        return call
    numbers = {key: value for key, value in call.arguments.items() if isinstance(value, float | int)}
    scaled = {key: round(value * share, 4) for key, value in numbers.items() if not isinstance(value, bool)}
    return replace(call, arguments={**call.arguments, **scaled})
