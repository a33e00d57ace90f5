"""Says how well a twin explains the telemetry of its episodes."""

from __future__ import annotations

from collections.abc import Iterable

from core_eval.harm.verdict import BAD_FIT
from core_eval.log import EpisodeRow


def fit_cell(row: EpisodeRow) -> str:
    """Return the fit of an episode's twin, in a table; empty without a twin."""
    share = row.scores.get("twin_fit")
    if share is None:
        return ""
    return f"p={share:.2f}" if share >= BAD_FIT else f"bad, p={share:.3f}"


def fit_line(row: EpisodeRow) -> str | None:
    """Return a line on the fit of an episode's twin; None without a twin."""
    share, effective = row.scores.get("twin_fit"), row.scores.get("twin_effective")
    ours, expected = (row.scores.get(f"twin_{name}log_likelihood") for name in ("", "expected_"))
    if share is None or effective is None or ours is None or expected is None:
        return None
    members = (row.twin or {}).get("members", "?")
    return (
        f"twin: fit p = {share:.3f}; log-likelihood {ours:z.1f}, expected {expected:z.1f}; "
        f"{effective:.1f} of {members} members effective"
    )


def is_bad_fit(row: EpisodeRow) -> bool:
    """Return whether an episode has a twin that does not explain its telemetry."""
    share = row.scores.get("twin_fit")
    return share is not None and share < BAD_FIT


def fit_words(row: EpisodeRow) -> str | None:
    """Return in words how far the twin's probabilities of an episode can be trusted; None without a twin."""
    line = fit_line(row)
    if line is None:
        return None
    if is_bad_fit(row):
        return f"{line}. It does not explain the telemetry (p < {BAD_FIT:g}): do not trust its probabilities."
    return f"{line}. It explains the telemetry; that does not prove the model."


def fit_json(row: EpisodeRow) -> dict[str, float | None] | None:
    """Return the fit of an episode's twin as JSON-ready data; None without a twin."""
    names = ("fit", "effective", "log_likelihood", "expected_log_likelihood")
    if row.scores.get("twin_fit") is None:
        return None
    return {name: row.scores.get(f"twin_{name}") for name in names}


def bad_fits_text(rows: Iterable[EpisodeRow]) -> str | None:
    """Return a line on the episodes that their twin does not explain; None if there are none."""
    bad = [str(row.id) for row in rows if is_bad_fit(row)]
    if not bad:
        return None
    return (
        f"the twin does not explain the telemetry (p < {BAD_FIT:g}) of episodes {', '.join(bad)}: "
        "do not trust its probabilities there; check start, sensors and world, then calibrate"
    )
