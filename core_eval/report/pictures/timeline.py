"""Draws a harm event's time line as inline SVG, with the coarse samples around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from core_eval.log import HarmRow
from core_eval.log.rows import SampleRow
from core_eval.text.json_text import json_text

WIDTH = 360.0
LEFT, RIGHT, TOP, ROW = 8.0, 8.0, 16.0, 50.0
SENSORS_SHOWN = 3
PAD_SHARE, LEAST_PAD_S = 0.3, 5.0


@dataclass(frozen=True)
class Scale:
    """Device time, s, to pixels; what lies outside is drawn at the edge."""

    first: float
    last: float

    def x(self, t: float) -> float:
        """Return the place of a moment."""
        inside = min(max(t, self.first), self.last)
        return LEFT + (inside - self.first) / (self.last - self.first) * (WIDTH - LEFT - RIGHT)


def timeline_svg(event: HarmRow, samples: Sequence[SampleRow]) -> str:
    """Return the event as a band, and below it a row for each sensor that shows it, or could have.

    Empty where no sensor has a sample. A row shows the actual samples as steps, dashed
    after the last one; the counterfactual's first differing sample is a hollow diamond.
    """
    sensors = sensors_of(event, samples)
    if not sensors:
        return ""
    evidence = dict(event.evidence) if event.evidence else None
    # There are no samples after the end of the record.
    t_end = event.t_end if event.t_record is None else max(event.t_start, event.t_record)
    lasts = f"harm {event.t_start:.1f} to {t_end:.1f} s" + ("" if event.t_record is None else ", and on")
    moments = [event.t_start, t_end]
    if evidence is not None and evidence["t"] is not None:
        moments.append(float(evidence["t"]))
    pad = max(PAD_SHARE * (max(moments) - min(moments)), LEAST_PAD_S)
    scale = Scale(max(0.0, min(moments) - pad), max(moments) + pad)
    height = TOP + ROW * len(sensors) + 16
    begin, end = scale.x(event.t_start), scale.x(t_end)
    parts = [
        f'<svg class="timeline" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img">',
        f'<rect class="band" x="{begin:.1f}" y="{TOP}" width="{max(end - begin, 2):.1f}" '
        f'height="{height - TOP - 16:.1f}"/>',
        _text((begin + end) / 2, TOP - 5, lasts, "harm-text"),
    ]
    for row, sensor in enumerate(sensors):
        own = [(sample.t, sample.value) for sample in samples if sample.sensor == sensor]
        differs = evidence if evidence is not None and evidence["sensor"] == sensor else None
        parts += _row(scale, TOP + ROW * row, sensor, own, differs)
    bottom = height - 4
    parts.append(_text(LEFT, bottom, f"{scale.first:.0f} s", "faint", "start"))
    parts.append(_text(WIDTH - RIGHT, bottom, f"{scale.last:.0f} s", "faint", "end"))
    return "".join([*parts, "</svg>"])


def sensors_of(event: HarmRow, samples: Sequence[SampleRow]) -> list[str]:
    """Return the sensor that reveals the event; else those of its entity, else those that changed."""
    if event.evidence:
        return [str(event.evidence["sensor"])]
    known = list(dict.fromkeys(sample.sensor for sample in samples))
    own = [sensor for sensor in known if sensor.partition(".")[2] == event.entity]
    changing = [
        sensor for sensor in known if len({sample.value for sample in samples if sample.sensor == sensor}) > 1
    ]
    return list(dict.fromkeys(own + changing))[:SENSORS_SHOWN]


def _row(
    scale: Scale, top: float, sensor: str, own: list[tuple[float, Any]], differs: dict[str, Any] | None
) -> list[str]:
    points = list(own)
    if differs is not None and differs["t"] is not None:
        actual = (float(differs["t"]), _plain(differs["value"]))
        # Samples after the last call exist only in the replay.
        if not any(abs(t - actual[0]) < 1e-6 for t, _ in own):
            points.append(actual)
    levels = [value for _, value in points]
    if differs is not None and differs["counterfactual_t"] is not None:
        levels.append(_plain(differs["counterfactual"]))
    low, high = top + ROW - 8, top + 26
    y = _heights(levels, low, high)
    parts = [_text(LEFT, top + 11, sensor, "faint", "start")]
    points.sort(key=lambda point: point[0])
    before = [point for point in points if point[0] < scale.first]
    shown = before[-1:] + [point for point in points if scale.first <= point[0] <= scale.last]
    path = ""
    for place, (t, value) in enumerate(shown):
        path += f"H{scale.x(t):.1f}V{y[value]:.1f}" if place else f"M{scale.x(t):.1f} {y[value]:.1f}"
    if shown:
        last = f"M{scale.x(shown[-1][0]):.1f} {y[shown[-1][1]]:.1f}H{WIDTH - RIGHT}"
        parts.append(f'<path class="steps" d="{path}"/><path class="steps after" d="{last}"/>')
        for t, value in shown[len(before[-1:]) :]:
            parts.append(f'<circle class="sample" cx="{scale.x(t):.1f}" cy="{y[value]:.1f}" r="2.5"/>')
    said = dict.fromkeys(value for _, value in shown)
    for value in said:
        parts.append(_text(WIDTH - RIGHT - 8, y[value] - 3, _shown(value), "steps-text", "end"))
    if differs is not None:
        parts.append(_difference(scale, top, y, differs))
    return parts


def _difference(scale: Scale, top: float, y: dict[Any, float], differs: dict[str, Any]) -> str:
    right = WIDTH - RIGHT
    if differs["counterfactual_t"] is None:
        return _text(right, top + 11, "without the harm: no such sample", "diff-text", "end")
    value, t = _plain(differs["counterfactual"]), float(differs["counterfactual_t"])
    x, height = scale.x(t), y[value]
    diamond = f'<path class="diff" d="M{x - 4:.1f} {height:.1f}l4 -4l4 4l-4 4z"/>'
    said = f"without the harm: {_shown(value)} at {t:.1f} s"
    return diamond + _text(right, top + 11, said, "diff-text", "end")


def _heights(levels: list[Any], low: float, high: float) -> dict[Any, float]:
    """Return numbers by their size, words one above the other."""
    distinct = list(dict.fromkeys(levels))
    if all(isinstance(level, int | float) for level in distinct):
        least, most = min(distinct, default=0), max(distinct, default=0)
        span = (most - least) or 1
        return {level: low - (level - least) / span * (low - high) for level in distinct}
    steps = max(len(distinct) - 1, 1)
    return {level: low - place / steps * (low - high) for place, level in enumerate(distinct)}


def _plain(value: Any) -> Any:
    """Return a reading as the log has it: truth values are 0 and 1. A result may be a list: then its JSON."""
    if isinstance(value, list | dict):
        return json_text(value)
    return int(value) if isinstance(value, bool) else value


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _text(x: float, y: float, text: str, kind: str, anchor: str = "middle") -> str:
    half = 2.9 * len(text)
    inside = min(max(x, LEFT + half), WIDTH - RIGHT - half) if anchor == "middle" else x
    place = f'x="{inside:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(text)}</text>'
