"""Charts that compare agents: bars with intervals, and means of one metric against another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core_eval.log import EpisodeRow
from core_eval.log.charged import CHARGED
from core_eval.report.pictures.label_places import LabelPlaces
from core_eval.report.pictures.svg_parts import short_number, text, ticks
from core_eval.score.metrics import BY_NAME, LESS_IS_BETTER
from core_eval.score.repeated import by_agent, spread
from core_eval.statistics.estimates import Estimate
from core_eval.statistics.pareto import pareto_front

BARS = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_calls",
    "efficiency",
    CHARGED,
    "final_state_ok",
)
FORMS = {"flag": ".0%", "share": ".3f"}
WIDTH, HEIGHT = 330.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 42.0, 14.0, 12.0, 36.0

_At = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """An agent's mean in percents of the panel's width, with its interval where there is one."""

    agent: str
    letter: str
    share: float
    low: float | None
    high: float | None
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class Panel:
    """The bars of one metric."""

    heading: str
    less_is_better: bool
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Scatter:
    """A drawing of one metric against another; `told` says what it shows, in words."""

    title: str
    svg: str
    told: str


def letters(agents: Sequence[str]) -> dict[str, str]:
    """Return a letter for each agent: A to Z, then A1 and so on."""
    return {agent: f"{chr(65 + place % 26)}{place // 26 or ''}" for place, agent in enumerate(agents)}


class AgentCharts:
    """The charts of some episodes."""

    def __init__(self, episodes: Sequence[EpisodeRow]) -> None:
        agents = by_agent(episodes)
        self.letters = letters(list(agents))
        self._spread: dict[str, dict[str, Estimate]] = {
            agent: {name: spread(rows, name) for name in BARS} for agent, rows in agents.items()
        }

    def panels(self) -> list[Panel]:
        """Return a panel for each metric that any agent has."""
        return [panel for name in BARS if (panel := self._panel(name)).bars]

    def scatters(self) -> list[Scatter]:
        """Return PC against excess harm, and PC against the final-state check, where both are known."""
        drawn = [
            self._scatter(
                CHARGED,
                "path_correctness",
                "PC against excess harm",
                "On the line, the Pareto front, no other agent has more PC without more excess harm.",
                front=True,
            ),
            self._scatter(
                "final_state_ok",
                "path_correctness",
                "PC against the final-state check",
                "Below the dashed line the final state looks better than the path was.",
                front=False,
            ),
        ]
        return [one for one in drawn if one is not None]

    def _panel(self, name: str) -> Panel:
        metric = BY_NAME[name]
        known = {
            agent: (mean, own[name].low, own[name].high)
            for agent, own in self._spread.items()
            if (mean := own[name].mean) is not None
        }
        most = max((value or 0.0 for values in known.values() for value in values), default=0.0)
        full = 1.0 if metric.kind in ("share", "flag") else most or 1.0
        bars = []
        for agent, (mean, low, high) in known.items():
            both = low is not None and high is not None
            bars.append(
                Bar(
                    agent,
                    self.letters[agent],
                    100 * mean / full,
                    100 * max(low, 0.0) / full if low is not None and both else None,
                    100 * min(high, full) / full if high is not None and both else None,
                    f"{mean:{FORMS.get(metric.kind, '.3g')}}",
                    f"{short_number(low or 0.0)} to {short_number(high or 0.0)}" if both else "no interval",
                )
            )
        return Panel(metric.heading, name in LESS_IS_BETTER, tuple(bars))

    def _scatter(self, across: str, up: str, title: str, told: str, *, front: bool) -> Scatter | None:
        points: dict[str, tuple[float, float]] = {}
        for agent, own in self._spread.items():
            x, y = own[across].mean, own[up].mean
            if x is not None and y is not None:
                points[agent] = x, y
        if len(points) < 2:
            return None
        right = max(1.0 if BY_NAME[across].kind == "flag" else 0.0, *(x for x, _ in points.values())) or 1.0

        def at(x: float, y: float) -> tuple[float, float]:
            return (
                LEFT + x / right * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM),
            )

        parts = [
            f'<svg class="scatter" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{title}">',
            *_axes(at, right, BY_NAME[across].heading, BY_NAME[up].heading),
        ]
        line = _front(points, across, up, at) if front else [at(0, 0), at(1, 1)]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in line)
        parts.append(f'<path class="{"front" if front else "same"}" d="M{way}"/>')
        places = LabelPlaces(WIDTH, HEIGHT - BOTTOM)
        places.block(0.0, 0.0, LEFT - 2, HEIGHT)
        for x, y in _along(line):
            places.keep_clear(x, y, 1.5)
        spots = {agent: at(*point) for agent, point in points.items()}
        for x, y in spots.values():
            places.keep_clear(x, y, 5)
        for x, y in spots.values():
            parts.append(f'<circle class="agent" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        for agent, (x, y) in spots.items():
            parts.append(places.add(x, y, self.letters[agent], "letter", 5))
        return Scatter(title, "".join([*parts, "</svg>"]), told)


def _front(
    points: Mapping[str, tuple[float, float]], across: str, up: str, at: _At
) -> list[tuple[float, float]]:
    """Return the corners of the Pareto front's steps, from the first agent on it to the right edge."""
    best = pareto_front({agent: {across: x, up: y} for agent, (x, y) in points.items()}, LESS_IS_BETTER)
    corners: list[tuple[float, float]] = []
    for x, y in sorted({points[agent] for agent in best}):
        px, py = at(x, y)
        corners += [(px, corners[-1][1]), (px, py)] if corners else [(px, py)]
    return [*corners, (WIDTH - RIGHT, corners[-1][1])]


def _along(line: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield points every few units along a line."""
    for (x0, y0), (x1, y1) in pairwise(line):
        count = max(1, round(max(abs(x1 - x0), abs(y1 - y0)) / 4))
        yield from ((x0 + (x1 - x0) * k / count, y0 + (y1 - y0) * k / count) for k in range(count + 1))


def _axes(at: _At, right: float, across: str, up: str) -> list[str]:
    parts = []
    for tick in [0.0, *ticks(0.0, right, 4)]:
        x, y = at(tick, 0.0)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{y:.1f}"/>')
        parts.append(text(x, y + 14, short_number(tick), "faint"))
    for tick in (0.0, 0.5, 1.0):
        x, y = at(0.0, tick)
        parts.append(f'<path class="grid" d="M{x:.1f} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(text(x - 5, y + 4, f"{tick:.1f}", "faint", "end"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, across, "faint"))
    parts.append(text(4, TOP + 44, up, "faint", "start"))
    return parts
