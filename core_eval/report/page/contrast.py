"""Comparisons of two sets of episodes as one self-contained HTML page, a picture first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from core_eval.report.page.report import TEMPLATES, shown_value
from core_eval.report.pictures.contrast_picture import dumbbells, forest, overview
from core_eval.report.tables.agents import cell, detectable_text, difference_text, p_text
from core_eval.report.tables.contrast import arrow, grid_cell, lone_text, numbers_text, start_name
from core_eval.score.contrast import Contrast, Grid
from core_eval.score.metrics import BY_NAME, RANKING


@dataclass(frozen=True)
class MetricView:
    """A row of the table of metrics."""

    name: str
    before: str
    after: str
    difference: str
    effect: str
    p: str
    sees: str
    verdict: str


@dataclass(frozen=True)
class ChangeView:
    """A pair that changed."""

    task: str
    seed: int
    before: str
    after: str
    cells: list[str]


@dataclass(frozen=True)
class ContrastView:
    """A comparison with its pictures."""

    before: str
    after: str
    pairs: int
    forest: Markup
    tasks: Markup
    metrics: list[MetricView]
    changes: list[ChangeView]
    lone: list[str]


def contrast_page(title: str, grid: Grid, contrasts: Sequence[Contrast], alone: Sequence[str]) -> str:
    """Return the page; `alone` are lines about agents of one log only."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    scaffolds = list(dict.fromkeys(name for own in grid.values() for name in own))
    rows = [
        (model, [grid_cell(own[name]) if name in own else "-" for name in scaffolds])
        for model, own in grid.items()
    ]
    return environment.get_template("compare.html.j2").render(
        title=title,
        scaffolds=scaffolds,
        rows=rows,
        brief=[BY_NAME[name].heading for name in RANKING],
        overview=Markup(overview(contrasts)) if len(contrasts) > 1 else "",
        contrasts=[_view(one) for one in contrasts],
        alone=alone,
    )


def _view(one: Contrast) -> ContrastView:
    return ContrastView(
        one.before,
        one.after,
        one.pairs,
        Markup(forest(one)),
        Markup(dumbbells(one)),
        [
            MetricView(
                BY_NAME[name].heading,
                cell(name, one.means[name][0]),
                cell(name, one.means[name][1]),
                difference_text(summary, name),
                "-" if (effect := summary.effect_size()) is None else f"{effect:+.1f}",
                p_text(one.p_values.get(name)),
                detectable_text(name, one.detectable.get(name)),
                one.verdict(name),
            )
            for name, summary in one.differences.items()
            if summary.mean is not None
        ],
        [
            ChangeView(
                start_name(change.start),
                change.start[1],
                numbers_text(change.before),
                numbers_text(change.after),
                [arrow(*(cell(name, value) for value in change.values[name])) for name in RANKING],
            )
            for change in one.changes
        ],
        [
            f"only in {name}: {lone_text(lone, len(lone))}"
            for name, lone in ((one.before, one.only_before), (one.after, one.only_after))
            if lone
        ],
    )
