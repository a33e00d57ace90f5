"""Pictures of a comparison: differences with their intervals, and path correctness by task before and after.

Positions along a row are percentages, so that the text keeps its size at any width of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from core_eval.report.pictures.plot import Scale, text
from core_eval.report.tables.texts import difference_text
from core_eval.score.contrast import Contrast, Verdict
from core_eval.score.metrics import BY_NAME
from core_eval.statistics.estimates import Estimate

ROW = 44
"""Height of a row, px: a line of text and its track."""
LEFT, WIDTH = 3.0, 94.0
"""Where a track begins, and its width, % of the picture."""
MOST_TASKS = 60


def forest(one: Contrast) -> str:
    """Return the differences of shares and flags with their intervals, right of zero where more."""
    label = "difference of each metric with its 95 % interval"
    rows = [
        (BY_NAME[name].heading, name, difference, one.verdict(name))
        for name, difference in one.differences.items()
        if BY_NAME[name].kind in ("share", "flag")
    ]
    return _forest(label, rows)


def overview(contrasts: Sequence[Contrast]) -> str:
    """Return the difference of path correctness of each comparison with its interval."""
    name = "path_correctness"
    rows = [
        (f"{one.before} \u2192 {one.after}", name, one.differences[name], one.verdict(name))
        for one in contrasts
    ]
    return _forest("difference of path correctness of each comparison with its 95 % interval", rows)


def _forest(label: str, rows: Sequence[tuple[str, str, Estimate, Verdict]]) -> str:
    shown = [row for row in rows if row[2].mean is not None]
    ends = [end for *_, one, _ in shown for end in (one.low, one.high, one.mean) if end is not None]
    reach = max(0.1, ceil(max(map(abs, ends), default=0.0) * 10) / 10)

    scale = Scale((-reach, reach), (LEFT, LEFT + WIDTH))

    def place(value: float) -> str:
        return f"{scale(value):.2f}%"

    parts = []
    for number, (heading, name, summary, word) in enumerate(shown):
        assert summary.mean is not None
        y = number * ROW + 32
        kind = word or "same"
        parts += _row_text(number, heading, difference_text(summary, name))
        parts.append(_track(y))
        if summary.low is not None and summary.high is not None:
            parts.append(_line(place(summary.low), place(summary.high), y, f"interval {kind}"))
        parts.append(f'<circle class="dot {kind}" cx="{place(summary.mean)}" cy="{y}" r="5"/>')
    bottom = len(shown) * ROW
    zero = f'<line class="zero" x1="{place(0)}" x2="{place(0)}" y1="22" y2="{bottom}"/>'
    axis = _axis([(-reach, f"-{reach:g}"), (0.0, "0"), (reach, f"+{reach:g}")], place, bottom)
    return _svg(label, bottom + 22, [zero, *parts, *axis])


def dumbbells(one: Contrast) -> str:
    """Return each task's path correctness: a ring before, a dot after; the largest changes first."""
    known = [
        (task, old, new) for task, (old, new) in one.tasks.items() if old is not None and new is not None
    ]
    known.sort(key=lambda row: -abs(row[2] - row[1]))
    rows = []
    for number, (task, old, new) in enumerate(known[:MOST_TASKS]):
        y = number * ROW + 32
        told = f"{old:.2f}" if old == new else f"{old:.2f} → {new:.2f}"
        rows += _row_text(number, task, told)
        rows += [_track(y), _line(_percent(old), _percent(new), y, "interval same")]
        rows.append(f'<circle class="ring" cx="{_percent(old)}" cy="{y}" r="5.5"/>')
        rows.append(f'<circle class="dot same" cx="{_percent(new)}" cy="{y}" r="4"/>')
    bottom = min(len(known), MOST_TASKS) * ROW
    axis = _axis([(0.0, "0"), (0.5, "0.5"), (1.0, "1")], _percent, bottom)
    return _svg("path correctness of each task before and after", bottom + 22, [*rows, *axis])


def _percent(share: float) -> str:
    return f"{LEFT + WIDTH * share:.2f}%"


def _row_text(number: int, name: str, value: str) -> list[str]:
    y = number * ROW + 18
    return [text("0", y, name, "", "start"), text("100%", y, value, "value", "end")]


def _track(y: int) -> str:
    return _line(_percent(0), _percent(1), y, "track")


def _line(start: str, end: str, y: int, name: str) -> str:
    return f'<line class="{name}" x1="{start}" x2="{end}" y1="{y}" y2="{y}"/>'


def _axis(ticks: Sequence[tuple[float, str]], place: Callable[[float], str], bottom: int) -> list[str]:
    anchors = ("start", "middle", "end")
    return [
        text(place(value), bottom + 14, words, "tick", anchor)
        for (value, words), anchor in zip(ticks, anchors, strict=True)
    ]


def _svg(label: str, height: int, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return (
        f'<svg class="contrast" role="img" aria-label="{label}" width="100%" height="{height}">{inside}</svg>'
    )
