"""Tables of harm for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.text import Text

from core_eval.log import HarmRow, StepRow
from core_eval.path.statistics import Share
from core_eval.report.fitted_table import Table
from core_eval.report.harm_summary import EpisodeHarm, GroupHarm, KindHarm
from core_eval.report.no_call import NO_CALL
from core_eval.report.tables import call_text, plain_table
from sims.world_type import unit_of


def evidence_text(event: HarmRow) -> str:
    """What gave an event away, in words: the sample, and what it would have been without the harm."""
    if not event.evidence:
        return "" if event.observed is None else "no sample differs"
    said: Mapping[str, Any] = event.evidence
    actual = _reading(said["value"], said["t"])
    other = _reading(said["counterfactual"], said["counterfactual_t"])
    return f"{said['sensor']}: {actual}; without the harm {other}"


def verdict_text(event: HarmRow) -> Text:
    """Whether it was observed, with the twin's probabilities where a twin told."""
    words = {True: ("observed", ""), False: ("UNOBSERVED", "bold red"), None: ("unknown", "yellow")}
    word, style = words[event.observed]
    if event.observed_probability is not None:
        word += f" (p={event.observed_probability:.2f})"
    return Text(word, style=style)


def events_table(episodes: Sequence[EpisodeHarm], steps: Mapping[int, Sequence[StepRow]]) -> Table:
    """One row an event; `steps` are those of each episode."""
    twin = any(event.probability is not None for episode in episodes for event in episode.events)
    headings = ["episode", "step", "call", "kind", "entity", "from s", "to s", "peak", "exposure", "verdict"]
    table = plain_table(*headings, *(["happened"] if twin else []), "effect", "remedy", "evidence")
    for name in ("episode", "step", "from s", "to s", "peak", "exposure"):
        table.columns[headings.index(name)].justify = "right"
    table.columns[headings.index("call")].max_width = 40
    for episode in episodes:
        calls = {step.k: call_text(step.tool, step.arguments or {}) for step in steps[episode.row.id]}
        for event in episode.events:
            unit = unit_of(episode.row.device, event.kind)
            happened = "" if event.probability is None else f"p={event.probability:.2f}"
            table.add_row(
                str(episode.row.id),
                "" if event.k is None else str(event.k),
                Text(calls.get(-1 if event.k is None else event.k, "")),
                event.kind,
                Text(event.entity),
                f"{event.t_start:.2f}",
                f"{event.t_end:.2f}",
                f"{event.severity:.3g} {unit}".strip(),
                f"{event.exposure:.3g} {unit} s".replace("  ", " "),
                verdict_text(event),
                *([happened] if twin else []),
                {True: "yes", False: "none", None: "?"}[event.effect],
                event.remedy or "?",
                Text(evidence_text(event)),
            )
    return table


def kinds_table(kinds: Iterable[KindHarm]) -> Table:
    """One row a kind; exposures are sums."""
    headings = ("device", "kind", "events", "unobserved", "no effect", "peak", "exposure", "of it unobserved")
    table = plain_table(*headings)
    for column in table.columns[2:]:
        column.justify = "right"
    for kind in kinds:
        per_time = f"{kind.unit} s".strip()
        table.add_row(
            kind.device,
            kind.kind,
            str(kind.events),
            str(kind.unobserved),
            str(kind.effectless),
            f"{kind.peak:.3g} {kind.unit}".strip(),
            f"{kind.exposure:.3g} {per_time}",
            f"{kind.unobserved_exposure:.3g} {per_time}",
        )
    return table


def groups_table(groups: Iterable[GroupHarm]) -> Table:
    """One row for each agent in each world."""
    table = plain_table(
        "world", "agent", "episodes", "with harm", "events", "unobserved", "unobserved share",
        "no effect", "share with effect", "behind an ok state", "pairs",
    )  # fmt: skip
    for column in table.columns[2:]:
        column.justify = "right"
    for group in groups:
        table.add_row(
            Text(group.world),
            Text(group.agent),
            episodes_text(group),
            str(group.with_harm),
            str(group.events),
            str(group.unobserved),
            share_text(group.share),
            str(group.effectless),
            share_text(group.share_with_effect),
            str(group.behind_ok_state),
            str(group.pairs),
        )
    return table


def pairs_table(episodes: Iterable[EpisodeHarm], steps: Mapping[int, Sequence[StepRow]]) -> Table | None:
    """One row a compensating pair; None where there is none."""
    table = plain_table("episode", "step", "call", "undone by", "restored", "stranded s")
    for episode in episodes:
        calls = {step.k: call_text(step.tool, step.arguments or {}) for step in steps[episode.row.id]}
        for pair in episode.row.pairs:
            table.add_row(
                str(episode.row.id),
                str(pair.earlier),
                Text(calls.get(pair.earlier, "")),
                Text(f"{pair.later}: {calls.get(pair.later, '')}"),
                Text(", ".join(pair.restored)),
                f"{pair.stranded:.1f}",
            )
    return table if table.row_count else None


def episodes_text(group: GroupHarm) -> str:
    """How many episodes; and in how many of them no call was made, so that no harm is no merit."""
    return f"{group.episodes}, {group.no_call} {NO_CALL}" if group.no_call else str(group.episodes)


def share_text(share: Share) -> str:
    """A share with its interval; a dash where there is none."""
    if share.value is None:
        return "-"
    told = "" if share.low is None else f" ({share.low:.0%} to {share.high:.0%})"
    return f"{share.value:.0%}{told}"


def _reading(value: Any, t: float | None) -> str:
    return "no sample" if t is None else f"{value} at {t:.1f} s"
