"""What the soil column infers from rain and a wet/dry word: a particle filter over `SoilColumn`.

Each particle is a column with a texture, hydraulic factors within the ranges of the world's hidden
parameters, an evapotranspiration and a start moisture, all drawn. Between two readings it takes up the
measured rain. The root zone then receives noise (what the equations leave out), and the word weights the
particles. The measured moisture is never shown to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.real_data.station import Floats
from devices.farm_rover.world import Hidden, Plant, Soil
from devices.hidden import hidden_parameters
from sims.farm_rover.soil import SoilColumn

AREA = 1.0
"""Of a column, m2: a litre is a millimetre."""
STORAGE_MM = 5.0
"""Water that stands on an open field before it runs off: depression storage of lawns, SWMM 5."""
EVAPOTRANSPIRATION = (0.5, 8.0)
"""Range of a season's mean, mm/day: from sparse desert shrubs to an irrigated crop in summer."""
NOISE_PER_DAY = 0.01
"""Standard deviation of the root zone's noise in a day, m3/m3."""
DISCREPANCY = 0.02
"""Standard deviation of a probe at one place about the column, m3/m3."""
CORRELATION_S = 86400.0
"""Words nearer together than this share one discrepancy, so each counts in part."""
LEAST_EFFECTIVE = 0.5
"""Share of effective particles below which they are resampled."""
RENEWED = 0.1
"""Share of the resampled particles whose soil is drawn anew, so that the soils do not die out."""
SECONDS_PER_DAY = 86400.0
HIDDEN = {parameter.name: parameter for parameter in hidden_parameters(Hidden)}


@dataclass(frozen=True)
class Threshold:
    """A wet/dry sensor: wet from `level` on, dry below `level - hysteresis`; as `sims.coarse_sensors`."""

    level: float
    hysteresis: float

    def words(self, moisture: Floats) -> list[bool | None]:
        """Return what it says of each reading: True for wet, None where nothing was measured."""
        wet, said = False, list[bool | None]()
        for value in moisture.tolist():
            if math.isnan(value):
                said.append(None)
                continue
            wet = value >= (self.level - self.hysteresis if wet else self.level)
            said.append(wet)
        return said


@dataclass(frozen=True)
class Prediction:
    """Particles over time.

    Attributes:
        moisture: of the root zone by interval and particle, m3/m3, at its end.
        probe: what a probe there would measure: with the discrepancy.
        weights: given the words up to the interval's end; each interval's add up to 1.
    """

    moisture: Floats
    probe: Floats
    weights: Floats

    def mean(self) -> Floats:
        """Return the expected moisture by interval."""
        return np.asarray((self.moisture * self.weights).sum(axis=1))

    def quantile(self, share: float) -> Floats:
        """Return a quantile of what a probe measures, by interval."""
        order = np.argsort(self.probe, axis=1)
        cumulative = np.cumsum(np.take_along_axis(self.weights, order, axis=1), axis=1)
        first = np.argmax(cumulative >= share - 1e-12, axis=1)
        chosen = np.take_along_axis(order, first[:, None], axis=1)
        return np.asarray(np.take_along_axis(self.probe, chosen, axis=1)[:, 0])


def predict(
    rain: Floats,
    seconds: Sequence[float],
    words: Sequence[bool | None] | None,
    threshold: Threshold,
    *,
    depth: float,
    textures: Sequence[str],
    particles: int,
    seed: int,
) -> Prediction:
    """Filter.

    Args:
        rain: in each interval, mm; nan counts as none.
        seconds: length of each interval.
        words: at its end; None for rain alone.
        threshold: of the sensor that says them.
        depth: of the root zone, m.
        textures: of which each particle has one.
        particles: number.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    columns = [_drawn(rng, depth, textures) for _ in range(particles)]
    logs = np.zeros(particles)
    moistures, probes, weights = [], [], []
    for index, (fallen, length) in enumerate(zip(np.nan_to_num(rain), seconds, strict=True)):
        for column in columns:
            column.advance(length, fallen * AREA / length)
        _disturb(columns, rng, NOISE_PER_DAY * math.sqrt(length / SECONDS_PER_DAY))
        now = np.array([column.moisture for column in columns])
        word = words[index] if words is not None else None
        if word is not None:
            logs += _log_likelihood(now, word, threshold) * min(1.0, length / CORRELATION_S)
        share = np.exp(logs - logs.max())
        share /= share.sum()
        moistures.append(now)
        probes.append(now + rng.normal(0.0, DISCREPANCY, particles))
        weights.append(share)
        if 1.0 / np.sum(share**2) < LEAST_EFFECTIVE * particles:
            columns = [columns[one].copy() for one in _systematic(share, rng)]
            for one in np.flatnonzero(rng.random(particles) < RENEWED).tolist():
                columns[one] = _column(_soil(rng, depth, textures), columns[one].moisture)
            logs[:] = 0.0
    return Prediction(np.array(moistures), np.array(probes), np.array(weights))


def by_word_alone(
    words: Sequence[bool | None], threshold: Threshold, textures: Sequence[str], draws: int, seed: int
) -> Prediction:
    """Return what the words say without rain and without a column: the start's distribution, cut off."""
    rng = np.random.default_rng(seed)
    any_soil = np.array([_start(rng, _soil(rng, 1.0, textures)) for _ in range(draws)])
    of_word = {
        None: np.ones(draws),
        True: (any_soil >= threshold.level - threshold.hysteresis).astype(float),
        False: (any_soil < threshold.level).astype(float),
    }
    weights = np.array([of_word[word] / of_word[word].sum() for word in words])
    moisture = np.broadcast_to(any_soil, weights.shape)
    return Prediction(moisture, moisture, weights)


def _drawn(rng: np.random.Generator, depth: float, textures: Sequence[str]) -> SoilColumn:
    """Draw a column."""
    soil = _soil(rng, depth, textures)
    return _column(soil, _start(rng, soil))


def _column(soil: Soil, moisture: float) -> SoilColumn:
    """Return a column with that much water, without any on it."""
    return SoilColumn.under(Plant(x=0.0, y=0.0, moisture=min(moisture, soil.saturation)), soil)


def _start(rng: np.random.Generator, soil: Soil) -> float:
    """Draw a moisture before anything is known of it."""
    return float(rng.uniform(soil.wilting_point, soil.saturation))


def _soil(rng: np.random.Generator, depth: float, textures: Sequence[str]) -> Soil:
    """Draw a soil."""
    nominal = Soil.model_validate(
        {
            "texture": textures[int(rng.integers(len(textures)))],
            "area": AREA,
            "root_depth": depth,
            "rim_mm": STORAGE_MM,
            "depletion_fraction": 0.5,
            "evapotranspiration": rng.uniform(*EVAPOTRANSPIRATION),
            "pond_limit_mm": STORAGE_MM,
            "leaching_limit_liters": 0.0,
            "runoff_limit_liters": 0.0,
        }
    )
    return nominal.model_copy(
        update={
            "conductivity_mm_h": nominal.conductivity_mm_h * HIDDEN["infiltration"].at(rng.random()),
            "drainage_s": nominal.drainage_s / HIDDEN["drainage"].at(rng.random()),
        }
    )


def _disturb(columns: Sequence[SoilColumn], rng: np.random.Generator, spread: float) -> None:
    """Add the noise of an interval to each root zone, within its pores."""
    for column, step in zip(columns, rng.normal(0.0, spread, len(columns)).tolist(), strict=True):
        column.root = min(max(column.root + step * column.volume, 0.0), column.saturation)


def _log_likelihood(moisture: Floats, word: bool, threshold: Threshold) -> Floats:
    """Return the log-probability of the word under each moisture, with the probe's discrepancy."""
    level = threshold.level - threshold.hysteresis if word else threshold.level
    sign = 1.0 if word else -1.0
    z = sign * (moisture - level) / (DISCREPANCY * math.sqrt(2.0))
    return np.array([math.log(max(0.5 * math.erfc(-one), 1e-12)) for one in z.tolist()])


def _systematic(share: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Resample: return the indices of the particles that go on."""
    count = len(share)
    marks = (rng.random() + np.arange(count)) / count
    return np.minimum(np.searchsorted(np.cumsum(share), marks), count - 1)
