"""Places labels on a drawing so that none overlaps another, or runs out of the drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from core_eval.report.pictures.svg_parts import text

LETTER, LINE = 6.5, 11.0
"""Width of a letter, of a broad font as well, and height of a line, in the drawing's units."""
GAPS = (5.0, 12.0, 22.0)

Box = tuple[float, float, float, float]


@dataclass
class LabelPlaces:
    """The labels of a drawing of `width` x `height`, in the order in which they are asked for."""

    width: float
    height: float
    _taken: list[Box] = field(default_factory=list)

    def keep_clear(self, x: float, y: float, radius: float) -> None:
        """Let no label lie on this point."""
        self.block(x - radius, y - radius, x + radius, y + radius)

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
