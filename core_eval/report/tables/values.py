"""How the values of metrics are written in tables, and which of their columns a narrow table omits."""

from __future__ import annotations

from core_eval.score.metrics import BY_NAME

LEAVING = (
    "harm rate",
    "efficiency",
    "deviations",
    "PC-KTC",
    "PrefixCrit",
    "final state ok",
    "harm events",
    "hidden dev",
    "unobserved share",
    "invalid",
)
"""Metrics that a narrow table omits, in this order."""


def cell(name: str, value: float | None, count: int = 0) -> str:
    """Return a value or a mean as a table shows it; a dash where it is undefined."""
    if value is None:
        return "-"
    kind = BY_NAME[name].kind
    if kind == "flag":
        return f"{value:.0%}" if count != 1 else ("yes" if value else "no")
    if kind == "count":
        return f"{value:.0f}" if value == int(value) else f"{value:.1f}"
    if kind == "bytes":
        return f"{value / 2**20:.0f} MiB"
    return f"{value:.3f}"
