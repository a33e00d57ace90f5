"""Draws an episode over device time: calls as bars, coarse signals, true signals with their limits, harm.

Each row is a strip whose positions are shares of its width, so letters keep their size on any screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from core_eval.log import EpisodeRow, HarmRow, SampleRow, StepRow, TruthRow
from core_eval.report.pictures.field_shapes import Field, Point
from core_eval.report.pictures.plot import Scale, path, short_number, spread_over, text, ticks
from core_eval.report.tables.texts import call_text
from core_eval.text.json_text import json_text
from core_eval.text.visible_text import seconds_text, visible
from devices.harm import limit_of, signal_of
from sims.world_type import rule_of, unit_of

NARROW = 290.0
"""Pixels of a strip on a phone: what does not fit into these is not written."""
LETTER = 6.6
LANE, SIGNAL, BAND = 26.0, 34.0, 20.0
"""Heights of a strip of calls, of a step line, and of words."""
LONG_TAIL, RECORD_SHARE = 2.0, 75.0
"""Where harm goes on this many times longer than the record, the record gets this share of the width, %."""
POINTS = 400
"""Points of a step line at most; where there are more, the least and the greatest of each stretch stay."""

MOST_OF_WAY = 240
"""Points of the machine's way; of more, every second, third or so."""

Points = Sequence[tuple[float, Any]]
TimedWay = Sequence[tuple[float, Point]]


@dataclass(frozen=True, slots=True)
class Row:
    """A strip of the time line.

    Attributes:
        name: the signal.
        about: its values or its limit, in words.
        svg: the strip.
        kind: `calls`, `true` or `coarse`.
    """

    name: str
    about: str
    svg: str
    kind: str


@dataclass(frozen=True, slots=True)
class EpisodeTimeLine:
    """The rows of an episode's time line; `steady` are sensors that never changed, with their value.

    `scale`: device time, s, to percents of the width.
    """

    rows: tuple[Row, ...]
    axis: str
    steady: tuple[tuple[str, str], ...]
    scale: Scale


def episode_time_line(
    episode: EpisodeRow,
    steps: Sequence[StepRow],
    samples: Sequence[SampleRow],
    truth: Sequence[TruthRow],
    harm: Sequence[HarmRow],
) -> EpisodeTimeLine | None:
    """Return the time line; None where nothing has a device time."""
    span = _span(steps, samples, harm)
    if span is None:
        return None
    bands = "".join(_band(span, event) for event in harm)
    if len(span.values) > 2:
        x = span(span.values[1])
        bands += (
            f'<line class="bend" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="100%">'
            "<title>end of the record; after it at a smaller scale</title></line>"
        )
    true = _true_rows(span, episode, truth, harm, bands)
    return _time_line(span, [_calls(span, episode.id, steps, bands), *true], samples, harm, bands)


def signals_time_line(steps: Sequence[StepRow], samples: Sequence[SampleRow]) -> EpisodeTimeLine | None:
    """Return the time line of calls and samples without an episode; None where nothing has a device time."""
    span = _span(steps, samples, ())
    return None if span is None else _time_line(span, [_calls(span, 0, steps, "")], samples, (), "")


def _time_line(
    span: Scale, rows: list[Row], samples: Sequence[SampleRow], harm: Sequence[HarmRow], bands: str
) -> EpisodeTimeLine:
    by_sensor: dict[str, list[tuple[float, Any]]] = {}
    for sample in samples:
        by_sensor.setdefault(sample.sensor, []).append((sample.t, sample.value))
    steady = []
    for sensor, points in by_sensor.items():
        marks = _evidence(span, sensor, harm)
        if len({value for _, value in points}) > 1 or marks:
            rows.append(_coarse(span, sensor, points, bands, marks))
        else:
            steady.append((sensor, _word(points[0][1])))
    return EpisodeTimeLine(tuple(rows), _axis(span), tuple(steady), span)


def _span(steps: Sequence[StepRow], samples: Sequence[SampleRow], harm: Sequence[HarmRow]) -> Scale | None:
    moments = [sample.t for sample in samples]
    for step in steps:
        if step.t_device is not None:
            moments += [step.t_device, step.t_device - (step.duration or 0.0)]
    if not moments:
        return None
    record = max(moments)
    for event in harm:
        moments += [event.t_start, event.t_end if event.t_record is None else event.t_record]
    first, last = min(moments), max(moments)
    if first > 0 and first < 0.1 * record:
        first = 0.0
    last = last if last > first else first + 1.0
    if record > first and last - record > LONG_TAIL * (record - first):
        return Scale((first, record, last), (1.0, 1.0 + RECORD_SHARE, 99.0))
    return Scale((first, last), (1.0, 99.0))


def _calls(span: Scale, episode: int, steps: Sequence[StepRow], bands: str) -> Row:
    parts, free, at = [bands], 0.0, span.values[0]
    for step in steps:
        end = at if step.t_device is None else step.t_device
        begin, at = end - (step.duration or 0.0), end
        left, right = span(begin), span(end)
        kind = str(step.kind or "unknown")
        words = f"{step.k} {call_text(step.tool, step.arguments or {})}, {step.status or 'no result'}, {kind}"
        number, middle = str(step.k), (left + right) / 2
        half = LETTER * len(number) / NARROW * 50 + 0.6
        place = min(max(middle, half), 100 - half)
        said = ""
        if place - half >= free:
            free = place + half
            said = text(f"{place:.2f}%", 10, number, f"n {kind}")
        parts.append(
            f'<a href="#e{episode}s{step.k}"><title>{escape(visible(words))}</title>'
            f'<rect class="call {kind}" x="{left:.2f}%" y="13" width="{max(right - left, 0.5):.2f}%" '
            f'height="{LANE - 13}"/>{said}</a>'
        )
    return Row("calls", "by their numbers", _strip(LANE, parts), "calls")


def _true_rows(
    span: Scale, episode: EpisodeRow, truth: Sequence[TruthRow], harm: Sequence[HarmRow], bands: str
) -> Iterable[Row]:
    """Yield the true signal behind each harmed thing, at the end of each call, with its limit."""
    world = episode.definition.world_state
    world = world if isinstance(world, Mapping) else {}
    for kind, entity in dict.fromkeys((event.kind, event.entity) for event in harm):
        rule = rule_of(episode.device, kind)
        if rule is None or rule.signal is None:
            continue
        found = [(row.t, signal_of(rule, entity, row.state)) for row in truth]
        points = [(t, value) for t, value in found if value is not None]
        limits = [limit_of(rule, entity, row.state, world) for row in truth]
        limit = next((value for value in reversed(limits) if value is not None), None)
        peaks = [
            ((event.t_start + event.t_end) / 2, event.peak)
            for event in harm
            if (event.kind, event.entity) == (kind, entity) and event.peak is not None
        ]
        if not points:
            continue
        known = [value for _, value in (*points, *peaks)] + ([] if limit is None else [limit])
        height = spread_over(known, SIGNAL - 5, 5.0)
        inner = [_line(span, points, height, "true")]
        if limit is not None:
            inner.append(f'<path class="limit" d="M0 {height(limit):.1f}H1000"/>')
        marks = [_dot(span, t, height(value), "dot") for t, value in points]
        marks += [_dot(span, t, height(value), "peak") for t, value in peaks]
        about = [f"{_word(min(known))} to {_word(max(known))} {unit_of(episode.device, kind)}".rstrip()]
        about += [] if limit is None else [f"limit {_word(limit)}"]
        yield Row(
            f"{kind.replace('_', ' ')} of {entity}, true",
            ", ".join(about),
            _strip(SIGNAL, [bands, _inner("".join(inner)), *marks]),
            "true",
        )


def _coarse(span: Scale, sensor: str, points: Points, bands: str, marks: str) -> Row:
    values = [value for _, value in points]
    if all(isinstance(value, int | float) for value in values):
        height = spread_over(values, SIGNAL - 5, 5.0)
        inner = _inner(_line(span, thinned(points), height, "steps", hold=True))
        about = f"{_word(min(values))} to {_word(max(values))}"
        return Row(sensor, about, _strip(SIGNAL, [bands, inner, marks]), "coarse")
    words = list(dict.fromkeys(map(str, values)))
    stretches = _stretches(points, span.values[-1])
    parts = []
    for begin, end, word in stretches:
        left, right = span(begin), span(end)
        shade = words.index(word) % 4
        parts.append(
            f'<rect class="word w{shade}" x="{left:.2f}%" y="1" width="{max(right - left, 0.3):.2f}%" '
            f'height="{BAND - 2}"><title>{escape(visible(word))}</title></rect>'
        )
        if LETTER * len(word) + 4 <= (right - left) / 100 * NARROW:
            parts.append(text(f"{(left + right) / 2:.2f}%", 14, word, "in"))
    return Row(sensor, ", ".join(words[:6]), _strip(BAND, [*parts, bands, marks]), "coarse")


def thinned(points: Points) -> Points:
    """Return the points where the value changes; of very many, the extremes of each stretch."""
    changes = [point for place, point in enumerate(points) if not place or point[1] != points[place - 1][1]]
    if len(changes) <= POINTS:
        return changes
    size = -(-len(changes) * 2 // POINTS)
    kept = []
    for start in range(0, len(changes), size):
        stretch = changes[start : start + size]
        ends = {min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])}
        kept += sorted(ends, key=lambda point: point[0])
    return kept


def _stretches(points: Points, end: float) -> list[tuple[float, float, str]]:
    found: list[tuple[float, float, str]] = []
    for t, value in points:
        if found and found[-1][2] == str(value):
            continue
        if found:
            found[-1] = (found[-1][0], t, found[-1][2])
        found.append((t, end, str(value)))
    return found


def _band(span: Scale, event: HarmRow) -> str:
    end = event.t_end if event.t_record is None else max(event.t_start, event.t_record)
    left, right = span(event.t_start), span(end)
    words = f"{event.kind.replace('_', ' ')} of {event.entity}, {event.verdict}"
    return (
        f'<rect class="band" x="{left:.2f}%" y="0" width="{max(right - left, 0.6):.2f}%" height="100%">'
        f"<title>{escape(visible(words))}</title></rect>"
    )


def _evidence(span: Scale, sensor: str, harm: Sequence[HarmRow]) -> str:
    marks = []
    for event in harm:
        if event.evidence is None or event.evidence.get("sensor") != sensor:
            continue
        moment = event.evidence.get("t")
        moment = event.evidence.get("counterfactual_t") if moment is None else moment
        if moment is not None:
            x = span(float(moment))
            words = f"shows {event.kind.replace('_', ' ')} of {event.entity}"
            marks.append(
                f'<g class="evidence"><title>{escape(visible(words))}</title>'
                f'<line x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="100%"/>'
                f'<circle cx="{x:.2f}%" cy="5" r="4"/></g>'
            )
    return "".join(marks)


def _line(span: Scale, points: Points, height: Scale, kind: str, *, hold: bool = False) -> str:
    """Return a line in a box of 1000 x SIGNAL, as steps where a value holds until the next one."""
    line = path(((10 * span(t), height(value)) for t, value in points), hold=hold)
    return f'<path class="{kind}" d="{line}{"H990" if hold else ""}"/>'


def _dot(span: Scale, t: float, y: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{span(t):.2f}%" cy="{y:.1f}" r="{4 if kind == "peak" else 2.5}"/>'


def _inner(parts: str) -> str:
    box = f'width="100%" height="{SIGNAL}" viewBox="0 0 1000 {SIGNAL}" preserveAspectRatio="none"'
    return f"<svg {box}>{parts}</svg>"


def _strip(height: float, parts: Iterable[str]) -> str:
    return f'<svg class="strip" height="{height:.0f}">{"".join(parts)}</svg>'


def _axis(span: Scale) -> str:
    parts, free = [], 0.0
    first, record, *end = span.values
    moments = [(tick, f"{short_number(tick)} s") for tick in ticks(first, record, 6)]
    if end:
        moments = [moment for moment in moments if span(moment[0]) < RECORD_SHARE - 10]
        moments += [(record, seconds_text(record)), (end[0], seconds_text(end[0]))]
    for tick, words in moments:
        x = span(tick)
        half = LETTER * len(words) / NARROW * 50
        place = min(x, 100 - half) if tick == span.values[-1] else x
        if place - half >= free and place + half <= 100:
            free = place + half + 1
            parts.append(f'<line class="tick" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="4"/>')
            parts.append(text(f"{place:.2f}%", 15, words, "faint"))
    return _strip(18, parts)


def _word(value: Any) -> str:
    return short_number(value) if isinstance(value, float) else str(value)


def play_data(
    line: EpisodeTimeLine | None,
    steps: Sequence[StepRow],
    field: Field | None,
    driven: TimedWay,
    at: Callable[[Point], Point] | None,
) -> str | None:
    """Return what a page plays of an episode, as JSON; None where nothing has a device time.

    Args:
        line: the time line, whose scale gives the place of a moment, % of the width.
        steps: the calls.
        field: the map, if there is one.
        driven: the machine's way with device times, s; else it jumps from stop to stop.
        at: the place of a position on the map.
    """
    if line is None:
        return None
    times = {step.k: step.t_device for step in steps if step.t_device is not None}
    calls = [[step.k, times[step.k] - (step.duration or 0.0)] for step in steps if step.k in times]
    way: TimedWay = driven
    if field is not None and not driven:
        first = line.scale.values[0]
        way = [
            (first if stop.k is None else times[stop.k], (stop.x, stop.y))
            for stop in field.stops
            if stop.k is None or stop.k in times
        ]
    thin = way[:: max(1, -(-len(way) // MOST_OF_WAY))]
    thin = [*thin, *way[-1:]] if way and thin[-1] != way[-1] else thin
    places = [] if at is None else [[round(t, 2), *(round(one, 1) for one in at(spot))] for t, spot in thin]
    return json_text({"times": line.scale.values, "places": line.scale.places, "calls": calls, "way": places})
