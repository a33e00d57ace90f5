"""A logged episode replayed as it was, on a simulator of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core_eval.harm.replay import MakeSimulator, Player, Replay
from core_eval.harm.report import ExecutedCall


def replay_episode(
    make_simulator: MakeSimulator, init: Mapping[str, Any], seed: int, calls: Sequence[ExecutedCall]
) -> Replay:
    """Replay an unchanged episode."""
    return Player(make_simulator, init, seed).play(calls, checkpoints=False)
