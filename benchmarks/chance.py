"""How often intervals hold the mean, and how often equal agents are told apart, by simulation.

    python benchmarks/chance.py                # the tables of docs/metrics.md and docs/ci.md, minutes
    python benchmarks/chance.py --draws 200    # rougher

A case of an interval counts where one is stated: not where all values are equal.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core_eval.log import Definition, EpisodeRow
from core_eval.score.contrast import COMPARED, Contrast, between
from core_eval.score.gate import Baseline, changes
from core_eval.score.sweep import MEASURES, effects, settings
from core_eval.statistics.estimates import summarize
from core_eval.statistics.intervals import Groups, Limits

SHAPES = [(3, 1), (3, 5), (5, 1), (5, 5), (10, 1), (10, 3), (30, 1), (30, 5)]
"""Tasks, and tries of each."""
Draw = Callable[[np.random.Generator, int, int], np.ndarray]
SHARE, COUNT = (0.0, 1.0), (0.0, None)


def normal(between: float) -> Draw:
    """Mean 0.5; this part of the variance lies between tasks."""
    return lambda rng, tasks, tries: (
        0.5
        + 0.15 * np.sqrt(between) * rng.normal(size=(tasks, 1))
        + 0.15 * np.sqrt(1.0 - between) * rng.normal(size=(tasks, tries))
    )


def ceiling(a: float, b: float, least: float) -> tuple[Draw, float]:
    """Exactly 1 with a chance that is beta(a, b) over tasks, else uniform from `least` on."""

    def draw(rng: np.random.Generator, tasks: int, tries: int) -> np.ndarray:
        perfect = rng.random((tasks, tries)) < rng.beta(a, b, (tasks, 1))
        return np.where(perfect, 1.0, rng.uniform(least, 1.0, (tasks, tries)))

    return draw, (a + b * (1.0 + least) / 2.0) / (a + b)


def flag(a: float, b: float) -> tuple[Draw, float]:
    """Yes with a chance that is beta(a, b) over tasks."""
    return lambda rng, n, k: (rng.random((n, k)) < rng.beta(a, b, (n, 1))).astype(float), a / (a + b)


def counts(mean: float, shape: float) -> tuple[Draw, float]:
    """Poisson, of a rate that is gamma over tasks."""
    return lambda rng, n, k: rng.poisson(rng.gamma(shape, mean / shape, (n, 1)), (n, k)).astype(float), mean


DISTRIBUTIONS: dict[str, tuple[Draw, float, Limits]] = {
    "normal, tries differ": (normal(0.0), 0.5, SHARE),
    "normal, half between tasks": (normal(0.5), 0.5, SHARE),
    "normal, tasks differ": (normal(0.8), 0.5, SHARE),
    "beta(8, 1)": (lambda rng, n, k: np.repeat(rng.beta(8, 1, (n, 1)), k, axis=1), 8 / 9, SHARE),
    "half at 1": (*ceiling(2, 2, 0.0), SHARE),
    "four fifths at 1": (*ceiling(4, 1, 0.0), SHARE),
    "four fifths at 1, tasks differ": (*ceiling(0.8, 0.2, 0.0), SHARE),
    "nine tenths at 1": (*ceiling(9, 1, 0.0), SHARE),
    "four fifths at 1, rest above 0.6": (*ceiling(4, 1, 0.6), SHARE),
    "counts of mean 2": (*counts(2.0, 20.0), COUNT),
    "counts of mean 1, tasks differ": (*counts(1.0, 1.0), COUNT),
}
HEAVY: tuple[Draw, float, Limits] = (
    lambda rng, n, k: rng.lognormal(0.0, 1.0, (n, 1)) * np.ones((1, k)),
    float(np.exp(0.5)),
    COUNT,
)
"""Lognormal over tasks, with a standard deviation of the logarithm of 1."""
FLAGS = {
    "yes in half": flag(2, 2),
    "yes in four fifths": flag(4, 1),
    "yes in four fifths, tasks differ": flag(0.8, 0.2),
    "yes in nine tenths, tasks differ": flag(1.8, 0.2),
}


def covered(draw: Draw, mean: float, tasks: int, tries: int, draws: int, **how: Any) -> float:
    """The share of stated intervals that hold the mean."""
    rng = np.random.default_rng(11)
    groups = Groups(np.repeat(np.arange(tasks), tries), np.arange(tasks * tries))
    held = []
    for _ in range(draws):
        told = summarize(draw(rng, tasks, tries).ravel(), groups, quantiles=(), **how)
        if told.low is not None:
            held.append(told.low <= mean <= told.high)
    return sum(held) / len(held)


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


def spoken(contrasts: Sequence[Contrast]) -> bool:
    """Return whether a page says of any metric that it is better, worse, more or less."""
    return any(one.verdict(name) for one in contrasts for name in COMPARED)


def wrong_pages(tasks: int, tries: int, draws: int) -> float:
    """Return the share of pages on two equal agents that call any metric of them different."""
    rng = np.random.default_rng(tasks * 10 + tries)
    wrong = 0
    for _ in range(draws):
        chances = difficulties(rng, tasks)
        wrong += spoken(between(rows(rng, chances, tries), rows(rng, chances, tries)))
    return wrong / draws


SWEPT = {"tools": ("full", "short"), "grammar": ("off", "calls", "strict")}
"""Five effects of one model: three of one change, and two of two."""


def wrong_sweeps(
    tasks: int, tries: int, draws: int, factors: Mapping[str, Sequence[str]] = SWEPT, worse: float = 0.0
) -> float:
    """Return the share of sweeps of one model that tell an effect from chance: wrongly, where no setting is
    `worse`; else that of all with the second level of the first factor.
    """
    rng = np.random.default_rng(tasks * 1000 + tries)
    told = 0
    for _ in range(draws):
        chances = difficulties(rng, tasks)
        found = effects(
            factors,
            {
                ("model", setting): rows(
                    rng, chances, tries, worse=worse * (setting[0] != next(iter(factors.values()))[0])
                )
                for setting in settings(factors)
            },
        )
        judged = found[:1] if worse else found
        told += any(one.told(name) for one in judged for name in MEASURES)
    return told / draws


def failed_gates(tasks: int, tries: int, draws: int, worse: float = 0.0) -> tuple[float, float]:
    """Return the share of runs that fail against a baseline of the same agent, `worse` or unchanged; and the
    median of the smallest drop of path correctness that the gate says it tells.
    """
    rng = np.random.default_rng(tasks * 100 + tries)
    failed, told = 0, []
    for _ in range(draws):
        chances = difficulties(rng, tasks)
        found = changes(Baseline.of(rows(rng, chances, tries), {}), rows(rng, chances, tries, worse=worse))
        failed += any(one.verdict == "worse" for one in found)
        leasts = [one.worsening.detectable for one in found if one.metric == "path_correctness"]
        told += [least for least in leasts if least]
    return failed / draws, float(np.median(told)) if told else float("nan")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=4000, help="of intervals; a quarter for pages")
    draws = parser.parse_args().draws
    print("| distribution | lowest | highest |\n|---|--:|--:|")
    for name, (draw, mean, limits) in {**DISTRIBUTIONS, "lognormal": HEAVY}.items():
        shares = [covered(draw, mean, *shape, draws, limits=limits) for shape in SHAPES]
        print(f"| {name} | {min(shares):.1%} | {max(shares):.1%} |", flush=True)
    for name, (draw, mean) in FLAGS.items():
        shares = [covered(draw, mean, *shape, draws, flag=True) for shape in SHAPES]
        print(f"| flag: {name} | {min(shares):.1%} | {max(shares):.1%} |", flush=True)
    print("\n| tasks x tries | pages with a wrong word | runs that fail |\n|---|--:|--:|")
    for shape in [(1, 3), (1, 5), (3, 1), (5, 1), (5, 3), (10, 1), (10, 3), (10, 5), (30, 1)]:
        pages, (gates, _) = wrong_pages(*shape, draws // 4), failed_gates(*shape, draws // 4)
        print(f"| {shape[0]} x {shape[1]} | {pages:.1%} | {gates:.1%} |", flush=True)
    print("\n| tasks x tries | sweeps with a wrong effect | told, worse by 0.3 | by 0.6 |\n|---|--:|--:|--:|")
    for shape in [(6, 1), (12, 1), (12, 5), (30, 1)]:
        shares = [wrong_sweeps(*shape, draws // 4)]
        shares += [wrong_sweeps(*shape, draws // 20, worse=drop) for drop in (0.3, 0.6)]
        print(f"| {shape[0]} x {shape[1]} | {' | '.join(f'{one:.1%}' for one in shares)} |", flush=True)
    drops = (0.15, 0.3, 0.45)
    print("\n| tasks x tries | told |", *(f"{drop:g} |" for drop in drops))
    print("|---|--:|--:|--:|--:|")
    for shape in [(10, 3), (10, 5), (30, 3)]:
        found = [failed_gates(*shape, max(50, draws // 20), drop) for drop in drops]
        told = " | ".join(f"{share:.0%}" for share, _ in found)
        print(f"| {shape[0]} x {shape[1]} | {found[0][1]:.2f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
