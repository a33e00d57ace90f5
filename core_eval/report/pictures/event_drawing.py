"""Draws one harm event: the true signal and its limit above, the coarse sensors below.

Solid is the episode, dashed the same episode without the harm; the band is the time of the harm. Where there
is no trace, since nothing was replayed, only the sensors are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from core_eval.harm.event_trace import EventTrace
from core_eval.log import HarmRow, SampleRow
from core_eval.report.pictures.plot import Plot, Scale, spread_over
from core_eval.text.json_text import json_text

WIDTH = 720.0
LEFT, RIGHT = 124.0, 16.0
LABEL = 13
"""Letters of a line of a sensor's name."""
TOP, PANEL, GAP, ROW, BOTTOM = 40.0, 170.0, 14.0, 46.0, 30.0
MARGIN_SHARE = 0.08
LONG_S = 7200.0
"""From this window on, s, the axis is in hours."""
SENSORS_SHOWN = 3
PAD_SHARE, LEAST_PAD_S = 0.3, 5.0
"""What is shown before and after an event without a trace: a share of its time, and at least so many s."""

Points = list[tuple[float, Any]]


def event_svg(
    event: HarmRow, samples: Sequence[SampleRow], unit: str = "", trace: EventTrace | None = None
) -> str:
    """Return the drawing; empty where there is no trace and no sensor has a sample."""
    sensors = sensors_of(event, samples)
    if trace is None and not sensors:
        return ""
    top = TOP if trace is None else TOP + PANEL + GAP
    end = top + ROW * len(sensors)
    # There are no samples after the end of the record.
    t_end = event.t_end if event.t_record is None or trace else max(event.t_start, event.t_record)
    window = _window(event, t_end) if trace is None else (trace.first, trace.last)
    label = f"{event.kind.replace('_', ' ')} of {event.entity}: true signal, limit and coarse samples"
    plot = Plot("event", label, WIDTH, end + BOTTOM, Scale(window, (LEFT, WIDTH - RIGHT)))
    plot.band(event.t_start, t_end, TOP, end)
    if trace is None:
        lasts = f"harm {event.t_start:.1f} to {t_end:.1f} s{'' if event.t_record is None else ', and on'}"
        plot.text((plot.x(event.t_start) + plot.x(t_end)) / 2, TOP - 6, lasts, "harm-text")
    else:
        _legend(plot, trace)
        _panel(plot, trace, unit)
    for row, sensor in enumerate(sensors):
        _sensor(plot, top + ROW * row, sensor, event, samples, trace)
    _time_axis(plot, window, end)
    return plot.svg()


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


def _window(event: HarmRow, t_end: float) -> tuple[float, float]:
    moments = [event.t_start, t_end]
    if event.evidence and event.evidence["t"] is not None:
        moments.append(float(event.evidence["t"]))
    pad = max(PAD_SHARE * (max(moments) - min(moments)), LEAST_PAD_S)
    return max(0.0, min(moments) - pad), max(moments) + pad


def _legend(plot: Plot, trace: EventTrace) -> None:
    entries = [("signal", "true signal"), *([("limit", "limit")] if trace.limit else [])]
    entries.append(("counter", f"without the harm ({trace.remedy.replace('_', ' ')})"))
    x = LEFT
    for kind, words in entries:
        plot.add(f'<path class="{kind}" d="M{x:.1f} 14h22"/>')
        plot.text(x + 28, 18, words, anchor="start")
        x += 46 + 6.3 * len(words)
    plot.add(f'<rect class="band" x="{x:.1f}" y="8" width="22" height="12"/>')
    plot.text(x + 28, 18, "harm", anchor="start")


def _panel(plot: Plot, trace: EventTrace, unit: str) -> None:
    lines = (("limit", trace.limit), ("counter", trace.counterfactual), ("signal", trace.signal))
    values = [value for _, line in lines for _, value in line]
    own = plot.over(spread_over(values, TOP + PANEL, TOP, MARGIN_SHARE))
    own.box()
    own.axes(up=own.y.ticks(), words="{:.6g}".format)
    plot.text(LEFT - 6, TOP - 8, unit, anchor="end")
    for kind, line in lines:
        own.line(line, kind)


def _sensor(
    plot: Plot,
    top: float,
    sensor: str,
    event: HarmRow,
    samples: Sequence[SampleRow],
    trace: EventTrace | None,
) -> None:
    evidence = event.evidence if event.evidence and event.evidence["sensor"] == sensor else None
    own = [(sample.t, sample.value) for sample in samples if sample.sensor == sensor]
    logged = max((t for t, _ in own), default=0.0)
    other: Points = []
    # Samples after the last call exist only in the replay.
    if trace is not None:
        own += [
            (one.t, _plain(one.value)) for one in trace.samples if one.sensor == sensor and one.t > logged
        ]
        other = [(one.t, _plain(one.value)) for one in trace.counterfactual_samples if one.sensor == sensor]
    elif evidence is not None:
        if evidence["t"] is not None and not any(abs(t - evidence["t"]) < 1e-6 for t, _ in own):
            own.append((float(evidence["t"]), _plain(evidence["value"])))
        if evidence["counterfactual_t"] is not None:
            other = [(float(evidence["counterfactual_t"]), _plain(evidence["counterfactual"]))]
    first, last = plot.x.values[0], plot.x.values[-1]
    own = _shown(sorted(own, key=lambda point: point[0]), first, last)
    other = _shown(other, first, last) if trace else other
    words = list(dict.fromkeys(value for _, value in (*own, *other)))
    if all(isinstance(word, int | float) for word in words):
        words.sort()
    level = {word: place for place, word in enumerate(words)}
    row = plot.over(Scale((0.0, max(len(words) - 1.0, 1.0)), (top + ROW - 12, top + 12)))
    for place, line in enumerate(wrap(sensor.replace("_", " ").replace(".", " "), LABEL)[:3]):
        plot.text(8, top + 14 + 13 * place, line, anchor="start")
    for word in words if len(words) <= 2 else (words[0], words[-1]):
        plot.text(LEFT - 6, row.y(level[word]) + 4, _word(word), anchor="end")
    for points, dot, radius, kind in ((other, "hollow", 5.0, "counter"), (own, "dot", 3.0, "signal")):
        places = [(t, level[value]) for t, value in points]
        if trace is not None or kind == "signal":
            row.line(places, f"{kind} thin", hold=True, to_edge=True)
        for spot in places:
            if spot[0] >= first:
                row.dot(spot, dot, radius)
    if evidence is not None:
        _difference(plot, top, evidence, in_words=trace is None)


def _difference(plot: Plot, top: float, evidence: Any, *, in_words: bool) -> None:
    """Mark the first difference to the episode without the harm; `in_words` where that is not drawn."""
    moment, value = evidence["counterfactual_t"], _plain(evidence["counterfactual"])
    if in_words:
        told = "no such sample" if moment is None else f"{_word(value)} at {moment:.1f} s"
        plot.text(WIDTH - RIGHT, top + 8, f"without the harm: {told}", "counter-text", "end")
        return
    x = plot.x(float(moment if evidence["t"] is None else evidence["t"]))
    plot.add(f'<path class="differs" d="M{x:.1f} {top + 4:.1f}V{top + ROW - 4:.1f}"/>')
    plot.text(min(x + 5, WIDTH - 110), top + 10, "first difference", "differs-text", "start")


def _shown(points: Points, first: float, last: float) -> Points:
    """Return those in the window, and the last one before it."""
    before = [point for point in points if point[0] < first]
    return [*before[-1:], *(point for point in points if first <= point[0] <= last)]


def _time_axis(plot: Plot, window: tuple[float, float], end: float) -> None:
    first, last = window
    unit, seconds = ("s", 1.0) if last - first < LONG_S else ("h", 3600.0)
    axis = plot.over(Scale((0.0, 1.0), (end, TOP)))
    moments = [tick * seconds for tick in Scale((first / seconds, last / seconds), (0.0, 1.0)).ticks()]
    axis.axes(across=moments, words=lambda t: f"{t / seconds:.6g} {unit}")


def _plain(value: Any) -> Any:
    """Return a reading as the log has it: truth values are 0 and 1. A result may be a list: then its JSON."""
    if isinstance(value, list | dict):
        return json_text(value)
    return int(value) if isinstance(value, bool) else value


def _word(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
