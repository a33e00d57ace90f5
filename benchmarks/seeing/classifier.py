"""A classifier on the telemetry: `python -m benchmarks.seeing.classifier TRAIN.jsonl TRUTH.jsonl TEST.jsonl`.

One logistic regression for each rule, with a penalty on its weights, over what calls and sensors say of the
entity in question; scipy minimises it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.seeing.episodes import Cell, Episode, Prediction, read_episodes, read_truth, tell

PENALTY = 1.0
Matrix = NDArray[np.float64]


def features(episode: Episode, cell: Cell) -> list[float]:
    """Return what calls and telemetry say of a cell."""
    _, entity = cell
    done = [call for call in episode.calls if call["status"] == "ok"]
    mine = [call for call in done if entity in call["arguments"].values()]
    amounts = [v for call in mine for v in call["arguments"].values() if isinstance(v, (int, float))]
    first = mine[0]["start"] if mine else 0.0
    words = {str(one["value"]): one["t"] for one in episode.samples if one["sensor"].endswith(f".{entity}")}
    numbers = [one["value"] for one in episode.samples if isinstance(one["value"], float)]
    return [
        1.0,
        float(len(mine)),
        float(len(mine) > 1),
        float(sum(amounts)) / 10.0,
        float(max(amounts, default=0.0)) / 10.0,
        float(any(t <= first for word, t in words.items() if word not in ("dry", "False"))),
        float(len(words) > 1),
        sum(call["end"] - call["start"] for call in mine) / 60.0,
        float(len({call["name"] for call in mine})),
        len(done) / 10.0,
        sum(call["status"] != "ok" for call in episode.calls) / 10.0,
        sum(call["end"] - call["start"] for call in done if call["name"] == "move_to") / 600.0,
        min(numbers, default=0.0),
        max((call["end"] for call in done), default=0.0) / 1000.0,
    ]


def fitted(rows: Matrix, happened: Matrix) -> Matrix:
    """Return the weights of the most probable logistic model with a normal prior."""

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        score = rows @ weights
        value = np.logaddexp(0.0, score).sum() - happened @ score + 0.5 * PENALTY * weights[1:] @ weights[1:]
        slope = rows.T @ (expit(score) - happened)
        slope[1:] += PENALTY * weights[1:]
        return float(value), slope

    found: Matrix = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    return found


def train(episodes: Sequence[Episode], harmed: Sequence[set[Cell]]) -> dict[str, Matrix]:
    """Return the weights of each kind."""
    rows: dict[str, list[list[float]]] = {}
    labels: dict[str, list[float]] = {}
    for episode, cells in zip(episodes, harmed, strict=True):
        for cell in episode.cells:
            rows.setdefault(cell[0], []).append(features(episode, cell))
            labels.setdefault(cell[0], []).append(float(cell in cells))
    return {kind: fitted(np.array(rows[kind]), np.array(labels[kind])) for kind in rows}


def predict(weights: dict[str, Matrix], episodes: Sequence[Episode]) -> Iterator[Prediction]:
    """Yield the predictions of episodes."""
    for episode in episodes:
        told = {
            cell: float(expit(np.array(features(episode, cell)) @ weights[cell[0]]))
            for cell in episode.cells
            if cell[0] in weights
        }
        yield Prediction(episode.id, told)


def main() -> None:
    """Train, and predict."""
    learned, truth, asked = map(Path, sys.argv[1:])
    harmed = {row.id: set(row.costs) for row in read_truth(truth)}
    episodes = list(read_episodes(learned))
    weights = train(episodes, [harmed[episode.id] for episode in episodes])
    tell(predict(weights, list(read_episodes(asked))))


if __name__ == "__main__":
    main()
