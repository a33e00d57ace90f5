"""Draws one harm event as inline SVG: true signal and limit above, coarse sensors below.

Solid is the episode, dashed the same episode without the harm; the band is the time of the harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any
from xml.sax.saxutils import escape

from core_eval.harm.event_trace import EventTrace, Point
from core_eval.log import HarmRow
from core_eval.log.rows import SampleRow
from core_eval.report.pictures.svg_parts import text as _text
from core_eval.report.pictures.svg_parts import ticks
from core_eval.report.pictures.timeline import sensors_of
from devices.sensors import Sample

WIDTH = 720.0
LEFT, RIGHT = 124.0, 16.0
LABEL = 13
"""Letters of a line of a sensor's name."""
TOP, PANEL, GAP, ROW, BOTTOM = 40.0, 170.0, 14.0, 46.0, 30.0
MARGIN_SHARE = 0.08
LONG_S = 7200.0
"""From this window on, s, the axis is in hours."""


def event_svg(event: HarmRow, trace: EventTrace, samples: Sequence[SampleRow], unit: str) -> str:
    """Return the drawing, as wide as its place; it takes its colours from the page."""
    sensors = sensors_of(event, samples)
    height = TOP + PANEL + GAP + ROW * len(sensors) + BOTTOM
    end = TOP + PANEL + GAP + ROW * len(sensors)
    label = f"{event.kind.replace('_', ' ')} of {event.entity}: true signal, limit and coarse samples"
    band_from, band_to = _x(trace, event.t_start), _x(trace, event.t_end)
    parts = [
        f'<svg class="event" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">',
        f'<rect class="band" x="{band_from:.1f}" y="{TOP}" width="{max(band_to - band_from, 2.0):.1f}" '
        f'height="{end - TOP:.1f}"/>',
        *_legend(trace),
        *_panel(trace, unit),
    ]
    for row, sensor in enumerate(sensors):
        own = [(sample.t, sample.value) for sample in samples if sample.sensor == sensor]
        logged = max((t for t, _ in own), default=0.0)
        # Samples after the last call exist only in the replay.
        own += [point for point in _of(sensor, trace.samples) if point[0] > logged]
        other = _of(sensor, trace.counterfactual_samples)
        parts += _sensor_row(trace, TOP + PANEL + GAP + ROW * row, sensor, own, other, event)
    parts += _time_axis(trace, end)
    return "".join([*parts, "</svg>"])


def _legend(trace: EventTrace) -> list[str]:
    remedy = trace.remedy.replace("_", " ")
    entries = [
        ("signal", "true signal"),
        ("limit", "limit"),
        ("counter", f"without the harm ({remedy})"),
    ]
    parts, x = [], LEFT
    for kind, words in entries:
        if kind == "limit" and not trace.limit:
            continue
        parts.append(f'<path class="{kind}" d="M{x:.1f} 14h22"/>')
        parts.append(_text(x + 28, 18, words, "faint", "start"))
        x += 46 + 6.3 * len(words)
    parts.append(f'<rect class="band" x="{x:.1f}" y="8" width="22" height="12"/>')
    parts.append(_text(x + 28, 18, "harm", "faint", "start"))
    return parts


def _panel(trace: EventTrace, unit: str) -> list[str]:
    values = [value for line in (trace.signal, trace.limit, trace.counterfactual) for _, value in line]
    low, high = min(values), max(values)
    margin = (high - low) * MARGIN_SHARE or max(abs(high), 1.0) * MARGIN_SHARE
    low, high = low - margin, high + margin

    def y(value: float) -> float:
        return TOP + PANEL - (value - low) / (high - low) * PANEL

    parts = [f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{PANEL}"/>']
    for tick in ticks(low, high):
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 6, y(tick) + 4, f"{tick:.6g}", "faint", "end"))
    parts.append(_text(LEFT - 6, TOP - 8, unit, "faint", "end"))
    for kind, line in (("limit", trace.limit), ("counter", trace.counterfactual), ("signal", trace.signal)):
        if line:
            parts.append(f'<path class="{kind}" d="{_path(trace, line, y)}"/>')
    return parts


def _path(trace: EventTrace, line: Sequence[Point], y: Any) -> str:
    return "M" + "L".join(f"{_x(trace, t):.1f} {y(value):.1f}" for t, value in line)


def _sensor_row(
    trace: EventTrace,
    top: float,
    sensor: str,
    own: list[tuple[float, Any]],
    other: list[tuple[float, Any]],
    event: HarmRow,
) -> list[str]:
    evidence = event.evidence if event.evidence and event.evidence["sensor"] == sensor else None
    own, other = _shown(trace, own), _shown(trace, other)
    words = list(dict.fromkeys(value for _, value in (*own, *other)))
    if all(isinstance(word, int | float) for word in words):
        words.sort()
    low, high = top + ROW - 12, top + 12
    y = {word: low - place / max(len(words) - 1, 1) * (low - high) for place, word in enumerate(words)}
    parts = [
        _text(8, top + 14 + 13 * place, line, "faint", "start")
        for place, line in enumerate(wrap(sensor.replace("_", " ").replace(".", " "), LABEL)[:3])
    ]
    for word in words if len(words) <= 2 else (words[0], words[-1]):
        parts.append(_text(LEFT - 6, y[word] + 4, _word(word), "faint", "end"))
    for line, mark, name in ((other, "hollow", "counter"), (own, "dot", "signal")):
        path = ""
        for place, (t, value) in enumerate(line):
            x = _x(trace, t)
            path += f"H{x:.1f}V{y[value]:.1f}" if place else f"M{x:.1f} {y[value]:.1f}"
            if t >= trace.first:
                radius = 3.0 if mark == "dot" else 5.0
                parts.append(f'<circle class="{mark}" cx="{x:.1f}" cy="{y[value]:.1f}" r="{radius}"/>')
        if path:
            path += f"H{WIDTH - RIGHT}"
            parts.append(f'<path class="{name} thin" d="{path}"/>')
    if evidence is not None:
        moment = evidence["t"] if evidence["t"] is not None else evidence["counterfactual_t"]
        x = _x(trace, float(moment))
        parts.append(f'<path class="differs" d="M{x:.1f} {top + 4:.1f}V{top + ROW - 4:.1f}"/>')
        parts.append(_text(min(x + 5, WIDTH - 110), top + 10, "first difference", "differs-text", "start"))
    return parts


def _of(sensor: str, samples: Sequence[Sample]) -> list[tuple[float, Any]]:
    return [(sample.t, _plain(sample.value)) for sample in samples if sample.sensor == sensor]


def _shown(trace: EventTrace, points: Sequence[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """Return those in the window, and the last one before it."""
    before = [point for point in points if point[0] < trace.first]
    return [*before[-1:], *(point for point in points if trace.first <= point[0] <= trace.last)]


def _time_axis(trace: EventTrace, y: float) -> list[str]:
    parts = []
    unit, seconds = ("s", 1.0) if trace.last - trace.first < LONG_S else ("h", 3600.0)
    for tick in ticks(trace.first / seconds, trace.last / seconds):
        x = _x(trace, tick * seconds)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{y:.1f}"/>')
        parts.append(_text(x, y + 16, f"{tick:.6g} {unit}", "faint"))
    return parts


def _x(trace: EventTrace, t: float) -> float:
    inside = min(max(t, trace.first), trace.last)
    return LEFT + (inside - trace.first) / (trace.last - trace.first) * (WIDTH - LEFT - RIGHT)


def _plain(value: Any) -> Any:
    """Return a reading as the log has it: truth values are 0 and 1."""
    return int(value) if isinstance(value, bool) else value


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
