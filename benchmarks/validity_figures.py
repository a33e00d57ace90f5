"""What `validity.py` computes from the paths that it keeps: curves, power, ranks, sweeps of parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.baselines.mutated import KINDS
from core_eval.path.metrics import prefix_criticality
from core_eval.report.pictures.plot import Plot, Scale, path
from core_eval.report.pictures.standalone import standalone
from core_eval.score.aggregate import Aggregate, load_aggregate
from core_eval.score.metrics import LESS_IS_BETTER
from core_eval.statistics.estimates import ALPHA, FEWEST_UNITS, POWER, Estimate, holm, summarize
from core_eval.statistics.intervals import Groups
from core_eval.statistics.student_t import quantile

RATES = tuple(round(k / 10, 1) for k in range(11))
METRICS = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_call_rate",
    "efficiency",
    "path_correctness_hlr",
    "final_state_ok",
    "response_ok",
    "accepted",
    "passed",
)
"""All from 0 to 1."""
FLAGS = METRICS[6:]
LAMBDAS = (0.0, 0.25, 0.5, 0.75, 1.0)
BETAS = (0.25, 0.5, 0.75, 0.9, 1.0)
DEFAULT = 0.5
"""Of beta and of lambda."""
UNITS, EACH = 100, 3
"""The 300 episodes of an agent whose power is asked: so many tasks, each so many times."""
FROM, STEP = 0.1, 0.02
"""The other agent has this mistake rate; differences are tried in these steps."""
RANKED_RATES = (0.2, 0.4, 0.6)
"""The agents that are ranked have these mistake rates, and each kind of mistakes."""
WEIGHTINGS, FACTOR = 200, 4.0
"""Weights are multiplied at random by a factor between one over this and this."""
DRAWS = 1000
SHOWN_RATES = (0.1, 0.3, 0.5, 1.0)
MOST_ROWS = 15

Array = NDArray[np.float64]
AGENTS = tuple((kind, rate) for kind in KINDS for rate in RANKED_RATES)


@dataclass(frozen=True)
class Measured:
    """The kept paths as arrays: `scores` by metric, task, kind, rate and seed, NaN where undefined; `paths`
    by task, kind, rate and seed, the place of the path among its task's; `beta` and `lam` the metrics that
    depend on these, by value, task, kind, rate and seed.
    """

    tasks: tuple[str, ...]
    worlds: tuple[str, ...]
    scores: Array
    paths: NDArray[np.int64]
    beta: Array
    lam: Array

    @classmethod
    def of(cls, kept: Sequence[Mapping[str, Any]]) -> Measured:
        """Return the kept lines of `validity.py` as arrays."""
        cells = [[[one["cells"][f"{kind}:{rate}"] for rate in RATES] for kind in KINDS] for one in kept]
        paths = np.array(cells, np.int64)

        def spread(values: Sequence[Array]) -> Array:
            """Give each episode the values of its path."""
            return np.stack([own[:, places] for own, places in zip(values, paths, strict=True)], axis=1)

        return cls(
            tuple(one["task"] for one in kept),
            tuple(one["world"] for one in kept),
            spread([np.array([[p[m] for p in one["paths"]] for m in METRICS], float) for one in kept]),
            paths,
            spread(
                [np.array([[with_beta(p["harm"], b) for p in one["paths"]] for b in BETAS]) for one in kept]
            ),
            spread([np.array([p["ktc"] for p in one["paths"]], float).T for one in kept]),
        )

    def metric(self, name: str) -> Array:
        """Return one metric by task, kind, rate and seed."""
        return self.scores[METRICS.index(name)]


def with_beta(harm: str, beta: float) -> float:
    """Return prefix criticality of the condensed path with a 1 for each harmful call, else a 0."""
    weighted = sum(beta**k for k, one in enumerate(harm) if one == "1")
    return prefix_criticality(len(harm), weighted, harm.count("1"), beta)


def curves(measured: Measured) -> dict[str, dict[str, list[Estimate]]]:
    """Return the mean of each metric at each rate of each kind, with intervals clustered by task."""
    count, seeds = len(measured.tasks), measured.paths.shape[-1]
    tasks = np.repeat(np.arange(count), seeds)
    found: dict[str, dict[str, list[Estimate]]] = {name: {kind: [] for kind in KINDS} for name in METRICS}
    for k, kind in enumerate(KINDS):
        for r in range(len(RATES)):
            tries = measured.paths[:, k, r].ravel() + tasks * (measured.paths.max() + 1)
            groups = Groups(tasks, tries)
            for m, name in enumerate(METRICS):
                values = measured.scores[m, :, k, r].ravel()
                limits = (None, None) if name in FLAGS else (0.0, 1.0)
                found[name][kind].append(summarize(values, groups, flag=name in FLAGS, limits=limits))
    return found


@dataclass(frozen=True)
class Told:
    """The smallest difference of mistake rates that is told; None: none up to the rate 1. `better` says
    whether the metric takes the agent with more mistakes for the better one.
    """

    difference: float | None
    better: bool = False


def smallest_differences(scores: Array, key: str) -> list[Told]:
    """Return what each metric tells apart from `FROM`, of `scores` by metric, task, rate and seed.

    Simulated: both agents do `UNITS` tasks drawn with replacement, `EACH` times, with kept paths. A rate
    between two kept ones takes each episode from one of the two. The test is the paired one of the tasks'
    means, at `ALPHA`.
    """
    rng = np.random.default_rng(list(key.encode()))
    tasks = rng.integers(scores.shape[1], size=(DRAWS, UNITS, 1))
    first = _episodes(scores, tasks, FROM, rng)
    found = [Told(None)] * len(scores)
    left = list(range(len(scores)))
    for step in range(1, round((1.0 - FROM) / STEP) + 1):
        second = _episodes(scores[left], tasks, FROM + step * STEP, rng)
        gaps = second - first[left]
        for place, told in zip(tuple(left), told_shares(gaps), strict=True):
            if told >= POWER:
                rises = float(np.nanmean(gaps[left.index(place)])) > 0.0
                less = METRICS[place] in LESS_IS_BETTER
                found[place] = Told(round(step * STEP, 2), rises != less)
        left = [place for place in left if found[place].difference is None]
        if not left:
            break
    return found


def false_differences(scores: Array, key: str) -> list[float]:
    """Return how often each metric tells two agents apart that have both the rate `FROM`."""
    rng = np.random.default_rng(list(key.encode()))
    tasks = rng.integers(scores.shape[1], size=(DRAWS, UNITS, 1))
    gaps = _episodes(scores, tasks, FROM, rng) - _episodes(scores, tasks, FROM, rng)
    return told_shares(gaps).tolist()


def _episodes(scores: Array, tasks: NDArray[np.int64], rate: float, rng: np.random.Generator) -> Array:
    """Return the tasks' means by metric, draw and task, of an agent with this mistake rate."""
    lower = min(round(rate * 100) // 10, len(RATES) - 2)
    size = (*tasks.shape[:-1], EACH)
    rates = lower + (rng.random(size) < rate * 10 - lower - 1e-9)
    drawn = scores[:, tasks, rates, rng.integers(scores.shape[-1], size=size)]
    known = np.isfinite(drawn)
    with np.errstate(invalid="ignore"):
        means: Array = np.where(known, drawn, 0.0).sum(-1) / known.sum(-1)
    return means


def told_shares(gaps: Array) -> Array:
    """Return in what share of the draws a paired t test tells a mean from zero: of `gaps` by metric, draw and
    task, NaN where undefined.
    """
    known = np.isfinite(gaps)
    count = known.sum(-1)
    reach = np.array([np.inf] * FEWEST_UNITS)
    reach = np.append(
        reach, [quantile(1 - ALPHA / 2, n - 1) for n in range(FEWEST_UNITS, gaps.shape[-1] + 1)]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, gaps, 0.0).sum(-1) / count
        squares = np.where(known, (gaps - mean[..., None]) ** 2, 0.0).sum(-1)
        error = np.sqrt(squares / (count - 1) / count)
        told: Array = (np.abs(mean) > reach[count] * error + 1e-12).mean(-1)
    return told


def ranks(values: Array) -> Array:
    """Return ranks along the last axis, 1 the greatest; equal values share the mean of theirs."""
    rounded = np.round(values, 9)
    ahead = (rounded[..., None, :] > rounded[..., :, None]).sum(-1)
    equal = (rounded[..., None, :] == rounded[..., :, None]).sum(-1)
    return ahead + (equal + 1) / 2.0


def kendall(one: Array, other: Array) -> Array:
    """Return Kendall's tau-b along the last axis; NaN where all of a side are equal."""
    signs = [np.sign(np.round(v[..., None, :] - v[..., :, None], 9)) for v in (one, other)]
    both = (signs[0] * signs[1]).sum((-1, -2))
    with np.errstate(invalid="ignore"):
        tau: Array = both / np.sqrt((signs[0] ** 2).sum((-1, -2)) * (signs[1] ** 2).sum((-1, -2)))
    return tau


def by_agent(values: Array) -> Array:
    """Return the means over seeds of the ranked agents: of values by ..., task, kind, rate and seed those by
    ..., task and agent.
    """
    chosen = values[..., [RATES.index(rate) for rate in RANKED_RATES], :].mean(-1)
    return chosen.reshape(*chosen.shape[:-2], -1)


@dataclass(frozen=True)
class Shift:
    """How many places the final-state check puts an agent above the one that PC gives it, in a world: the
    mean over tasks, in each of which all agents are ranked.
    """

    world: str
    kind: str
    rate: float
    places: Estimate

    @property
    def told(self) -> bool:
        """Whether the interval leaves out zero."""
        low, high = self.places.low, self.places.high
        return low is not None and high is not None and (low > 0.0 or high < 0.0)


def shifts(measured: Measured, world: str | None = None) -> list[Shift]:
    """Return the shift of each agent in a world, or over all tasks."""
    own = [place for place, name in enumerate(measured.worlds) if world in (None, name)]
    gaps = ranks(by_agent(measured.metric("path_correctness")[own]))
    gaps = gaps - ranks(by_agent(measured.metric("final_state_ok")[own]))
    keys = [(measured.tasks[place], None) for place in own]
    return [
        Shift(world or "all", kind, rate, summarize(gaps[:, a], keys))
        for a, (kind, rate) in enumerate(AGENTS)
    ]


def corrected(found: Iterable[Shift]) -> list[float]:
    """Return the p-values of shifts, corrected for their number."""
    p_values = [one.places.p_value() for one in found]
    return holm([1.0 if p is None else p for p in p_values])


@dataclass(frozen=True)
class Stability:
    """Kendall's tau of the agents' ranks under a setting and the default one; the range says what of."""

    setting: str
    tau: float
    low: float
    high: float


def swept(name: str, settings: Sequence[float], values: Array) -> Iterator[Stability]:
    """Yield the stability of ranks over a parameter, of values by setting, task, kind, rate and seed, with
    intervals over redrawn tasks.
    """
    means = by_agent(values)
    count = means.shape[1]
    rng = np.random.default_rng(list(f"validity/{name}".encode()))
    drawn = rng.multinomial(count, [1.0 / count] * count, size=DRAWS) / count
    default = means[settings.index(DEFAULT)]
    for setting, own in zip(settings, means, strict=True):
        if setting != DEFAULT:
            low, high = np.quantile(kendall(drawn @ own, drawn @ default), (0.025, 0.975))
            tau = kendall(own.mean(0), default.mean(0))
            yield Stability(f"{name} {setting:g}", float(tau), float(low), float(high))


def halves(name: str, values: Array) -> Stability:
    """Return the median tau of ranks by two random halves of the tasks, with 95 % of the halves: what
    chance in the choice of tasks alone does to ranks; of values by task, kind, rate and seed.
    """
    means = by_agent(values)
    rng = np.random.default_rng(list(f"validity/halves/{name}".encode()))
    half = len(means) // 2
    orders = [rng.permutation(len(means)) for _ in range(DRAWS)]
    one = np.stack([means[order[:half]].mean(0) for order in orders])
    other = np.stack([means[order[half:]].mean(0) for order in orders])
    low, middle, high = np.quantile(kendall(one, other), (0.025, 0.5, 0.975))
    return Stability(name, float(middle), float(low), float(high))


def weighted(measured: Measured, aggregate: Aggregate | None = None) -> Iterator[Stability]:
    """Yield the stability of the agents' gated minima under other weights; the range is over weightings."""
    given = load_aggregate() if aggregate is None else aggregate
    kinds, rates = range(len(KINDS)), [RATES.index(rate) for rate in RANKED_RATES]
    scores = measured.scores.transpose(0, 2, 3, 1, 4)
    means = [
        {name: _known_mean(scores[m, k, r]) for m, name in enumerate(METRICS)} for k in kinds for r in rates
    ]

    def values(changes: Mapping[str, Any]) -> Array:
        changed = replace(given, content=given.content.model_copy(update=changes))
        return np.array([changed.value(one) for one in means], float)

    def tau(changes: Mapping[str, Any]) -> float:
        return float(kendall(values(changes), values({})))

    weights = given.content.weights
    rng = np.random.default_rng(list(b"validity/weights"))
    factors = FACTOR ** rng.uniform(-1.0, 1.0, (WEIGHTINGS, len(weights)))
    drawn = [
        tau({"weights": {name: w * f for (name, w), f in zip(weights.items(), own, strict=True)}})
        for own in factors
    ]
    low, middle, high = np.quantile(drawn, (0.0, 0.5, 1.0))
    yield Stability(f"each weight times 1/{FACTOR:g} to {FACTOR:g}", float(middle), float(low), float(high))
    others: dict[str, Mapping[str, Any]] = {
        "equal weights": {"weights": dict.fromkeys(weights, 1.0)},
        "no metric critical": {"critical": []},
        **{f"without {name}": {"weights": {**weights, name: 0.0}} for name in weights},
    }
    for setting, changes in others.items():
        yield Stability(setting, one := tau(changes), one, one)


def _known_mean(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


def markdown(measured: Measured) -> str:
    """Return all figures as tables."""
    drawn = curves(measured)
    by_kind = dict(zip(KINDS, measured.scores.transpose(2, 0, 1, 3, 4), strict=True))
    told = {kind: smallest_differences(own, f"validity/power/{kind}") for kind, own in by_kind.items()}
    false = [one for kind, own in by_kind.items() for one in false_differences(own, f"validity/null/{kind}")]
    counts = Counter(measured.worlds)
    worlds = [world for world in sorted(counts) if counts[world] >= FEWEST_UNITS]
    moved = [one for world in worlds for one in shifts(measured, world)]
    differs = [one for one in moved if one.told]
    overall = shifts(measured)
    lines = [
        f"{len(measured.tasks)} tasks of {len(set(measured.worlds))} worlds, {measured.paths.size} episodes, "
        f"{sum(int(own.max()) + 1 for own in measured.paths)} distinct paths.",
        "",
        "Change from rate 0 to rate 1.",
        "",
        *table(
            ["metric", *KINDS],
            ([name, *(_change(drawn[name][kind]) for kind in KINDS)] for name in METRICS),
        ),
        "",
        f"Smallest difference of mistake rates from {FROM:g}. Same rates told apart: {min(false):.1%} to "
        f"{max(false):.1%}.",
        "",
        *table(
            ["metric", *KINDS],
            ([name, *(_told(told[kind][m]) for kind in KINDS)] for m, name in enumerate(METRICS)),
        ),
        "",
        f"Agents ranked differently: {len(differs)} of {len(moved)} pairs of agent and world, "
        f"{len(worlds)} worlds; {sum(_mean(one) > 0 for one in differs)} better by the final state. "
        f"Corrected for their number: {sum(p < ALPHA for p in corrected(moved))}.",
        "",
        *table(
            ["agent, all worlds", "places up by the final state", "p, corrected"],
            (
                [f"{one.kind} {one.rate:g}", _estimate(one.places, "+.1f"), f"{p:.2g}"]
                for one, p in zip(overall, corrected(overall), strict=True)
            ),
        ),
        "",
        *table(
            ["world", "agent", "places up by the final state"],
            (
                [one.world, f"{one.kind} {one.rate:g}", _estimate(one.places, "+.1f")]
                for one in sorted(differs, key=lambda one: -abs(_mean(one)))[:MOST_ROWS]
            ),
        ),
        "",
        *table(
            ["setting", "tau", "from", "to"],
            (
                [one.setting, *(f"{value:.2f}" for value in (one.tau, one.low, one.high))]
                for one in (
                    *swept("beta", BETAS, measured.beta),
                    halves(
                        "two halves of the tasks, prefix criticality", measured.metric("prefix_criticality")
                    ),
                    *swept("lambda", LAMBDAS, measured.lam),
                    halves("two halves of the tasks, PC-KTC", measured.metric("pc_ktc")),
                    *weighted(measured),
                )
            ),
        ),
        "",
        *table(
            ["metric", "kind", *(f"rate {rate:g}" for rate in SHOWN_RATES)],
            (
                [name, kind, *(_estimate(own[RATES.index(rate)], ".2f") for rate in SHOWN_RATES)]
                for name, kinds in drawn.items()
                for kind, own in kinds.items()
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _change(own: Sequence[Estimate]) -> str:
    first, last = own[0].mean, own[-1].mean
    return "-" if first is None or last is None else f"{last - first:+.2f}"


def _told(one: Told) -> str:
    if one.difference is None:
        return "none"
    return f"{one.difference:.2f}{' better' if one.better else ''}"


def _mean(one: Shift) -> float:
    return one.places.mean or 0.0


def _estimate(one: Estimate, form: str) -> str:
    if one.mean is None:
        return "-"
    if one.low is None or one.high is None:
        return format(one.mean, form)
    return f"{one.mean:{form}} ({one.low:{form}} to {one.high:{form}})"


PANEL_W, PANEL_H, LEFT, RIGHT, TOP, BOTTOM = 144.0, 96.0, 34.0, 12.0, 24.0, 34.0
COLUMNS, LEGEND = 2, 46.0
DASHES = ("none", "7 3", "2 2", "9 3 2 3", "1 4")
"""Lines differ by dash too, for those who do not tell colours apart."""


def picture(drawn: Mapping[str, Mapping[str, Sequence[Estimate]]]) -> str:
    """Return the curves with their bands as an SVG file: a panel a metric, a line a kind."""
    wide, high = LEFT + PANEL_W + RIGHT, TOP + PANEL_H + BOTTOM
    width, height = COLUMNS * wide, LEGEND + -(-len(drawn) // COLUMNS) * high
    whole = Plot("roc", "mean of each metric by mistake rate", width, height, Scale((0.0, 1.0), (0.0, width)))
    for place, kind in enumerate(KINDS):
        x, y = LEFT + place % 3 * 116, 16 + place // 3 * 18
        whole.add(f'<path class="line {_line(place)} d="M{x:.0f} {y - 4:.0f}h28"/>')
        whole.text(x + 34, y, kind, "title", anchor="start")
    for place, (name, kinds) in enumerate(drawn.items()):
        x, y = place % COLUMNS * wide + LEFT, LEGEND + place // COLUMNS * high + TOP
        plot = Plot(
            "", "", width, height, Scale((0.0, 1.0), (x, x + PANEL_W)), Scale((0.0, 1.0), (y + PANEL_H, y))
        )
        plot.parts = whole.parts
        plot.box()
        plot.axes(across=(0.0, 0.5, 1.0), up=(0.0, 0.5, 1.0), grid=False)
        plot.text(x, y - 7, name, "title", anchor="start")
        if place >= len(drawn) - COLUMNS:
            plot.text(x + PANEL_W / 2, y + PANEL_H + 29, "mistake rate")
        for number, own in enumerate(kinds.values()):
            low = [plot.at((rate, a)) for rate, a, _, _ in _points(own)]
            top = [plot.at((rate, b)) for rate, _, _, b in _points(own)]
            edge = " ".join(f"{a:.1f},{b:.1f}" for a, b in [*low, *reversed(top)])
            band = "fill:currentColor;stroke:none;opacity:.16"
            plot.add(f'<polygon class="set{number + 1}" style="{band}" points="{edge}"/>')
        for number, own in enumerate(kinds.values()):
            line = [plot.at((rate, mean)) for rate, _, mean, _ in _points(own)]
            plot.add(f'<path class="line {_line(number)} d="{path(line)}"/>')
    return standalone(whole.svg(), (width, height))


def _points(own: Sequence[Estimate]) -> list[tuple[float, float, float, float]]:
    """Return rate, low, mean and high where there is a mean; without an interval it is its own."""
    return [
        (rate, mean if one.low is None else one.low, mean, mean if one.high is None else one.high)
        for rate, one in zip(RATES, own, strict=True)
        if (mean := one.mean) is not None
    ]


def _line(number: int) -> str:
    return f'set{number + 1}" style="stroke-dasharray:{DASHES[number]}"'
