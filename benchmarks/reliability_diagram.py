"""The reliability diagram of all benchmarks of the twin: told probability against share that happened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol
from xml.sax.saxutils import escape

BINS = 10
COLOURS = ("#06c", "#c60", "#084", "#a05")


class Judged(Protocol):
    """An event that is true, or told by a twin, or both."""

    @property
    def happened(self) -> bool:
        """Whether it is true."""

    @property
    def probability(self) -> float:
        """By the twin."""


def bins(records: Iterable[Judged]) -> list[tuple[float, float, int]]:
    """Return mean probability, share that happened and number, of each non-empty tenth of probability."""
    grouped: dict[int, list[Judged]] = {}
    for one in records:
        grouped.setdefault(min(BINS - 1, int(one.probability * BINS)), []).append(one)
    return [
        (
            sum(one.probability for one in group) / len(group),
            sum(one.happened for one in group) / len(group),
            len(group),
        )
        for _, group in sorted(grouped.items())
    ]


def reliability_svg(curves: Mapping[str, Sequence[Judged]]) -> str:
    """Return the reliability diagram: told probability across, share that happened up, one line a curve."""
    size, edge = 320, 50
    shapes = []
    for number, (name, records) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [
            (edge + told * size, edge + (1.0 - happened) * size, count)
            for told, happened, count in bins(records)
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        shapes.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>')
        shapes += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{2.0 + math.log10(count):.1f}" fill="{colour}">'
            f"<title>{count} events</title></circle>"
            for x, y, count in points
        ]
        shapes.append(
            f'<text x="{edge + 10}" y="{edge + 20 + 18 * number}" fill="{colour}">{escape(name)}</text>'
        )
    ticks = "".join(
        f'<text x="{edge + share * size}" y="{edge + size + 16}" text-anchor="middle">{share:g}</text>'
        f'<text x="{edge - 6}" y="{edge + (1 - share) * size + 4}" text-anchor="end">{share:g}</text>'
        for share in (0.0, 0.5, 1.0)
    )
    whole = size + 2 * edge
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}" '
        f'font-family="sans-serif" font-size="12"><rect width="{whole}" height="{whole}" fill="#fff"/>'
        f'<rect x="{edge}" y="{edge}" width="{size}" height="{size}" fill="none" stroke="#999"/>'
        f'<line x1="{edge}" y1="{edge + size}" x2="{edge + size}" y2="{edge}" stroke="#999" '
        f'stroke-dasharray="4"/>{ticks}'
        f'<text x="{whole / 2}" y="{whole - 8}" text-anchor="middle">probability told</text>'
        f'<text x="14" y="{whole / 2}" text-anchor="middle" '
        f'transform="rotate(-90 14 {whole / 2})">share that happened</text>{"".join(shapes)}</svg>\n'
    )
