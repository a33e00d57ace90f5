"""The figures of `unobserved.py`: records, precision and recall, Brier score, reliability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.reliability_diagram import bins

COUNTED = 0.5
RECALL_GOAL, PRECISION_GOAL = 0.98, 0.95


@dataclass(frozen=True)
class Record:
    """An event that is true, or reported by the twin, or both.

    Attributes:
        happened: it is true.
        probability: by the twin; 0 if it does not report the event.
        observed: whether the telemetry reveals a true event; None without a verdict.
        observed_probability: by the twin.
    """

    episode: int
    calibrated: bool
    kind: str
    entity: str
    call: int
    happened: bool
    probability: float
    observed: bool | None
    observed_probability: float | None

    @property
    def key(self) -> tuple[str, str, int]:
        """The key by which events are matched."""
        return self.kind, self.entity, self.call

    @property
    def told(self) -> bool:
        """Whether the twin counts it."""
        return self.probability >= COUNTED

    @property
    def wrong(self) -> bool:
        """Whether it was missed, or reported and not true."""
        return self.told != self.happened


@dataclass(frozen=True)
class Figures:
    """Quality of a set of records; None for a quotient without a divisor."""

    true: int
    told: int
    recall: float | None
    precision: float | None
    brier: float | None
    bound: float | None
    """The recall that the twin's own probabilities imply."""


def figures(records: Sequence[Record]) -> Figures:
    """Return the figures of one rule, or of all."""
    true = sum(record.happened for record in records)
    told = sum(record.told for record in records)
    both = sum(record.told and record.happened for record in records)
    mass = sum(record.probability for record in records)
    return Figures(
        true,
        told,
        both / true if true else None,
        both / told if told else None,
        sum((r.probability - r.happened) ** 2 for r in records) / len(records) if records else None,
        sum(r.probability for r in records if r.told) / mass if mass else None,
    )


def unobserved_figures(records: Sequence[Record]) -> Figures:
    """Return the figures of the verdict "unobserved", over the events that are true and reported."""
    both = [
        r
        for r in records
        if r.happened and r.told and r.observed is not None and r.observed_probability is not None
    ]
    true = sum(not r.observed for r in both)
    told = sum((r.observed_probability or 0.0) < COUNTED for r in both)
    right = sum(not r.observed and (r.observed_probability or 0.0) < COUNTED for r in both)
    brier = sum(((r.observed_probability or 0.0) - bool(r.observed)) ** 2 for r in both)
    return Figures(
        true,
        told,
        right / true if true else None,
        right / told if told else None,
        brier / len(both) if both else None,
        None,
    )


def report(
    console: Console, summary: Mapping[str, Any], rigs: Sequence[Mapping[str, Any]], records: Sequence[Record]
) -> None:
    """Return all tables."""
    console.print(
        f"{summary['world']}: {summary['episodes']} episodes on {summary['rigs']} rigs, {summary['members']} "
        f"members, seed {summary['seed']}; {summary['wall_s']:.0f} s in all, calibration "
        f"{summary['calibration_s_per_rig']:.1f} s a rig, telling "
        f"{summary['telling_s_per_episode']:.2f} s an episode",
        soft_wrap=True,
    )
    console.print(_parameters_table(rigs))
    for calibrated in (False, True):
        mine = [record for record in records if record.calibrated == calibrated]
        if mine:
            console.print(_rules_table(mine, calibrated))
    console.print(_reliability_table(records))
    console.print(
        f"Of {summary['errors']:.0f} events that the calibrated twin misses or invents, "
        f"{summary['undecidable']:.0f} turn when a hidden parameter moves by two of the spreads that "
        "calibration leaves.",
        soft_wrap=True,
    )
    below = _below_goal([record for record in records if record.calibrated])
    goal = f"recall {RECALL_GOAL}, precision {PRECISION_GOAL}"
    console.print(f"Rules below the goal ({goal}): {', '.join(below) or 'none'}", soft_wrap=True)


def _below_goal(records: Sequence[Record]) -> list[str]:
    below = []
    for kind in sorted({record.kind for record in records}):
        found = figures([record for record in records if record.kind == kind])
        if (found.recall is not None and found.recall < RECALL_GOAL) or (
            found.precision is not None and found.precision < PRECISION_GOAL
        ):
            below.append(kind)
    return below


def _rules_table(records: Sequence[Record], calibrated: bool) -> Table:
    table = Table(title="With calibration" if calibrated else "Without calibration")
    table.add_column("rule")
    for heading in (
        "true",
        "told",
        "recall",
        "precision",
        "Brier",
        "bound",
        "unobserved",
        "recall",
        "precision",
        "Brier",
    ):
        table.add_column(heading, justify="right")
    rows = [("all rules of the device", list(records))]
    rows += [(kind, [r for r in records if r.kind == kind]) for kind in sorted({r.kind for r in records})]
    for name, group in rows:
        found, verdict = figures(group), unobserved_figures(group)
        table.add_row(
            name, str(found.true), str(found.told), _share(found.recall), _share(found.precision),
            _share(found.brier),
            _share(found.bound), str(verdict.true), _share(verdict.recall), _share(verdict.precision),
            _share(verdict.brier), end_section=name == rows[0][0],
        )  # fmt: skip
    return table


def _reliability_table(records: Sequence[Record]) -> Table:
    table = Table(title="Reliability, rules of the device: probability told, share that happened")
    for heading in ("calibrated", "probability", "happened", "events"):
        table.add_column(heading, justify="right")
    for calibrated in (False, True):
        mine = [r for r in records if r.calibrated == calibrated]
        for told, happened, count in bins(mine):
            table.add_row("yes" if calibrated else "no", f"{told:.3f}", f"{happened:.3f}", str(count))
    return table


def _parameters_table(rigs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title="Calibration: error of the pinned parameters, in their unit and in stated spreads")
    for heading in (
        "parameter",
        "rigs pinned",
        "root mean square error",
        "mean spread",
        "within two spreads",
    ):
        table.add_column(heading, justify="left" if heading == "parameter" else "right")
    for place, one in enumerate(rigs[0]["fitted"]):
        pinned = [
            (rig["fitted"][place], rig["hidden"][one["name"]])
            for rig in rigs
            if rig["fitted"][place]["identified"]
        ]
        errors = [fitted["estimate"]["value"] - true for fitted, true in pinned]
        spreads = [fitted["estimate"]["spread"] for fitted, _ in pinned]
        inside = sum(abs(e) <= 2.0 * s for e, s in zip(errors, spreads, strict=True))
        table.add_row(
            one["name"],
            f"{len(pinned)}/{len(rigs)}",
            f"{math.sqrt(sum(e * e for e in errors) / len(errors)):.4f}" if errors else "-",
            f"{sum(spreads) / len(spreads):.4f}" if spreads else "-",
            f"{inside}/{len(pinned)}",
        )
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def curves(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each line of the reliability diagram."""
    found = {
        "with calibration": [one for one in records if one.calibrated],
        "without calibration": [one for one in records if not one.calibrated],
    }
    return {name: own for name, own in found.items() if own}
