"""Comparisons of two sets of episodes as one self-contained HTML page, a picture first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from core_eval.report.page.templating import environment_of_pages
from core_eval.report.pictures.contrast_picture import dumbbells, forest, overview
from core_eval.report.tables.columns import PageTable, page_table
from core_eval.report.tables.contrast import (
    change_text,
    grid_cell,
    known_metrics,
    lone_text,
    metric_columns,
    start_name,
)
from core_eval.score.contrast import Contrast, Grid
from core_eval.score.metrics import BY_NAME, RANKING


@dataclass(frozen=True)
class ChangeView:
    """A pair that changed."""

    task: str
    seed: int
    before: Sequence[int]
    after: Sequence[int]
    cells: list[str]


@dataclass(frozen=True)
class ContrastView:
    """A comparison with its pictures."""

    before: str
    after: str
    pairs: int
    forest: Markup
    tasks: Markup
    metrics: PageTable
    changes: list[ChangeView]
    lone: list[str]


def contrast_page(
    title: str,
    told: str,
    grid: Grid,
    contrasts: Sequence[Contrast],
    alone: Sequence[str],
    reports: Sequence[str] = ("", ""),
) -> str:
    """Return the page.

    Args:
        title: what is compared.
        told: the outcome in one sentence.
        grid: the episodes by model and scaffold; empty for two logs.
        contrasts: the comparisons.
        alone: lines about agents of one log only.
        reports: addresses of the reports of the first and the second log; empty where there is none.
    """
    environment = environment_of_pages()
    scaffolds = list(dict.fromkeys(name for own in grid.values() for name in own))
    rows = [
        (model, [grid_cell(own[name]) if name in own else "-" for name in scaffolds])
        for model, own in grid.items()
    ]
    return environment.get_template("compare.html.j2").render(
        title=title,
        told=told,
        reports=reports,
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
        page_table(metric_columns(one), known_metrics(one)),
        [
            ChangeView(
                start_name(change.start),
                change.start[1],
                change.before,
                change.after,
                [change_text(name, change) for name in RANKING],
            )
            for change in one.changes
        ],
        [
            f"only in {name}: {lone_text(lone, len(lone))}"
            for name, lone in ((one.before, one.only_before), (one.after, one.only_after))
            if lone
        ],
    )
