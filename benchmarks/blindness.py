"""What each metric sees of each kind of mistake: skips, swaps, wrong arguments, repeats, insertions.

Every task of a suite is run with `mutated:RATE:KIND` at growing rates, in this process. The curves are
written as an SVG file with one panel a metric and one line a kind, and printed as a table. A flat line is a
blind spot.

    python benchmarks/blindness.py --suite core --episodes 3 -o build/blindness.svg
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.table import Table

from agents.baselines.mutated import KINDS
from configs.suites import read_suite, task_ref
from core_eval.log import EpisodeRow, LogReader, RunLog
from core_eval.log.events import ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.score.metrics import BY_NAME
from core_eval.score.summary import mean

METRICS = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_call_rate",
    "efficiency",
    "path_correctness_hlr",
    "final_state_ok",
    "response_ok",
    "harm_events",
    "unobserved_harm",
)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
DASHES = ("", "6 3", "2 2", "8 2 2 2", "1 3")
"""Lines differ by dash too, for those who do not tell colours apart."""
PANEL_W, PANEL_H, MARGIN = 190, 130, 34
COLUMNS = 2

Curves = Mapping[str, Mapping[str, Sequence[float | None]]]
"""Metric to kind to the mean at each rate."""


def measure(suite: str, rates: Sequence[float], episodes: int, seed: int) -> Curves:
    """Return the mean of each metric at each rate of each kind of mistake, over all tasks of a suite."""
    tasks = [task for task in read_suite(suite).tasks if task.world is not None]
    specs = {(kind, rate): f"mutated:{rate:g}:{kind}" for kind in KINDS for rate in rates}
    cells = tuple(
        Cell(task=task_ref(task), rig=f"sim:{task.world.name}", agent=spec)
        for spec in specs.values()
        for task in tasks
        if task.world is not None
    )
    config = RunConfig(cells=cells, episodes=episodes, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        with RunLog(path) as log:
            Run(config, load_parts(config), log, ignore).start()
        with LogReader(path) as reader:
            rows = reader.episodes()
    by_agent: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        by_agent.setdefault(row.agent, []).append(row)
    return {
        metric: {kind: [mean(by_agent[specs[kind, rate]], metric) for rate in rates] for kind in KINDS}
        for metric in METRICS
    }


def drop(values: Sequence[float | None]) -> float | None:
    """Return how far a metric moves from the first rate to the last; None where either is undefined."""
    first, last = values[0], values[-1]
    return None if first is None or last is None else last - first


def table(curves: Curves) -> Table:
    """Return how far each kind of mistake moves each metric."""
    found = Table(title="Change of each metric from the lowest rate to the highest")
    found.add_column("metric")
    for kind in KINDS:
        found.add_column(kind, justify="right")
    for metric, own in curves.items():
        moved = (drop(own[kind]) for kind in KINDS)
        found.add_row(BY_NAME[metric].heading, *("-" if one is None else f"{one:+.2f}" for one in moved))
    return found


def svg(curves: Curves, rates: Sequence[float]) -> str:
    """Return the curves as an SVG picture, two panels wide."""
    rows = -(-len(curves) // COLUMNS)
    width, height = COLUMNS * (PANEL_W + MARGIN) + 10, rows * (PANEL_H + 2 * MARGIN) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for place, kind in enumerate(KINDS):
        x = MARGIN + place * (width - 2 * MARGIN) / len(KINDS)
        parts.append(
            f'<path d="M{x:.0f} 14h18" {_stroke(place)}/><text x="{x + 22:.0f}" y="18">{kind}</text>'
        )
    for place, (metric, own) in enumerate(curves.items()):
        x = MARGIN + place % COLUMNS * (PANEL_W + MARGIN)
        y = 30 + MARGIN / 2 + place // COLUMNS * (PANEL_H + 2 * MARGIN)
        parts += _panel(BY_NAME[metric].heading, own, rates, x, y)
    return "\n".join([*parts, "</svg>"])


def _stroke(place: int) -> str:
    dash = f' stroke-dasharray="{DASHES[place]}"' if DASHES[place] else ""
    return f'fill="none" stroke="{COLOURS[place]}" stroke-width="1.8"{dash}'


def _panel(
    heading: str, own: Mapping[str, Sequence[float | None]], rates: Sequence[float], x: float, y: float
) -> list[str]:
    values = [value for line in own.values() for value in line if value is not None]
    top = max(1.0, *values) if values else 1.0
    parts = [
        f'<text x="{x:.0f}" y="{y - 6:.0f}" font-weight="bold">{escape(heading)}</text>',
        f'<path d="M{x:.1f} {y:.1f}v{PANEL_H}h{PANEL_W}" fill="none" stroke="#555555"/>',
        f'<text x="{x - 4:.0f}" y="{y + 8:.0f}" text-anchor="end">{top:g}</text>'
        if top == round(top)
        else f'<text x="{x - 4:.0f}" y="{y + 8:.0f}" text-anchor="end">{top:.1f}</text>',
        f'<text x="{x - 4:.0f}" y="{y + PANEL_H:.0f}" text-anchor="end">0</text>',
        f'<text x="{x:.0f}" y="{y + PANEL_H + 14:.0f}">{rates[0]:g}</text>',
        f'<text x="{x + PANEL_W:.0f}" y="{y + PANEL_H + 14:.0f}" text-anchor="end">rate {rates[-1]:g}</text>',
    ]
    span = rates[-1] - rates[0] or 1.0
    for place, line in enumerate(own.values()):
        points = " ".join(
            f"{x + PANEL_W * (rate - rates[0]) / span:.1f},{y + PANEL_H * (1 - value / top):.1f}"
            for rate, value in zip(rates, line, strict=True)
            if value is not None
        )
        parts.append(f'<polyline points="{points}" {_stroke(place)}/>')
    return parts


def main() -> None:
    """Measure, print, and write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", default="core")
    parser.add_argument("--episodes", type=int, default=1, help="episodes of each task at each rate")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="write the curves to this SVG file")
    given = parser.parse_args()
    curves = measure(given.suite, given.rates, given.episodes, given.seed)
    Console().print(table(curves))
    if given.output is not None:
        given.output.write_text(svg(curves, given.rates), encoding="utf-8")


if __name__ == "__main__":
    main()
