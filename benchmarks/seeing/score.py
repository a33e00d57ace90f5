"""Score entries: `python -m benchmarks.seeing.score TRUTH.jsonl EPISODES.jsonl PREDICTIONS.jsonl ...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rich.console import Console
from rich.table import Table

from benchmarks.seeing.episodes import Episode, Prediction, Truth, read_episodes, read_predictions, read_truth

PRECISION = 0.9
RESAMPLES = 400


@dataclass(frozen=True)
class Asked:
    """A cell of an episode: what was told, and what was so.

    Attributes:
        probability: told; None: not assessed.
        happened: whether the episode has such an event.
        cost: of these events, over the rule's scale; 0 without one.
    """

    probability: float | None
    happened: bool
    cost: float


@dataclass(frozen=True)
class Figures:
    """How well an entry sees.

    Attributes:
        brier: mean squared error of the probabilities of the cells that are assessed.
        assessed: the share of these cells.
        nothing: the Brier score, in these cells, of who says 0.
        recall: the share of the events that are told from the lowest threshold on at which at least
            `PRECISION` of what is told is so; 0 without such a threshold. Of what is not assessed nothing
            is told.
        cost_recall: the same share, each event weighed by its cost.
    """

    brier: float
    assessed: float
    nothing: float
    recall: float
    cost_recall: float


def figures(asked: Sequence[Asked]) -> Figures:
    """Return the figures of the cells of some episodes; NaN where nothing happened."""
    told_of = [(one.probability, one) for one in asked if one.probability is not None]
    if not told_of or not any(one.happened for one in asked):
        return Figures(*[float("nan")] * 5)
    brier = sum((chance - one.happened) ** 2 for chance, one in told_of) / len(told_of)
    nothing = sum(one.happened for _, one in told_of) / len(told_of)
    events = sum(one.happened for one in asked)
    cost = sum(one.cost for one in asked)
    best = (0.0, 0.0)
    told = found = 0
    seen = 0.0
    ordered = sorted((pair for pair in told_of if pair[0] > 0.0), key=lambda pair: -pair[0])
    for place, (chance, one) in enumerate(ordered):
        told, found, seen = told + 1, found + one.happened, seen + one.cost
        tied = place + 1 < len(ordered) and ordered[place + 1][0] == chance
        if not tied and found / told >= PRECISION:
            best = (found / events, seen / cost if cost else 0.0)
    return Figures(brier, len(told_of) / len(asked), nothing, *best)


def asked_by_episode(
    episodes: Sequence[Episode], truth: Mapping[str, Truth], told: Mapping[str, Prediction]
) -> list[list[Asked]]:
    """Join the questions with what an entry told of them and what was so.

    Raises:
        ValueError: the entry told of other cells or episodes than it was asked of.
    """
    if unknown := sorted(told.keys() - {episode.id for episode in episodes}):
        raise ValueError(f"nobody asked of episode {unknown[0]}")
    joined = []
    for episode in episodes:
        mine = told[episode.id].told if episode.id in told else {}
        if other := sorted(mine.keys() - set(episode.cells)):
            raise ValueError(f"{episode.id}: nobody asked of {other[0]}")
        costs = truth[episode.id].costs
        joined.append(
            [Asked(mine.get(cell, 0.0), cell in costs, costs.get(cell, 0.0)) for cell in episode.cells]
        )
    return joined


def interval(joined: Sequence[Sequence[Asked]], name: str) -> tuple[float, float]:
    """Return the 95 % interval of a figure, by drawing whole episodes again."""
    rng = Random(0)
    values = sorted(
        value
        for _ in range(RESAMPLES)
        if (
            value := getattr(
                figures([one for row in rng.choices(joined, k=len(joined)) for one in row]), name
            )
        )
        == value
    )
    return values[int(0.025 * len(values))], values[int(0.975 * len(values))]


def rows(joined: Sequence[Sequence[Asked]]) -> Iterator[str]:
    """Yield the cells of an entry's row in the table."""
    found = figures([one for row in joined for one in row])
    yield f"{found.assessed:.0%}"
    for name in ("brier", "recall", "cost_recall"):
        low, high = interval(joined, name)
        beside = f"; 0: {found.nothing:.3f}" if name == "brier" else ""
        yield f"{getattr(found, name):.3f} ({low:.3f} to {high:.3f}){beside}"


def main() -> int:
    """Print the table; exit with 2 where an entry cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("truth", type=Path)
    parser.add_argument("episodes", type=Path)
    parser.add_argument("predictions", type=Path, nargs="+")
    given = parser.parse_args()
    truth = {one.id: one for one in read_truth(given.truth)}
    episodes = list(read_episodes(given.episodes))
    events = sum(len(one.costs) for one in truth.values())
    table = Table(
        title=f"{len(episodes)} episodes, {events} of {sum(len(e.cells) for e in episodes)} cells harmful"
    )
    for heading in ("entry", "assessed", "Brier; of who says 0", f"recall at {PRECISION:g}", "of the cost"):
        table.add_column(heading)
    nothing = [list(row) for row in asked_by_episode(episodes, truth, {})]
    table.add_row("says nothing", *rows(nothing))
    for path in given.predictions:
        try:
            told = {one.id: one for one in read_predictions(path)}
            table.add_row(path.stem, *rows(asked_by_episode(episodes, truth, told)))
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
