"""What the page needs to play an episode: its time line's scale, its calls, and the machine's way."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core_eval.log import StepRow
from core_eval.report.pictures.episode_time_line import EpisodeTimeLine
from core_eval.report.pictures.field_shapes import Field, Point
from core_eval.text.json_text import json_text

MOST = 240
"""Points of the way; of more, every second, third or so."""

TimedWay = Sequence[tuple[float, Point]]


def play_data(
    line: EpisodeTimeLine | None,
    steps: Sequence[StepRow],
    field: Field | None,
    driven: TimedWay,
    at: Callable[[Point], Point] | None,
) -> str | None:
    """Return it as JSON; None where nothing has a device time.

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
    thin = way[:: max(1, -(-len(way) // MOST))]
    thin = [*thin, *way[-1:]] if way and thin[-1] != way[-1] else thin
    places = [] if at is None else [[round(t, 2), *(round(one, 1) for one in at(spot))] for t, spot in thin]
    return json_text({"times": line.scale.values, "places": line.scale.places, "calls": calls, "way": places})
