"""The figures of `mismatch.py`: recall, precision, Brier score, calibration error, risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core_eval.path.intervals import wilson

COUNTED, SURE = 0.5, 0.9
BINS = 10
BANDS = ((0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8), (0.1, 0.9), (0.05, 0.95))
COLOURS = ("#06c", "#c60", "#084", "#a05")


@dataclass(frozen=True)
class Told:
    """An event that is true, or told by a twin, or both; `probability` is the twin's."""

    twin: str
    episode: int
    kind: str
    entity: str
    call: int
    happened: bool
    probability: float


@dataclass(frozen=True)
class Part:
    """A share of a number of events."""

    hits: int
    of: int

    def __str__(self) -> str:
        """Format it with its interval."""
        if not self.of:
            return "-"
        low, high = wilson(self.hits / self.of, self.of, 0.95)
        return f"{self.hits / self.of:.2f} ({low:.2f}-{high:.2f})"


@dataclass(frozen=True)
class Figures:
    """The quality of a set of records; `sure`: of the verdicts above 0.9, those that are true."""

    true: int
    recall: Part
    precision: Part
    brier: float
    calibration_error: float
    sure: Part


def figures(records: Sequence[Told]) -> Figures:
    """Return the figures of a set of records."""
    true = sum(one.happened for one in records)
    told = [one for one in records if one.probability >= COUNTED]
    both = sum(one.happened for one in told)
    sure = [one for one in records if one.probability > SURE]
    count = max(1, len(records))
    return Figures(
        true,
        Part(both, true),
        Part(both, len(told)),
        sum((one.probability - one.happened) ** 2 for one in records) / count,
        sum(size * abs(mean - share) for mean, share, size in bins(records)) / count,
        Part(sum(one.happened for one in sure), len(sure)),
    )


def bins(records: Sequence[Told]) -> list[tuple[float, float, int]]:
    """Return mean probability, share that happened and number, of each non-empty tenth of probability."""
    grouped: dict[int, list[Told]] = {}
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


def risk_coverage(records: Sequence[Told]) -> list[tuple[float, float, float, float | None]]:
    """Return for each band of `unknown`: its bounds, the share told, and the share of that is wrong."""
    found = []
    for low, high in BANDS:
        decided = [one for one in records if one.probability <= low or one.probability >= high]
        wrong = sum((one.probability >= high) != one.happened for one in decided)
        found.append(
            (low, high, len(decided) / max(1, len(records)), wrong / len(decided) if decided else None)
        )
    return found


def reliability_svg(curves: Mapping[str, Sequence[Told]]) -> str:
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
        shapes.append(f'<text x="{edge + 10}" y="{edge + 20 + 18 * number}" fill="{colour}">{name}</text>')
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
