"""The gate: the scores of accepted episodes in a JSON file, and whether later episodes are worse.

Episodes are paired by task, agent, seed and initial state. An agent without chance on a simulated rig is
compared exactly, task by task. Any other agent is tested: a metric is worse if its paired t test over tasks
says so, corrected for all such tests (Holm).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, field_validator

from agents.names import agent_name
from core_eval.log import CHARGED, EpisodeRow
from core_eval.score.episodes import counted, no_call
from core_eval.score.metrics import ABOVE_IDLE, BY_NAME
from core_eval.score.summary import WORST
from core_eval.statistics.estimates import ALPHA, Estimate, holm, summarize
from core_eval.text.values import value_key

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
    name
    for name in BY_NAME
    if name not in ("agent_seconds", "wall_seconds", "peak_memory", "energy", ABOVE_IDLE)
)
"""The metrics that a baseline holds: not those of the machine it was made on."""
WITHOUT_CHANCE = frozenset({"oracle", "scripted", "replay", "mute", "done", "decliner", "repeat"})
"""Agents that are no models, and act alike from the same start."""
ALL_TASKS = "all tasks"

Verdict = Literal["worse", "better", "same", "missing", "new", "not tested"]


class BaselineEpisode(BaseModel):
    """One episode's start and scores; `repeatable`: nothing in it is left to chance (None: not known)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: str
    agent: str
    seed: int
    init: dict[str, Any] = {}
    idle: bool = False
    repeatable: bool | None = None
    fingerprint: str | None = None
    template: str | None = None
    scores: dict[str, float]

    @field_validator("agent")
    @classmethod
    def _named(cls, agent: str) -> str:
        # Files of earlier versions hold specifications.
        return agent_name(agent)

    @classmethod
    def of(cls, row: EpisodeRow) -> BaselineEpisode:
        """Return what a baseline holds of an episode."""
        return cls(
            task=row.task,
            agent=row.agent,
            seed=row.seed,
            init=dict(row.init),
            idle=no_call(row),
            repeatable=_repeatable(row),
            fingerprint=row.fingerprint,
            template=row.template,
            scores={name: value for name in KEPT if (value := row.scores.get(name)) is not None},
        )

    @property
    def start(self) -> tuple[int, str]:
        """Return what makes two episodes of a task a pair: seed and overrides of the initial state."""
        return self.seed, value_key(self.init)

    def value(self, metric: str) -> float | None:
        """Return a score; that of an episode without a call is the worst, where there is one."""
        return WORST.get(metric) if self.idle else self.scores.get(metric)


class Baseline(BaseModel):
    """The content of a baseline file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pathrig_baseline: Literal[1] = 1
    packages: dict[str, Any] = {}
    episodes: tuple[BaselineEpisode, ...]

    @classmethod
    def of(cls, episodes: Sequence[EpisodeRow], packages: Mapping[str, Any]) -> Baseline:
        """Return the baseline of some episodes; those that a rig or a signal ended are left out."""
        return cls(packages=dict(packages), episodes=tuple(map(BaselineEpisode.of, counted(episodes))))


@dataclass(frozen=True)
class GateChange:
    """A metric of an agent, now and in the baseline.

    Attributes:
        task: the task that is compared exactly; `all tasks` where they are tested together.
        verdict: `missing` where the episodes of the baseline were not run again, `new` where it has none,
            `not tested` where there are too few tasks, or tries of a single one.
        before, now: the means over the pairs that both have.
        worsening: how much worse it is over all pairs; `p` is one-sided.
    """

    task: str
    agent: str
    metric: str
    verdict: Verdict
    before: float | None = None
    now: float | None = None
    worsening: Estimate = field(default_factory=Estimate)

    def as_json(self) -> dict[str, Any]:
        """Return it, JSON-ready."""
        return {
            "task": self.task,
            "agent": self.agent,
            "metric": self.metric,
            "verdict": self.verdict,
            "pairs": self.worsening.episodes,
            "before": self.before,
            "now": self.now,
            "p": self.worsening.p,
            "detectable": self.worsening.detectable,
        }


Pairs = list[tuple[BaselineEpisode, BaselineEpisode]]


def changes(
    baseline: Baseline,
    episodes: Sequence[EpisodeRow],
    metrics: Sequence[str] = CHECKED,
    tolerances: Mapping[str, float] | None = None,
    alpha: float = ALPHA,
) -> list[GateChange]:
    """Compare episodes with a baseline.

    A difference counts if it is beyond the metric's tolerance (0 unless given). `alpha` is the chance that
    any metric of any unchanged agent is called worse. Starts of the baseline without an episode are
    `missing`.
    """
    before, now = _cells(baseline.episodes), _cells(map(BaselineEpisode.of, counted(episodes)))
    within = tolerances or {}
    found: list[GateChange] = []
    by_chance: dict[str, Pairs] = {}
    for task, agent in dict.fromkeys([*before, *now]):
        old, new = before.get((task, agent), []), now.get((task, agent), [])
        if not old:
            found.append(GateChange(task, agent, "episodes", "new", now=float(len(new))))
            continue
        lacking = {one.start for one in old} - {one.start for one in new}
        if lacking:
            found.append(
                GateChange(task, agent, "episodes", "missing", before=len(old), now=len(old) - len(lacking))
            )
        pairs = _pairs(old, new)
        if _exact(old, new):
            found += [_exact_change(task, agent, name, pairs, within.get(name, 0.0)) for name in metrics]
        else:
            by_chance.setdefault(agent, []).extend(pairs)
    tests = [
        (GateChange(ALL_TASKS, agent, name, "same", worsening=_worsening(name, pairs)), pairs)
        for agent, pairs in by_chance.items()
        for name in metrics
    ]
    return [*found, *_tested(tests, within, alpha)]


def _exact_change(task: str, agent: str, metric: str, pairs: Pairs, tolerance: float) -> GateChange:
    known = [(a.scores[metric], b.scores[metric]) for a, b in pairs if {metric} <= a.scores.keys() & b.scores]
    lost = any(metric in a.scores and metric not in b.scores for a, b in pairs)
    change = GateChange(task, agent, metric, "same", *_means(known), Estimate(len(pairs)))
    if lost or any(b.idle and not a.idle for a, b in pairs):
        return replace(change, verdict="worse")
    if change.before is None or change.now is None or abs(change.now - change.before) <= tolerance:
        return change
    worse = (change.now > change.before) == BY_NAME[metric].less_is_better
    return replace(change, verdict="worse" if worse else "better")


def _tested(
    tests: Sequence[tuple[GateChange, Pairs]], within: Mapping[str, float], alpha: float
) -> list[GateChange]:
    """Return the changes with their verdicts, by one test each, whose p-values are corrected together."""
    one_sided = {
        place: p
        for place, (change, _) in enumerate(tests)
        if (p := _one_sided(change.worsening, within.get(change.metric, 0.0))) is not None
    }
    worse = dict(zip(one_sided, holm([p for p, _ in one_sided.values()]), strict=True))
    better = dict(zip(one_sided, holm([p for _, p in one_sided.values()]), strict=True))
    found = []
    for place, (change, pairs) in enumerate(tests):
        values = [(a.value(change.metric), b.value(change.metric)) for a, b in pairs]
        known = [(a, b) for a, b in values if a is not None and b is not None]
        change = replace(change, before=_means(known)[0], now=_means(known)[1])
        one = change.worsening
        if place in worse:
            verdict: Verdict = "same"
            if min(worse[place], better[place]) <= alpha:
                verdict = "worse" if worse[place] <= alpha else "better"
            least = one.least_told(2.0 * alpha / len(worse))
            tested = replace(one, p=worse[place], detectable=least)
            change = replace(change, verdict=verdict, worsening=tested)
        elif not known and any(a is not None for a, _ in values):
            change = replace(change, verdict="worse")
        elif one.why_none == "too few":
            change = replace(change, verdict="not tested")
        found.append(change)
    return found


def _worsening(metric: str, pairs: Pairs) -> Estimate:
    """Return how much worse the second of each pair is."""
    sign = 1.0 if BY_NAME[metric].less_is_better else -1.0
    values = ((a.value(metric), b.value(metric)) for a, b in pairs)
    prints = [None if None in (one := (a.fingerprint, b.fingerprint)) else one for a, b in pairs]
    return summarize(
        [None if a is None or b is None else sign * (b - a) for a, b in values],
        [(a.template or a.task, same) for (a, _), same in zip(pairs, prints, strict=True)],
        quantiles=(),
    )


def _one_sided(worsening: Estimate, tolerance: float) -> tuple[float, float] | None:
    """Return the p-values of being worse, and of being better; None where nothing can be, or is, tested."""
    p = worsening.p_value(tolerance)
    if p is None or worsening.mean is None or not (worsening.mean or worsening.standard_error):
        return None
    return (p / 2.0, 1.0 - p / 2.0) if worsening.mean > 0.0 else (1.0 - p / 2.0, p / 2.0)


def _cells(episodes: Iterable[BaselineEpisode]) -> dict[tuple[str, str], list[BaselineEpisode]]:
    found: dict[tuple[str, str], list[BaselineEpisode]] = {}
    for one in episodes:
        found.setdefault((one.task, one.agent), []).append(one)
    return found


def _pairs(old: Sequence[BaselineEpisode], new: Sequence[BaselineEpisode]) -> Pairs:
    """Pair the episodes of each start in their order: of repeats the first with the first, and so on."""
    waiting: dict[tuple[int, str], list[BaselineEpisode]] = {}
    for one in new:
        waiting.setdefault(one.start, []).append(one)
    return [(one, others.pop(0)) for one in old if (others := waiting.get(one.start))]


def _exact(old: Sequence[BaselineEpisode], new: Sequence[BaselineEpisode]) -> bool:
    """Return whether a task's episodes repeat: nothing is left to chance, and no repeat was another."""
    for episodes in (old, new):
        prints: dict[tuple[int, str], set[str | None]] = {}
        for one in episodes:
            prints.setdefault(one.start, set()).add(one.fingerprint)
        if any(len(own) > 1 for own in prints.values()):
            return False
    # Where the file does not say, the new run does.
    known = [one.repeatable for one in (*old, *new) if one.repeatable is not None]
    return bool(known) and all(known)


def _repeatable(row: EpisodeRow) -> bool:
    """Return whether the same start gives the same episode: a simulated rig, and a local model that is greedy
    or an agent that draws nothing.
    """
    options = row.agent_info.get("options", {})
    if "temperature" in options:
        greedy = options["temperature"] == 0 and "sha256" in row.agent_info
    else:
        greedy = row.agent.partition(":")[0] in WITHOUT_CHANCE
    return bool(row.simulated) and greedy


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    if not pairs:
        return None, None
    return sum(a for a, _ in pairs) / len(pairs), sum(b for _, b in pairs) / len(pairs)
