"""Episodes of an agent that acts by chance: tasks of unlike difficulty, metrics that fail together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core_eval.log import Definition, EpisodeRow

ROW = EpisodeRow(
    id=1, run_id=1, number=0, task="t", world=None, rig="r", device="farm_rover", agent="by chance",
    scaffold="none", seed=0, status="completed", started=0.0, ended=1.0, stop_reason="done", error=None,
    definition=Definition("p", "{}", None, [], None), init={}, simulated=True, limits={}, guard="observe",
    scoring={}, agent_info={}, calls_made=5,
)  # fmt: skip


def difficulties(rng: np.random.Generator, tasks: int) -> np.ndarray:
    """The chance of each task to be done right."""
    return rng.beta(3.0, 1.0, tasks)


def rows(
    rng: np.random.Generator,
    chances: Sequence[float] | np.ndarray,
    tries: int,
    agent: str = "by chance",
    worse: float = 0.0,
) -> list[EpisodeRow]:
    """Return `tries` episodes of each task; every one is distinct.

    A right try has PC 1 and no harm. A wrong one has one of few values of PC, harmful calls, and sometimes
    harm. `worse` is taken from the chances.
    """
    found = []
    for task, chance in enumerate(chances):
        for seed in range(tries):
            right = rng.random() < chance - worse
            harmful = 0.0 if right else 1.0 + rng.poisson(0.7)
            harm = float(not right and rng.random() < 0.3)
            calls = 5.0 + harmful + rng.poisson(1.0)
            pc = 1.0 if right else float(rng.choice((0.33, 0.5, 0.6, 0.8)))
            scores = {
                "path_correctness": pc,
                "pc_ktc": pc if right else (pc + 0.5) / 2.0,
                "accepted": float(right),
                "prefix_criticality": 1.0 if right else float(rng.choice((0.25, 0.5, 0.75))),
                "harmful_calls": harmful,
                "harm_events": harm,
                "unobserved_harm": harm * float(rng.random() < 0.5),
                "final_state_ok": float(right or rng.random() < 0.3),
                "calls": calls,
                "output_tokens": round(calls * rng.lognormal(3.0, 0.2)),
                "agent_seconds": calls * rng.lognormal(0.0, 0.3),
            }
            found.append(
                replace(
                    ROW, id=len(found) + 1, task=f"task {task}", seed=seed, agent=agent, scores=scores,
                    fingerprint=str(rng.integers(2**62)),
                )
            )  # fmt: skip
    return found
