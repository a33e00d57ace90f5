"""The effects of a sweep as a table: the same for a terminal and a page."""

from __future__ import annotations

from functools import partial

from core_eval.log.charged import CHARGED
from core_eval.report.tables.cards import card_columns
from core_eval.report.tables.columns import Column
from core_eval.report.tables.texts import difference_text, p_text
from core_eval.score.cards import Card
from core_eval.score.sweep import RIGHT, Effect
from core_eval.text.visible_text import visible

LIKE = {RIGHT: "accepted", CHARGED: CHARGED}
"""The metrics by which the measures are written."""
MEANING = (
    "Differences of pairs of the same model, task, seed and start, with their 95 % interval over tasks; two "
    "changes at once: what they do beyond the sum of each. p by a paired t test, corrected for all (Holm)."
)


def effect_columns() -> list[Column[Effect]]:
    """Return the columns of a table of effects."""
    return [
        Column("change", lambda one: visible(one.what), "words"),
        Column("pairs", lambda one: str(one.pairs), leaves=1),
        *(
            column
            for name, heading in ((RIGHT, "right"), (CHARGED, "excess cost"))
            for column in (
                Column(heading, partial(_difference, name)),
                Column("p", partial(_p, name), leaves=0 if name == RIGHT else 2),
            )
        ),
    ]


def setting_columns() -> list[Column[Card]]:
    """Return the columns of a table of models at settings."""
    return [
        Column[Card]("model", lambda card: visible(card.agent), "name"),
        Column[Card]("setting", lambda card: visible(card.left), "words"),
        *(
            one
            for one in card_columns([])
            if one.heading in ("right", "off path", "excess cost", "s each good")
        ),
        Column("episodes", lambda card: str(len(card.rows)), leaves=1),
    ]


def _difference(name: str, one: Effect) -> str:
    return difference_text(one.differences[name], LIKE[name], "\n")


def _p(name: str, one: Effect) -> str:
    return p_text(one.differences[name].p)
