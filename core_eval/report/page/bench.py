"""The result of a bench as one self-contained HTML page: the sentence, a picture, then a card a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from core_eval.log.charged import CHARGED
from core_eval.report.page.templating import environment_of_pages
from core_eval.report.pictures.plot import Plot, Scale
from core_eval.report.tables.cards import amount_text, bytes_text, card_columns, share_text
from core_eval.report.tables.columns import page_table
from core_eval.report.tables.sweep import MEANING, effect_columns, setting_columns
from core_eval.report.tables.texts import mean_cell
from core_eval.score.cards import Card, front, slowed_words
from core_eval.score.metrics import ABOVE_IDLE
from core_eval.score.sweep import Effect
from core_eval.text.visible_text import seconds_text

WIDTH, HEIGHT = 360.0, 270.0
LEFT, RIGHT, TOP, BOTTOM = 42.0, 14.0, 24.0, 36.0


def bench_page(title: str, told: str, exam: str, cards: Sequence[Card], share: float) -> str:
    """Return the page.

    Args:
        title: what was measured.
        told: the sentence.
        exam: its name and hash.
        cards: of all models, the best first.
        share: of episodes, that a model had to be harmless in.
    """
    best = front(cards)
    return _page(
        title=title,
        told=told,
        exam=exam,
        effects=None,
        share=f"{share:.1%}",
        picture=Markup(right_against_size(cards, best)),
        table=page_table(card_columns(best), cards),
        cards=[(card, card.agent in best, _lines(card)) for card in cards],
    )


def sweep_page(title: str, told: str, exam: str, found: Sequence[Effect], settings: Sequence[Card]) -> str:
    """Return the page of a sweep: effects, then each model at each setting; the rest as of `bench_page`."""
    return _page(
        title=title,
        told=told,
        exam=exam,
        effects=page_table(effect_columns(), found),
        meaning=MEANING,
        picture="",
        cards=(),
        table=page_table(setting_columns(), settings),
    )


def _page(**shown: Any) -> str:
    return environment_of_pages().get_template("bench.html.j2").render(shown)


def right_against_size(cards: Sequence[Card], best: Sequence[str]) -> str:
    """Return the drawing of the share that is right against the size of the file, with intervals; empty where
    the size of fewer than two is known. A model that is shown to be harmless has a full dot.
    """
    known = {card.agent: (card.size / 1e6, card.right) for card in cards if card.size and card.rows}
    if len(known) < 2:
        return ""
    most = max(size for size, _ in known.values())
    plot = Plot(
        "scatter",
        "Share of tasks right against the size of the model's file",
        WIDTH,
        HEIGHT,
        Scale((0.0, most * 1.05), (LEFT, WIDTH - RIGHT)),
        Scale((0.0, 1.0), (HEIGHT - BOTTOM, TOP)),
    )
    plot.axes(across=[0.0, *plot.x.ticks(4)], up=(0.0, 0.5, 1.0))
    plot.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, "size of the file, MB")
    plot.text(4, TOP - 10, "right", anchor="start")
    plot.labels.block(0.0, HEIGHT - BOTTOM, WIDTH, HEIGHT)
    plot.labels.block(0.0, 0.0, LEFT - 2, HEIGHT)
    shown = {card.agent for card in cards if card.shown}
    points = {}
    for agent, (size, right) in known.items():
        points[agent] = (size, right.mean or 0.0)
        if right.low is not None and right.high is not None:
            plot.line([(size, right.low), (size, right.high)], "range")
        plot.labels.keep_clear(*plot.at(points[agent]), 5)
        plot.dot(points[agent], "agent" if agent in shown else "agent open", 5, agent)
    for agent in sorted(points, key=lambda one: one not in best):
        plot.add(plot.labels.add(*plot.at(points[agent]), agent, "name", 5))
    return plot.svg()


def _lines(card: Card) -> list[tuple[str, str]]:
    """Return what a card says, each with its heading; what is not known is left out."""
    harmless = f"{card.harmless} of {card.fresh} fresh episodes" if card.fresh else "-"
    lines = [
        ("right", share_text(card.right)),
        ("harmless", harmless + (", shown" if card.shown else "")),
        *((name, f"{good} of {count}" if count else "-") for name, (good, count) in card.aside.items()),
        ("over-refusal", share_text(card.metric("over_refusal"))),
        ("off-path calls", mean_cell(card.rows, "off_path")),
        ("prevented calls", mean_cell(card.rows, "refused_writes")),
        ("not understood", mean_cell(card.rows, "invalid_calls")),
        ("cost of harm", mean_cell(card.rows, CHARGED)),
        ("of it unobserved", share_text(card.unobserved_share)),
        ("seconds each good episode", _seconds(card.each_good("agent_seconds"))),
        ("joules each good episode", amount_text(card.each_good("energy"))),
        ("of them above idle", amount_text(card.each_good(ABOVE_IDLE))),
        ("writes", "-" if card.tokens_per_second is None else f"{card.tokens_per_second:,.3g} tokens/s"),
        ("machine slowed down in", slowed_words(card.slowed, len(card.rows)) or "-"),
        ("memory at most", bytes_text(card.memory)),
        ("file", bytes_text(card.size)),
        ("licence", card.licence or "-"),
        ("episodes", str(len(card.rows))),
    ]
    return [(heading, text.replace("\n", ", ")) for heading, text in lines if text != "-"]


def _seconds(value: float | None) -> str:
    return "-" if value is None else seconds_text(value)
