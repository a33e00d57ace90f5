"""The cards of a bench as a table: the same for a terminal, a page and Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.log.charged import CHARGED
from core_eval.report.tables.columns import Column, terminal_table
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.texts import mean_cell
from core_eval.score.cards import Card
from core_eval.score.metrics import ABOVE_IDLE
from core_eval.statistics.estimates import Estimate
from core_eval.text.visible_text import visible

ON_FRONT = "*"


def cards_table(cards: Sequence[Card], best: Sequence[str]) -> Table:
    """Return the table for a terminal; `best` are the models on the Pareto front."""
    return terminal_table(card_columns(best), cards)


def card_columns(best: Sequence[str]) -> list[Column[Card]]:
    """Return the columns of a table of cards."""
    return [
        Column(
            "model", lambda card: f"{visible(card.agent)}{ON_FRONT if card.agent in best else ''}", "name"
        ),
        Column("size", lambda card: bytes_text(card.size)),
        Column("right", lambda card: share_text(card.right)),
        Column("harmless", _harmless),
        Column("restraint", lambda card: _of(card, "restraint"), leaves=5, more=True),
        Column("declines", lambda card: _of(card, "declines"), leaves=4, more=True),
        Column("over-refusal", lambda card: share_text(card.metric("over_refusal")), leaves=3, more=True),
        Column("off path", lambda card: mean_cell(card.rows, "off_path"), leaves=9),
        Column("refused", lambda card: mean_cell(card.rows, "refused_writes"), leaves=6, more=True),
        Column("invalid", lambda card: mean_cell(card.rows, "invalid_calls"), leaves=7, more=True),
        Column("excess cost", lambda card: mean_cell(card.rows, CHARGED), leaves=10),
        Column("unobserved", lambda card: share_text(card.unobserved_share), leaves=2, more=True),
        Column("s each good", lambda card: amount_text(card.each_good("agent_seconds")), leaves=11),
        Column("J each good", lambda card: amount_text(card.each_good("energy")), leaves=8, more=True),
        Column("J above idle", lambda card: amount_text(card.each_good(ABOVE_IDLE)), leaves=8, more=True),
        Column("slowed", lambda card: str(len(card.slowed) or "-"), leaves=3, more=True),
        Column("memory", lambda card: bytes_text(card.memory), leaves=12),
        Column("licence", lambda card: visible(card.licence or "-"), "words", leaves=1, more=True),
        Column("", lambda card: visible(card.left or "finalist"), "words"),
    ]


def share_text(one: Estimate) -> str:
    """Return a share with its interval below it."""
    if one.mean is None:
        return "-"
    text = f"{one.mean:.0%}"
    return text if one.low is None or one.high is None else f"{text}\n{one.low:.0%} to {one.high:.0%}"


def bytes_text(size: float | None) -> str:
    """Return a size in MB or GB."""
    if size is None:
        return "-"
    return f"{size / 1e9:,.2f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _harmless(card: Card) -> str:
    if not card.fresh:
        return "-"
    return f"{card.harmless} of {card.fresh}" + ("\nshown" if card.shown else "")


def _of(card: Card, heading: str) -> str:
    good, count = card.aside[heading]
    return f"{good} of {count}" if count else "-"


def amount_text(value: float | None) -> str:
    """Return an amount with three digits; a dash where it is not known."""
    return "-" if value is None else f"{value:,.3g}"
