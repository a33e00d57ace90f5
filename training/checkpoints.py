"""Checkpoints of a training: all that it needs to go on as if it had not stopped."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from training.batches import Place
from training.network import Network, Shape

LATEST = "latest.pt"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training has come.

    Attributes:
        steps: updates of the weights.
        tokens: tokens seen, padding counted, the system turns not.
        seconds: wall-clock seconds of training, over all legs.
        place: where the stream of batches goes on.
    """

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    place: Place = field(default_factory=Place)


def save(
    folder: Path, network: Network, optimizers: list[torch.optim.Optimizer], progress: Progress, settings: Any
) -> None:
    """Write the latest checkpoint, and this moment's weights and settings to a file that is kept."""
    state = {
        "shape": asdict(network.shape),
        "weights": {name: weight.cpu() for name, weight in network.state_dict().items()},
        "progress": asdict(progress),
        "settings": settings,
    }
    _write(folder / f"tokens-{progress.tokens:012}.pt", state)
    _write(folder / LATEST, {**state, "optimizers": [optimizer.state_dict() for optimizer in optimizers]})


def load(path: Path) -> dict[str, Any]:
    """Return a checkpoint, on the CPU."""
    state: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return state


def progress_of(state: dict[str, Any]) -> Progress:
    """Return how far the training of a checkpoint has come."""
    parts = state["progress"]
    return Progress(**{**parts, "place": Place(**parts["place"])})


def restore(path: Path) -> Network:
    """Return the network of a checkpoint."""
    state = load(path)
    network = Network(Shape(**state["shape"]))
    network.load_state_dict(state["weights"])
    return network


def _write(path: Path, state: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)
