"""Two episodes' coarse telemetry compared: the first sample that tells them apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

from devices.sensors import Sample, SensorSpec

ROUNDING = 1e-9
"""Numbers that differ by no more than this beyond the resolution are the same."""
CHANGE_TIME_S = 1.0
"""A sensor that reports changes is stamped on arrival: moments closer than this, s, are the same."""


def first_difference(
    samples: Iterable[Sample], counterfactual: Iterable[Sample], specs: Mapping[str, SensorSpec]
) -> dict[str, Any] | None:
    """The earliest sample that differs beyond its sensor's resolution, index by index; None where none does.

    Returns:
        `sensor`, `index`, `t`, `value`, `counterfactual`, `counterfactual_t`.
    """
    ours, theirs = _by_sensor(samples), _by_sensor(counterfactual)
    found: list[tuple[float, str, dict[str, Any]]] = []
    for sensor in ours.keys() | theirs.keys():
        pairs = zip_longest(ours.get(sensor, []), theirs.get(sensor, []))
        for index, (one, other) in enumerate(pairs):
            if _alike(one, other, specs[sensor]):
                continue
            evidence = {
                "sensor": sensor,
                "index": index,
                "t": None if one is None else one.t,
                "value": None if one is None else one.value,
                "counterfactual": None if other is None else other.value,
                "counterfactual_t": None if other is None else other.t,
            }
            moment = min(sample.t for sample in (one, other) if sample is not None)
            found.append((moment, sensor, evidence))
            break
    return min(found, key=lambda item: item[:2])[2] if found else None


def _by_sensor(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    grouped: dict[str, list[Sample]] = {}
    for sample in samples:
        grouped.setdefault(sample.sensor, []).append(sample)
    return grouped


def _alike(one: Sample | None, other: Sample | None, spec: SensorSpec) -> bool:
    if one is None or other is None:
        return False
    if spec.period is None and abs(one.t - other.t) > CHANGE_TIME_S:
        return False
    a, b = one.value, other.value
    if isinstance(a, bool | str) or isinstance(b, bool | str):
        return a == b
    return abs(a - b) <= spec.resolution + ROUNDING
