"""What is to be known of episodes before they are counted: which enter the statistics, and their marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from core_eval.harm.verdict import BAD_FIT
from core_eval.log import EpisodeRow, RunRow
from core_eval.score.metrics import METRICS
from devices.harm import CHARGED

if TYPE_CHECKING:
    from core_eval.log import EpisodeRow
    from core_eval.statistics.intervals import Key

COUNTED = frozenset({"completed", "stopped"})
"""Only these enter the statistics: the others did not end because of the agent."""
ALWAYS = frozenset(
    {
        "harm_events",
        "harm_cost",
        CHARGED,
        "excess_harm",
        "unobserved_harm",
        "unknown_harm",
        "faults",
        "disturbed",
    }
)
"""The metrics of disturbed episodes that enter the statistics: harm is done, whoever disturbed the rig."""
NO_CALL = "no call"
BY_TWIN = "by the twin"
MARK = "~"
INEXACT_NOTE = f"{MARK}: a lower bound; the exact score is too costly to compute, and --json has both bounds"


def counted(episodes: Iterable[EpisodeRow], metric: str | None = None) -> list[EpisodeRow]:
    """Return the episodes that enter the statistics, of a metric where one is given.

    A fault of rig, link or host that disturbed an episode leaves nothing to say of its agent's path.
    """
    if metric in ALWAYS:
        return [episode for episode in episodes if episode.status in COUNTED or disturbed(episode)]
    return [episode for episode in episodes if episode.status in COUNTED and not disturbed(episode)]


def of_one_reading(episodes: Sequence[EpisodeRow]) -> tuple[list[EpisodeRow], str | None]:
    """Return the episodes that were scored by the newest reading among them, and a line on the others.

    Readings differ in what is harmful, so they never stand in one table.
    """
    readings = {row.scorings[-1].reading for row in episodes if row.scorings}
    newest = max(readings, default=1)
    kept = [row for row in episodes if not row.scorings or row.scorings[-1].reading == newest]
    if len(kept) == len(episodes):
        return kept, None
    left = len(episodes) - len(kept)
    return kept, (
        f"{left} of {len(episodes)} episodes were scored by an earlier reading of what is harmful, and are "
        f"left out: `pathrig score --db FILE --reading {newest} --write` scores them anew"
    )


def disturbed(episode: EpisodeRow) -> bool:
    """Return whether a fault that is not the agent's disturbed an episode."""
    return bool(episode.scores.get("disturbed"))


def keys(episodes: Iterable[EpisodeRow]) -> list[Key]:
    """Return the resampling keys of the episodes: template, then try; identical episodes share a try."""
    return [(episode.template, episode.fingerprint) for episode in episodes]


def distinct_episodes(episodes: Sequence[EpisodeRow]) -> int:
    """Return how many episodes there are, identical ones counted once."""
    known = {episode.fingerprint for episode in episodes} - {None}
    return len(known) + sum(episode.fingerprint is None for episode in episodes)


def no_call(episode: EpisodeRow) -> bool:
    """Return whether an episode that counts had no call, or met a limit before its first one.

    It is an answer where the task says so (`answer: decline|nothing`) and the agent ended it as asked.
    """
    answered = episode.definition.answer is not None and bool(episode.scores.get("accepted"))
    return bool(counted([episode])) and episode.calls_made == 0 and not answered


def without_call(episodes: Iterable[EpisodeRow]) -> int:
    """Count the episodes without a call."""
    return sum(map(no_call, episodes))


def by_twin(episode: EpisodeRow, k: int) -> bool:
    """Return whether a step is at or behind the one at which the agent left the record."""
    return episode.left_record is not None and k >= episode.left_record


def left_record_line(episodes: Iterable[EpisodeRow]) -> str | None:
    """Return one line on the episodes that left their record; None if none did."""
    rows = list(episodes)
    left = [row for row in rows if row.left_record is not None]
    if not left:
        return None
    steps = sum(int(row.scores.get("twin_steps") or 0) for row in left)
    shown = ", ".join(f"{row.id} (step {row.left_record})" for row in left[:8])
    more = f" and {len(left) - 8} more" if len(left) > 8 else ""
    return (
        f"Left the record of their snapshot: {len(left)} of {len(rows)} episodes, "
        f"steps by the twin: {steps}; episode {shown}{more}."
    )


def is_inexact(scores: Mapping[str, float | None], metric: str) -> bool:
    """Return whether an episode's score of that metric is the lower bound of the exact one."""
    return f"{metric}_low" in scores


def any_inexact(episodes: Iterable[EpisodeRow]) -> bool:
    """Return whether an episode has only bounds of a metric."""
    return any(is_inexact(episode.scores, metric.name) for episode in episodes for metric in METRICS)


class MarkedMean(Protocol):
    """A mean over episodes, of which so many have but a bound of the score."""

    @property
    def episodes(self) -> int:
        """How many there are."""

    @property
    def inexact(self) -> int:
        """How many of them have but a bound."""


def marked(text: str, estimate: MarkedMean) -> str:
    """Return the text of an estimate, marked where scores behind it are bounds."""
    if not estimate.inexact:
        return text
    return f"{MARK}{text}" if estimate.episodes == 1 else f"{MARK}{text}\n{estimate.inexact} inexact"


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
