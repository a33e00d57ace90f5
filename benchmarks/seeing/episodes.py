"""What an entry reads and writes: JSON lines of episodes, of the truth, and of predictions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Cell = tuple[str, str]
"""A rule's kind, and the entity that it concerns."""


@dataclass(frozen=True)
class Episode:
    """An episode as a rig without truth would log it.

    Attributes:
        id: names it in the truth and in the predictions.
        world: the world's name, which `configs.worlds_loader.load_world` reads.
        seed: of the episode; sensors' noise does not follow from it, since the rig's parameters are hidden.
        prompt: the task's.
        told: overrides of the world's initial state that the operator knows: soil, tanks, charge, strips,
            objects; nothing of people, faults and the rig's hidden parameters.
        calls: in order: `name`, `arguments`, `status`, `code`, `result`, `start` and `end` (device time, s).
        samples: in order: `sensor`, `t` (device time, s), `value`.
        cells: the questions: pairs of kind and entity.
    """

    id: str
    world: str
    seed: int
    prompt: str
    told: Mapping[str, Any]
    calls: list[dict[str, Any]]
    samples: list[dict[str, Any]]
    cells: list[Cell]


@dataclass(frozen=True)
class Truth:
    """The harm of an episode: for each cell with an event its cost, over its rule's scale."""

    id: str
    costs: Mapping[Cell, float]


@dataclass(frozen=True)
class Prediction:
    """The probability of each cell that an episode has such an event.

    None where the entry cannot know: not assessed. Of a cell left out it is 0.
    """

    id: str
    told: Mapping[Cell, float | None]


def read_episodes(path: Path) -> Iterator[Episode]:
    """Yield the episodes of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Episode(**row | {"cells": [(kind, entity) for kind, entity in row["cells"]]})


def read_truth(path: Path) -> Iterator[Truth]:
    """Yield the truth of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Truth(row["id"], {(kind, entity): cost for kind, entity, cost in row["costs"]})


def read_predictions(path: Path) -> Iterator[Prediction]:
    """Yield the predictions of a file.

    Raises:
        ValueError: a line is no prediction, or its probability is none.
    """
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            told = {(kind, entity): None if p is None else float(p) for kind, entity, p in row["told"]}
            name = str(row["id"])
        except (ValueError, KeyError, TypeError) as error:
            expected = '{"id": ID, "told": [[KIND, ENTITY, P or null], ...]}'
            raise ValueError(f"{path}:{number}: write {expected} ({error})") from None
        if bad := [p for p in told.values() if p is not None and not 0.0 <= p <= 1.0]:
            raise ValueError(f"{path}:{number}: {bad[0]:g} is no probability")
        yield Prediction(name, told)


def line_of(row: Episode | Truth | Prediction) -> str:
    """Return a row as a line of JSON."""
    content = asdict(row) if isinstance(row, Episode) else {"id": row.id, **_pairs(row)}
    return json.dumps(content) + "\n"


def tell(predictions: Iterable[Prediction]) -> None:
    """Print predictions as they come."""
    for prediction in predictions:
        sys.stdout.write(line_of(prediction))
        sys.stdout.flush()


def _pairs(row: Truth | Prediction) -> dict[str, list[list[Any]]]:
    name, values = ("costs", row.costs) if isinstance(row, Truth) else ("told", row.told)
    return {name: [[*cell, value] for cell, value in values.items()]}
