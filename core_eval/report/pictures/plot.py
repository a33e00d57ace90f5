"""One plot behind the kit's drawings: scales, step lines, bands, dots, and labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from core_eval.text.visible_text import visible

LETTER, LINE = 6.5, 11.0
"""Width of a letter, of a broad font as well, and height of a line, in the drawing's units."""
GAPS = (5.0, 12.0, 22.0)
STEPS = (1.0, 2.0, 5.0, 10.0)

Box = tuple[float, float, float, float]
Points = Iterable[tuple[float, Any]]


@dataclass(frozen=True)
class Scale:
    """Rising values to places along a drawing, straight between; at the edge beyond the ends, if `closed`."""

    values: tuple[float, ...]
    places: tuple[float, ...]
    closed: bool = True

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        if not self.closed:
            return self.places[0] + (value - self.values[0]) * self.per_unit
        inside = min(max(value, self.values[0]), self.values[-1])
        k = next(k for k in range(1, len(self.values)) if inside <= self.values[k])
        (a, b), (left, right) = self.values[k - 1 : k + 1], self.places[k - 1 : k + 1]
        return left + (right - left) * (inside - a) / ((b - a) or 1.0)

    @property
    def per_unit(self) -> float:
        """The length of a value of 1, where the scale is straight."""
        return (self.places[-1] - self.places[0]) / (self.values[-1] - self.values[0])

    def ticks(self, count: int = 5) -> list[float]:
        """Return about `count` round numbers within its values."""
        return ticks(self.values[0], self.values[-1], count)


def spread_over(values: Iterable[float], start: float, end: float, margin: float = 0.0) -> Scale:
    """Return the scale of these values, wider by a share of their range; a single one is in the middle."""
    low, high = min(known := list(values)), max(known)
    more = (high - low) * margin if high > low else max(abs(high), 1.0) * (margin or 0.5)
    return Scale((low - more, high + more), (start, end))


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers within a range."""
    span = high - low
    size = 10.0 ** math.floor(math.log10(span / count))
    step = next(factor * size for factor in STEPS if span / (factor * size) <= count)
    first = int(low // step) + 1
    return [round(k * step, 9) for k in range(first, int(high // step) + 1)]


def text(x: float | str, y: float, words: str, kind: str, anchor: str = "middle") -> str:
    """Return a line of text; `x` is in the drawing's units, or a percentage of its width."""
    at = x if isinstance(x, str) else f"{x:.1f}"
    return f'<text class="{kind}" x="{at}" y="{y:.1f}" text-anchor="{anchor}">{escape(visible(words))}</text>'


def short_number(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}"


def path(points: Iterable[tuple[float, float]], *, hold: bool = False) -> str:
    """Return a line through places; with `hold` as steps, as a value holds until the next one."""
    line = ""
    for x, y in points:
        line += f"M{x:.1f} {y:.1f}" if not line else f"H{x:.1f}V{y:.1f}" if hold else f"L{x:.1f} {y:.1f}"
    return line


class Plot:
    """A drawing of `width` x `height` units that takes its colours from its page, by classes.

    Args:
        kind: the class of the whole drawing.
        label: what it shows, in words.
        width, height: of all.
        x, y: of what is drawn by values; `over` is a part of the drawing with another `y`.
    """

    def __init__(
        self, kind: str, label: str, width: float, height: float, x: Scale, y: Scale | None = None
    ) -> None:
        self.kind, self.label, self.width, self.height = kind, label, width, height
        self.x = x
        self.y = Scale((0.0, 1.0), (height, 0.0)) if y is None else y
        self.labels = LabelPlaces(width, height)
        self.parts: list[str] = []

    def over(self, y: Scale) -> Plot:
        """Return this drawing with other heights: what is drawn there is drawn here."""
        part = Plot(self.kind, self.label, self.width, self.height, self.x, y)
        part.labels, part.parts = self.labels, self.parts
        return part

    @property
    def frame(self) -> Box:
        """Left, top, right and bottom of what the scales span."""
        return self.x.places[0], self.y.places[-1], self.x.places[-1], self.y.places[0]

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        """Return the place of a pair of values."""
        return self.x(point[0]), self.y(point[1])

    def add(self, part: str) -> None:
        """Add SVG."""
        self.parts.append(part)

    def text(self, x: float, y: float, words: str, kind: str = "faint", anchor: str = "middle") -> None:
        """Write at a place; a text in the middle is moved so that all of it is inside."""
        half = LETTER * len(words) / 2
        if anchor == "middle" and 2 * half < self.width:
            x = min(max(x, half), self.width - half)
        self.add(text(x, y, words, kind, anchor))

    def line(self, points: Points, kind: str, *, hold: bool = False, to_edge: bool = False) -> None:
        """Draw a line through values; a step line where they hold, to the right edge if wanted."""
        line = path(map(self.at, points), hold=hold)
        if line:
            self.add(f'<path class="{kind}" d="{line}{f"H{self.x.places[-1]:.1f}" if to_edge else ""}"/>')

    def dot(self, point: tuple[float, float], kind: str, radius: float, title: str = "") -> None:
        """Draw a dot at a pair of values, with a title to be read where a pointer rests on it."""
        x, y = self.at(point)
        told = f"<title>{escape(visible(title))}</title>" if title else ""
        self.add(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}">{told}</circle>')

    def band(self, first: float, last: float, top: float, bottom: float, kind: str = "band") -> None:
        """Draw a band between two values across, from a height to a height."""
        left, right = self.x(first), self.x(last)
        size = f'width="{max(right - left, 2.0):.1f}" height="{bottom - top:.1f}"'
        self.add(f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" {size}/>')

    def box(self) -> None:
        """Draw the frame of what the scales span."""
        left, top, right, bottom = self.frame
        size = f'width="{right - left:.1f}" height="{bottom - top:.1f}"'
        self.add(f'<rect class="frame" x="{left:.1f}" y="{top:.1f}" {size}/>')

    def axes(
        self,
        across: Iterable[float] = (),
        up: Iterable[float] = (),
        words: Callable[[float], str] = short_number,
        up_words: Callable[[float], str] | None = None,
        *,
        grid: bool = True,
    ) -> None:
        """Draw grid lines with their values: those `across` below, those `up` at the left."""
        left, top, right, bottom = self.frame
        for value in across:
            x = self.x(value)
            if grid:
                self.add(f'<path class="grid" d="M{x:.1f} {top:.1f}V{bottom:.1f}"/>')
            self.text(x, bottom + 15, words(value))
        for value in up:
            y = self.y(value)
            if grid:
                self.add(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
            self.text(left - 6, y + 4, (up_words or words)(value), anchor="end")

    def svg(self, attributes: str = "") -> str:
        """Return the drawing."""
        box = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}"{attributes}'
        head = f'<svg class="{self.kind}" {box} role="img" aria-label={quoteattr(visible(self.label))}>'
        return "".join([head, *self.parts, "</svg>"])


@dataclass
class LabelPlaces:
    """The labels of a drawing of `width` x `height`, in the order in which they are asked for."""

    width: float
    height: float
    _taken: list[Box] = field(default_factory=list)

    def keep_clear(self, x: float, y: float, radius: float) -> None:
        """Let no label lie on this point."""
        self.block(x - radius, y - radius, x + radius, y + radius)

    def keep_clear_along(self, points: Sequence[tuple[float, float]], radius: float, every: float) -> None:
        """Let no label lie on a line through these points."""
        for (ax, ay), (bx, by) in pairwise(points):
            count = max(1, round(math.dist((ax, ay), (bx, by)) / every))
            for k in range(count + 1):
                self.keep_clear(ax + (bx - ax) * k / count, ay + (by - ay) * k / count, radius)

    def block(self, left: float, top: float, right: float, bottom: float) -> None:
        """Let no label lie in this box."""
        self._taken.append((left, top, right, bottom))

    def add(self, x: float, y: float, words: str, kind: str, wide: float = 0.0, high: float = 0.0) -> str:
        """Return the label of a thing of this half width and half height; empty where there is no room."""
        length = LETTER * len(words)
        for anchor, at_x, at_y in self._candidates(x, y, wide, high or wide):
            left = at_x - {"start": 0.0, "middle": length / 2, "end": length}[anchor]
            box = (left, at_y - LINE + 2, left + length, at_y + 2)
            inside = box[0] >= 1 and box[1] >= 1 and box[2] <= self.width - 1 and box[3] <= self.height - 1
            if inside and not any(_overlap(box, other) for other in self._taken):
                self._taken.append(box)
                return text(at_x, at_y, words, kind, anchor)
        return ""

    @staticmethod
    def _candidates(x: float, y: float, wide: float, high: float) -> Iterator[tuple[str, float, float]]:
        for gap in GAPS:
            beside = [("start", x + wide + gap, y + 4), ("end", x - wide - gap, y + 4)]
            along = [("middle", x, y - high - gap), ("middle", x, y + high + gap + 7)]
            yield from [*along, *beside] if wide > high else [*beside, *along]
            for side, anchor in ((0.7, "start"), (-0.7, "end")):
                yield anchor, x + side * (wide + gap), y - 0.7 * (high + gap)
                yield anchor, x + side * (wide + gap), y + 0.7 * (high + gap) + 8


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
