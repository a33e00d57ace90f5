"""Draws an episode as a row of its calls: which led on, which did not, and the first that was wrong."""

from __future__ import annotations

from collections.abc import Sequence

from core_eval.log import StepRow
from core_eval.path.calls import StepKind
from core_eval.report.pictures.plot import LETTER, Plot, Scale
from core_eval.report.tables.texts import call_text

WIDTH, HIGH, WIDEST, LINE = 330.0, 22.0, 22.0, 15.0
MOST = 60
"""Calls that are drawn; of more, the first ones."""


def call_strip(steps: Sequence[StepRow], expected: str) -> str:
    """Return the drawing; `expected` is what the task wanted in place of the first harmful call."""
    shown = steps[:MOST]
    wide = min(WIDEST, WIDTH / max(1, len(shown)))
    wrong = next((step for step in steps if step.kind == StepKind.HARMFUL), None)
    lines = []
    if wrong is not None:
        lines.append(("wrong", f"{wrong.k}: {call_text(wrong.tool, wrong.arguments or {})}"))
        lines += [("due", f"expected: {expected}")] if expected else []
    scale = Scale((0.0, max(1.0, len(shown))), (0.0, max(1, len(shown)) * wide))
    label = f"{len(steps)} calls, the first wrong one: {lines[0][1] if lines else 'none'}"
    plot = Plot("calls", label, WIDTH, HIGH + 4 + LINE * len(lines), scale)
    for place, step in enumerate(shown):
        x = scale(place)
        plot.add(
            f'<rect class="call {step.kind or "unknown"}" x="{x + 0.5:.1f}" y="0.5" width="{wide - 1:.1f}" '
            f'height="{HIGH - 1}"/>'
        )
        if wide > 2.4 * LETTER or (wide > LETTER * 1.5 and place < 10):
            plot.text(x + wide / 2, 15, str(step.k), "n")
    for place, (kind, words) in enumerate(lines):
        most = int(WIDTH / 6.2)
        told = words if len(words) <= most else f"{words[: most - 1]}…"
        plot.text(0, HIGH + LINE * (place + 1) - 1, told, kind, "start")
    return plot.svg()
