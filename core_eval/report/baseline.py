"""A baseline: the scores of accepted episodes in a JSON file, and the changes of later ones against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from core_eval.log import EpisodeRow
from core_eval.log.charged import CHARGED
from core_eval.path.statistics import summarize
from core_eval.report.counted import counted
from core_eval.report.metrics import BY_NAME
from core_eval.report.no_call import no_call
from core_eval.report.repeated import BOOTSTRAP_SEED

CHECKED = (
    "accepted",
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_calls",
    CHARGED,
    "final_state_ok",
)
"""The metrics that are checked unless others are named: none depends on the machine."""
KEPT = tuple(
    name for name in BY_NAME if name not in ("agent_seconds", "wall_seconds", "peak_memory", "energy")
)
"""The metrics that a baseline holds: not those of the machine it was made on."""
STANDARD_ERRORS = 2.0
"""A difference counts from that many of its standard errors on, where it has one."""

Verdict = Literal["worse", "better", "same", "missing", "new"]


class BaselineEpisode(BaseModel):
    """One episode's start and scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    agent: str
    seed: int
    init: dict[str, Any] = {}
    idle: bool = False
    fingerprint: str | None = None
    scores: dict[str, float]

    @property
    def start(self) -> tuple[int, str]:
        """Return what makes two episodes of a task a pair: seed and overrides of the initial state."""
        return self.seed, dumps(self.init, sort_keys=True)


class Baseline(BaseModel):
    """The content of a baseline file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pathrig_baseline: Literal[1] = 1
    packages: dict[str, Any] = {}
    episodes: tuple[BaselineEpisode, ...]

    @classmethod
    def of(cls, episodes: Sequence[EpisodeRow], packages: Mapping[str, Any]) -> Baseline:
        """Return the baseline of some episodes; those that a rig or a signal ended are left out."""
        return cls(packages=dict(packages), episodes=tuple(map(_episode, counted(episodes))))


@dataclass(frozen=True)
class Change:
    """A metric of one task with one agent, now and in the baseline.

    Attributes:
        verdict: `missing` where the episodes of the baseline were not run again, `new` where it has none.
        pairs: the number of starts that both have.
        before, now: the means over these pairs.
        standard_errors: of the difference; None where it has no spread.
    """

    task: str
    agent: str
    metric: str
    verdict: Verdict
    pairs: int = 0
    before: float | None = None
    now: float | None = None
    standard_errors: float | None = None


def changes(
    baseline: Baseline,
    episodes: Sequence[EpisodeRow],
    metrics: Sequence[str] = CHECKED,
    tolerances: Mapping[str, float] | None = None,
) -> list[Change]:
    """Compare episodes with a baseline, paired by task, agent, seed and initial state.

    A difference counts if it is beyond the metric's tolerance (0 unless given) and, where it has a spread,
    beyond two standard errors. Episodes that became idle are worse in every metric. Starts of the baseline
    without an episode are `missing`.
    """
    now: dict[tuple[str, str], list[BaselineEpisode]] = {}
    before: dict[tuple[str, str], list[BaselineEpisode]] = {}
    for one in map(_episode, counted(episodes)):
        now.setdefault((one.task, one.agent), []).append(one)
    for one in baseline.episodes:
        before.setdefault((one.task, one.agent), []).append(one)
    found = []
    for task, agent in dict.fromkeys([*before, *now]):
        old, new = before.get((task, agent), []), now.get((task, agent), [])
        if not old:
            found.append(Change(task, agent, "episodes", "new", now=float(len(new))))
            continue
        lacking = {one.start for one in old} - {one.start for one in new}
        if lacking:
            found.append(
                Change(task, agent, "episodes", "missing", before=len(old), now=len(old) - len(lacking))
            )
        found += [_change(task, agent, name, old, new, (tolerances or {}).get(name, 0.0)) for name in metrics]
    return found


def _change(
    task: str,
    agent: str,
    metric: str,
    old: Sequence[BaselineEpisode],
    new: Sequence[BaselineEpisode],
    tolerance: float,
) -> Change:
    pairs = [(a, b) for a in old for b in new if a.start == b.start]
    known = [
        (a.scores[metric], b.scores[metric], (task, f"{a.fingerprint}:{b.fingerprint}"))
        for a, b in pairs
        if metric in a.scores and metric in b.scores
    ]
    lost = sum(metric in a.scores and metric not in b.scores for a, b in pairs)
    idle = sum(b.idle and not a.idle for a, b in pairs)
    if not known:
        verdict: Verdict = "worse" if lost or idle else "same"
        return Change(task, agent, metric, verdict, len(pairs))
    keys = [key for *_, key in known]
    difference = summarize([b - a for a, b, _ in known], keys, seed=BOOTSTRAP_SEED)
    mean, error = difference.mean or 0.0, difference.standard_error
    worse = mean > 0 if BY_NAME[metric].less_is_better else mean < 0
    errors = mean / error if error else None
    counts = abs(mean) > tolerance and (errors is None or abs(errors) > STANDARD_ERRORS)
    verdict = ("worse" if worse else "better") if counts else "same"
    return Change(
        task,
        agent,
        metric,
        "worse" if idle or lost else verdict,
        len(pairs),
        sum(a for a, *_ in known) / len(known),
        sum(b for _, b, _ in known) / len(known),
        errors,
    )


def _episode(row: EpisodeRow) -> BaselineEpisode:
    return BaselineEpisode(
        task=row.task,
        agent=row.agent,
        seed=row.seed,
        init=dict(row.init),
        idle=no_call(row),
        fingerprint=row.fingerprint,
        scores={name: value for name in KEPT if (value := row.scores.get(name)) is not None},
    )
