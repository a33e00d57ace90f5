"""A board: the cards of many benches on one page, an exam a table, which can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core_eval.report.page.templating import Script, environment_of_pages
from core_eval.report.tables.cards import card_columns
from core_eval.report.tables.columns import Column, page_table
from core_eval.report.tables.sweep import MEANING, effect_columns, setting_columns
from core_eval.score.cards import Card, Checked, front

Row = tuple[Checked, Card]


def board_page(bundles: Sequence[Checked], refused: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        bundles: those that agree with their logs.
        refused: why each other file is left out, by its name.
    """
    exams: dict[str, list[Checked]] = {}
    for one in bundles:
        if not one.effects:
            exams.setdefault(one.exam.digest, []).append(one)
    return (
        environment_of_pages()
        .get_template("board.html.j2")
        .render(
            title="board",
            script=Script.of("board.js"),
            exams=[_exam(own) for own in exams.values()],
            sweeps=[_sweep(one) for one in bundles if one.effects],
            meaning=MEANING,
            refused=sorted(refused.items()),
        )
    )


def _exam(bundles: Sequence[Checked]) -> dict[str, Any]:
    rows: list[Row] = [(one, card) for one in bundles for card in one.result.cards if card.rows]
    best = front([card for _, card in rows])
    columns: list[Column[Row]] = [
        *(
            Column[Row](one.heading, _of_card(one), one.kind, 0, one.more)
            for one in card_columns(best)
            if one.heading
        ),
        Column("machine", lambda row: str(row[0].machine.get("machine", "-")), "words", 0, True),
        Column("bundle", lambda row: row[0].name, "words", 0, True),
        Column("checked", lambda row: row[0].standing, "words"),
    ]
    first = bundles[0]
    return {
        "exam": f"{first.exam.name} {first.exam.digest}",
        "suites": ", ".join(f"{suite.name} {suite.version}" for suite in first.suites),
        "table": page_table(columns, rows),
        "sentences": [(one.name, one.result.sentence, one.notes) for one in bundles],
    }


def _sweep(one: Checked) -> dict[str, Any]:
    return {
        "name": one.name,
        "exam": f"{one.exam.name} {one.exam.digest}",
        "suites": ", ".join(f"{suite.name} {suite.version}" for suite in one.suites),
        "sentence": one.result.sentence,
        "standing": one.standing,
        "notes": one.notes,
        "effects": page_table(effect_columns(), one.effects),
        "settings": page_table(setting_columns(), one.result.cards),
    }


def _of_card(column: Column[Card]) -> Any:
    return lambda row: column.cell(row[1])
