"""The soil column on measured soil moisture: `python benchmarks/real_soil.py FILE...`.

What does the farm's soil column say of the moisture, given rain and the word (wet or dry) of a coarse sensor?
Each station's measured moisture is turned into the word that the rover's sensor would say, and is then held
back: a particle filter over the column gets rain and words alone. Its expected moisture and its intervals are
compared with what was measured, beside those of the rain alone and those of the word alone (no column).

FILE: USCRN text (`CRNH0203-*.txt`, `CRND0103-*.txt`), plain CSV, or all `.stm` files of one ISMN station.
docs/results/2026-11-22-real-soil.md says where to get them, and what the filter assumes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.real_data.ismn import GOOD, read_ismn
from benchmarks.real_data.plain_csv import read_csv
from benchmarks.real_data.soil_filter import Prediction, Threshold, by_word_alone, predict
from benchmarks.real_data.station import DataError, Floats, Station
from benchmarks.real_data.uscrn import read_uscrn
from configs.worlds_loader import load_world
from devices.farm_rover.soil_texture import TEXTURES
from devices.farm_rover.world import FarmWorld

PREDICTORS = ("rain", "word", "both")
DRAWS_WORD_ALONE = 2000


@dataclass(frozen=True)
class Score:
    """A prediction against the measured moisture.

    Attributes:
        squared: mean squared error.
        bias: mean of prediction less measurement, m3/m3.
        covered50, covered90: share of the measurements within the middle 50 % and 90 %.
        width90: mean width of the latter, m3/m3.
    """

    squared: float
    bias: float
    covered50: float
    covered90: float
    width90: float

    @classmethod
    def of(cls, prediction: Prediction, measured: Floats) -> Score:
        """Compare where there is a measurement."""
        known = ~np.isnan(measured)
        truth = measured[known]
        low90, low50, high50, high90 = (prediction.quantile(q)[known] for q in (0.05, 0.25, 0.75, 0.95))
        error = prediction.mean()[known] - truth
        return cls(
            float(np.mean(error**2)),
            float(np.mean(error)),
            float(np.mean((truth >= low50) & (truth <= high50))),
            float(np.mean((truth >= low90) & (truth <= high90))),
            float(np.mean(high90 - low90)),
        )


@dataclass(frozen=True)
class Judged:
    """A station.

    Attributes:
        readings: number of measurements.
        wet: share of them that the sensor calls wet.
        changes: of its word.
        rain_missing: intervals without a valid rain reading, taken as dry.
        scores: by predictor.
    """

    station: str
    readings: int
    wet: float
    changes: int
    rain_missing: int
    scores: dict[str, Score]


def judge(
    station: Station,
    threshold: Threshold,
    depth: float,
    textures: Sequence[str],
    particles: int,
    seed: int,
) -> Judged:
    """Predict the held-back moisture of a station from its rain and its words."""
    measured = station.root_zone(depth)
    words = threshold.words(measured)
    said = [word for word in words if word is not None]
    if len(station.times) < 2 or not said:
        raise DataError(f"{station.name}: no valid moisture in the chosen time")
    steps = [(after - before).total_seconds() for before, after in pairwise(station.times)]
    if min(steps) <= 0.0:
        raise DataError(f"{station.name}: the times do not ascend")
    seconds = [steps[0], *steps]

    def filtered(heard: Sequence[bool | None] | None) -> Prediction:
        return predict(
            station.rain,
            seconds,
            heard,
            threshold,
            depth=depth,
            textures=textures,
            particles=particles,
            seed=seed,
        )

    predictions = {
        "rain": filtered(None),
        "word": by_word_alone(words, threshold, textures, DRAWS_WORD_ALONE, seed),
        "both": filtered(words),
    }
    return Judged(
        station.name,
        len(said),
        sum(said) / len(said),
        sum(one != two for one, two in pairwise(said)),
        int(np.isnan(station.rain).sum()),
        {name: Score.of(prediction, measured) for name, prediction in predictions.items()},
    )


def table(judged: Sequence[Judged]) -> str:
    """Return the stations, and all readings together."""
    lines = [
        f"{'':18}{'':>6}{'':>5}{'word':>8}{'RMSE, m3/m3':>20}{'in 90 % interval':>23}",
        f"{'station':18}{'n':>6}{'wet':>5}{'changes':>8}"
        + "".join(f"{name:>{width}}" for width in (8, 6) for name in PREDICTORS),
    ]
    rows = [(one.station[-18:], one.readings, one.wet, one.changes, one.scores) for one in judged]
    if len(judged) > 1:
        counts = np.array([one.readings for one in judged], float)
        pooled = {
            name: Score(
                *(
                    float(np.average(values, weights=counts))
                    for values in zip(*(asdict(one.scores[name]).values() for one in judged), strict=True)
                )
            )
            for name in PREDICTORS
        }
        wet = float(np.average([one.wet for one in judged], weights=counts))
        rows.append(("all", int(counts.sum()), wet, sum(one.changes for one in judged), pooled))
    for name, readings, wet, changes, scores in rows:
        errors = "".join(f"{scores[one].squared ** 0.5:>8.3f}" for one in PREDICTORS)
        covered = "".join(f"{scores[one].covered90:>6.0%}" for one in PREDICTORS)
        lines.append(f"{name:18}{readings:>6}{wet:>5.0%}{changes:>8}{errors}{covered}")
    lines.append("")
    for one in PREDICTORS:
        score = rows[-1][-1][one]
        lines.append(
            f"{rows[-1][0]}, {one:4}: bias {score.bias:+.3f}, in 50 % interval {score.covered50:.0%}, "
            f"90 % interval is {score.width90:.3f} wide"
        )
    return "\n".join(lines)


def stations_of(paths: Sequence[Path], accept: frozenset[str]) -> list[Station]:
    """Read the stations; all `.stm` files are one."""
    parts = [path for path in paths if path.suffix == ".stm"]
    whole = [path for path in paths if path.suffix != ".stm"]
    read = [read_csv(path) if path.suffix == ".csv" else read_uscrn(path) for path in whole]
    return [*read, *([read_ismn(parts, accept)] if parts else [])]


def main() -> int:
    world = load_world("farm_rover").state
    assert isinstance(world, FarmWorld)
    sensor = world.sensors.moisture
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--threshold", type=float, default=sensor.threshold, help="wet from here on, m3/m3")
    parser.add_argument("--hysteresis", type=float, default=sensor.hysteresis, help="m3/m3")
    parser.add_argument("--depth", type=float, default=world.soil.root_depth, help="of the root zone, m")
    parser.add_argument("--texture", choices=TEXTURES, help="of the soil; unknown otherwise")
    parser.add_argument("--from", dest="start", type=datetime.fromisoformat, metavar="DATE")
    parser.add_argument("--to", dest="end", type=datetime.fromisoformat, metavar="DATE", help="exclusive")
    parser.add_argument("--particles", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--accept", default=",".join(sorted(GOOD)), help="ISMN quality flags (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    textures = [options.texture] if options.texture else list(TEXTURES)
    threshold = Threshold(options.threshold, options.hysteresis)
    try:
        judged = [
            judge(
                station.between(options.start, options.end),
                threshold,
                options.depth,
                textures,
                options.particles,
                options.seed,
            )
            for station in stations_of(options.files, frozenset(options.accept.split(",")))
        ]
    except (DataError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(
        f"word: wet from {threshold.level:g} m3/m3 on, dry below {threshold.level - threshold.hysteresis:g}; "
        f"mean of the probes down to {options.depth:g} m\n"
        f"texture: {options.texture or 'unknown'}; {options.particles} particles, seed {options.seed}\n"
    )
    print(table(judged))
    missing = sum(one.rain_missing for one in judged)
    if missing:
        print(f"rain was missing in {missing} intervals, taken as dry")
    if options.json:
        text = json.dumps([asdict(one) for one in judged], indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
