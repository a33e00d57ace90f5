"""Which suites and exams the runs of a result measured: means of different ones are of different things."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core_eval.log import RunRow


def mixed_suites(runs: Iterable[RunRow]) -> str | None:
    """Return a sentence where runs of a log measured different suites, or other versions of one; else None.

    A run whose tasks were named one by one measured none.
    """
    return different_suites({f"run {run.id}": run for run in runs})


def different_suites(runs: Mapping[str, RunRow]) -> str | None:
    """Return the same sentence for runs by what they are called."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        if run.suites:
            found.setdefault(", ".join(sorted(run.suites)), []).append(name)
    if len(found) < 2:
        return None
    told = "; ".join(f"{', '.join(names)}: {suites}" for suites, names in found.items())
    return f"different suites were measured, so that means are not of the same tasks and worlds: {told}"


def different_exams(runs: Mapping[str, RunRow]) -> str | None:
    """Return a sentence where runs, by what they are called, took different exams; else None.

    A run without an exam had options of its own; only those of an exam are ranked with each other.
    """
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        exam = run.config.get("exam")
        if exam is not None:
            found.setdefault(f"{exam['name']} {exam['digest']}", []).append(name)
    if len(found) < 2:
        return None
    told = "; ".join(f"{', '.join(names)}: {exam}" for exam, names in found.items())
    return f"different exams were taken, so that models differ by more than their weights: {told}"
