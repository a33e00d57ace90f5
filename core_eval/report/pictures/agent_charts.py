"""Charts that compare agents: means of one metric against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core_eval.log import CHARGED, EpisodeRow
from core_eval.report.pictures.plot import Plot, Scale
from core_eval.score.agent_names import short_names
from core_eval.score.metrics import BY_NAME, LESS_IS_BETTER
from core_eval.score.outcome import headline
from core_eval.score.repeated import by_agent
from core_eval.score.summary import mean
from core_eval.statistics.pareto import pareto_front

WIDTH, HEIGHT = 330.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 42.0, 14.0, 24.0, 36.0


@dataclass(frozen=True, slots=True)
class Scatter:
    """A drawing of one metric against another; `told` says what it shows, in words."""

    title: str
    svg: str
    told: str


def scatters(episodes: Sequence[EpisodeRow]) -> list[Scatter]:
    """Return PC against excess harm, and PC against the final-state check, where both are known."""
    drawn = [
        _scatter(
            episodes,
            CHARGED,
            "PC against excess harm",
            "On the line, the Pareto front, no other agent has more PC without more excess harm.",
        ),
        _scatter(
            episodes,
            "final_state_ok",
            "PC against the final-state check",
            "Below the dashed line the final state looks better than the path was.",
        ),
    ]
    return [one for one in drawn if one is not None]


def _scatter(episodes: Sequence[EpisodeRow], across: str, title: str, told: str) -> Scatter | None:
    agents = by_agent(headline(episodes))
    names = short_names(agents)
    points: dict[str, tuple[float, float]] = {}
    for agent, rows in agents.items():
        x, y = mean(rows, across), mean(rows, "path_correctness")
        if x is not None and y is not None:
            points[agent] = x, y
    if len(points) < 2:
        return None
    flag = BY_NAME[across].kind == "flag"
    right = max(1.0 if flag else 0.0, *(x for x, _ in points.values())) or 1.0
    plot = Plot(
        "scatter",
        title,
        WIDTH,
        HEIGHT,
        Scale((0.0, right), (LEFT, WIDTH - RIGHT)),
        Scale((0.0, 1.0), (HEIGHT - BOTTOM, TOP)),
    )
    plot.axes(across=[0.0, *plot.x.ticks(4)], up=(0.0, 0.5, 1.0))
    plot.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, BY_NAME[across].heading)
    plot.text(4, TOP - 10, BY_NAME["path_correctness"].heading, anchor="start")
    line = [(0.0, 0.0), (1.0, 1.0)] if flag else _front(points, across, right)
    plot.line(line, "same" if flag else "front")
    plot.labels.block(0.0, HEIGHT - BOTTOM, WIDTH, HEIGHT)
    plot.labels.block(0.0, 0.0, LEFT - 2, HEIGHT)
    plot.labels.keep_clear_along([plot.at(point) for point in line], 1.5, 4.0)
    for agent, point in points.items():
        plot.labels.keep_clear(*plot.at(point), 5)
        plot.dot(point, "agent", 5, names[agent])
    for agent, point in points.items():
        plot.add(plot.labels.add(*plot.at(point), names[agent], "name", 5))
    return Scatter(title, plot.svg(), told)


def _front(points: Mapping[str, tuple[float, float]], across: str, right: float) -> list[tuple[float, float]]:
    """Return the corners of the Pareto front's steps, from the first agent on it to the right edge."""
    up = "path_correctness"
    best = pareto_front({agent: {across: x, up: y} for agent, (x, y) in points.items()}, LESS_IS_BETTER)
    corners: list[tuple[float, float]] = []
    for x, y in sorted({points[agent] for agent in best}):
        corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
    return [*corners, (right, corners[-1][1])]
