"""Tables of harm, and what is said of it in words beside them: on terminal, page and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from rich.text import Text

from core_eval.harm.verdict import NOT_COUNTED
from core_eval.log import NO_AUTOMATON, EpisodeRow, HarmRow, StepRow
from core_eval.report.tables.columns import Column, terminal_table
from core_eval.report.tables.fitted_table import Table
from core_eval.report.tables.harm_summary import (
    EpisodeHarm,
    GroupHarm,
    KindHarm,
    amount,
    blame_text,
    charge_text,
    cost_text,
    event_text,
    evidence_text,
    exposure,
)
from core_eval.report.tables.scorings import latest_notes
from core_eval.report.tables.texts import call_text, interval_text
from core_eval.score.agent_names import short_names
from core_eval.score.episodes import NO_CALL, bad_fits_text, fit_cell, no_call
from core_eval.statistics.estimates import Estimate
from devices.harm import HarmRule
from sims.world_type import rule_of, world_of_device

Kind = Literal["number", "name", "words"]


def verdict_text(event: HarmRow, word: str) -> Text:
    """Return the verdict in its `word` (`Thresholds.word`), with a twin's probabilities if there are any."""
    styles = {"unobserved": "bold red", "unknown": "yellow", "hindsight": "red"}
    text = word.upper() if word == "unobserved" else word
    if word == NOT_COUNTED:
        return Text(text)
    if event.detection is not None:
        text = f"{'detectable' if word == 'observed' else text} ({event.detection:.2f})"
    if event.observed_probability is not None:
        text += f" (p={event.observed_probability:.2f})"
    return Text(text, style=styles.get(word, ""))


def probability_text(event: HarmRow) -> str:
    """Return the probability that an event happened, with its standard error where that is known."""
    error = "" if event.probability_error is None else f"\N{PLUS-MINUS SIGN}{event.probability_error:.2f}"
    return f"{event.probability:.2f}{error}"


def events_table(episodes: Sequence[EpisodeHarm], steps: Mapping[int, Sequence[StepRow]]) -> Table:
    """Return one row an event; `steps` are those of each episode."""
    likely = any(event.probability is not None for episode in episodes for event in episode.events)
    headings = ["episode", "step", "call", "kind", "what", "from s", "to s", "cost", "verdict"]
    more = ["charged", "at the end", "remedy", "evidence"]
    numbers = ("episode", "step", "from s", "to s", "cost")
    table = Table(*headings, *(["happened", "fit"] if likely else []), *more, numbers=numbers)
    table.columns[headings.index("call")].max_width = 40
    for episode in episodes:
        calls = _calls(steps[episode.row.id])
        device = episode.row.device
        for event in episode.events:
            happened = "" if event.probability is None else f"p={probability_text(event)}"
            table.add_row(
                str(episode.row.id),
                blame_text(event),
                Text(calls.get(-1 if event.k is None else event.k, "")),
                event.kind,
                Text(event_text(device, event)),
                f"{event.t_start:.2f}",
                f"{event.t_end:.2f}",
                cost_text(event, event.cost) or exposure(rule_of(device, event.kind), event.exposure),
                verdict_text(event, episode.thresholds.word(event)),
                *([happened, fit_cell(episode.row)] if likely else []),
                charge_text(event),
                {True: "hidden", False: "shows", None: "?"}[event.hidden_at_end],
                event.remedy or "?",
                Text("" if event.observed is None else evidence_text(event.evidence)),
            )
    return table


def deviations_table(episodes: Iterable[EpisodeHarm], steps: Mapping[int, Sequence[StepRow]]) -> Table | None:
    """Return one row a call off the path that was carried out; None where there is none."""
    headings = ("episode", "step", "call", "effect", "telemetry", "evidence")
    table = Table(*headings, numbers=("episode", "step"))
    for episode in episodes:
        calls = _calls(steps[episode.row.id])
        for row in episode.deviations:
            table.add_row(
                str(episode.row.id),
                "" if row.k is None else str(row.k),
                Text(calls.get(-1 if row.k is None else row.k, "")),
                {True: "yes", False: "none", None: "?"}[row.effect],
                {True: "differs", False: "the same", None: "?"}[row.observed],
                Text("" if row.observed is None else evidence_text(row.evidence, without="the call")),
            )
    return table if table.row_count else None


KIND_COUNTS = ("events", "forecasts", "excess", "unobserved", "hindsight", "unknown")


def kind_columns(kinds: Sequence[KindHarm]) -> list[Column[KindHarm]]:
    """Return the columns of kinds of harm. A narrow table drops verdicts that none has first."""
    verdicts = ("unknown", "hindsight", "forecasts")
    empty = [name for name in verdicts if not any(getattr(kind, name) for kind in kinds)]
    filled = [name for name in verdicts if name not in empty]
    leaving = ["of it unobserved", *empty, "device", "most beyond the limit", *filled]

    def column(heading: str, cell: Callable[[KindHarm], str], kind: Kind = "number") -> Column[KindHarm]:
        leaves = leaving.index(heading) + 1 if heading in leaving else 0
        return Column(heading, cell, kind, leaves, more=leaves > 0)

    def of_rule(words: Callable[[HarmRule | None, float], str], field: str) -> Callable[[KindHarm], str]:
        return lambda one: (
            words(rule_of(one.device, one.kind), getattr(one, field)) or "-" if one.events else "-"
        )

    def of_cost(field: str) -> Callable[[KindHarm], str]:
        return lambda one: f"{getattr(one, field):.3g} {one.cost_unit}".rstrip() if one.events else "-"

    return [
        column("device", lambda one: one.device, "name"),
        column("kind", lambda one: one.kind, "name"),
        *(column(name, _count(name)) for name in KIND_COUNTS),
        column("most beyond the limit", of_rule(amount, "peak")),
        column("cost", of_cost("cost")),
        column("charged", of_cost("excess_cost")),
        column("of it unobserved", of_cost("unobserved_cost")),
    ]


def kinds_table(kinds: Iterable[KindHarm]) -> Table:
    """Return one row a kind; costs are sums."""
    found = list(kinds)
    return terminal_table(kind_columns(found), found)


GROUP_COUNTS = {
    "with harm": ("with_harm", 4),
    "events": ("events", 0),
    "excess": ("excess", 0),
    "unobserved": ("unobserved", 0),
    "unobserved share": ("", 0),
    "unknown": ("unknown", 6),
    "hidden at the end": ("hidden_at_end", 3),
    "behind an ok state": ("behind_ok_state", 5),
    "deviations": ("deviations", 2),
    "pairs": ("pairs", 1),
}
"""The columns of the harm of a group: its field, and when a narrow table drops it."""


def group_columns(groups: Sequence[GroupHarm]) -> list[Column[GroupHarm]]:
    """Return the columns of the harm of each agent in each world."""
    names = short_names(group.agent for group in groups)
    return [
        Column("world", lambda group: group.world, "name"),
        Column("agent", lambda group: names[group.agent], "name"),
        Column("episodes", episodes_text),
        *(
            Column(heading, _group_cell(name), leaves=leaves)
            for heading, (name, leaves) in GROUP_COUNTS.items()
        ),
    ]


def groups_table(groups: Iterable[GroupHarm]) -> Table:
    """Return one row for each agent in each world."""
    found = list(groups)
    return terminal_table(group_columns(found), found)


def _group_cell(name: str) -> Callable[[GroupHarm], str]:
    return _count(name) if name else lambda group: share_text(group.share)


def _count(name: str) -> Callable[[Any], str]:
    return lambda row: str(getattr(row, name))


def pairs_table(episodes: Iterable[EpisodeHarm], steps: Mapping[int, Sequence[StepRow]]) -> Table | None:
    """Return one row a compensating pair; None where there is none."""
    numbers = ("episode", "step", "stranded s")
    table = Table("episode", "step", "call", "undone by", "restored", "stranded s", numbers=numbers)
    for episode in episodes:
        calls = _calls(steps[episode.row.id])
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
    """Return the number of episodes, and of those without a call, which cannot do harm."""
    return f"{group.episodes}, {group.no_call} {NO_CALL}" if group.no_call else str(group.episodes)


def share_text(share: Estimate) -> str:
    """Return a share with its interval; a dash where there is none."""
    return "-" if share.mean is None else f"{share.mean:.0%} {interval_text(share, '.0%')}".rstrip()


def unanswered_text(episodes: Iterable[EpisodeHarm]) -> str | None:
    """Return a line on unanswered calls that remain unknown, with episodes; None if there are none."""
    found = [(episode.row.id, episode.unanswered) for episode in episodes if episode.unanswered]
    if not found:
        return None
    total = sum(count for _, count in found)
    calls = "1 call" if total == 1 else f"{total} calls"
    numbers = ", ".join(str(number) for number, _ in found)
    return f"unknown: {calls} without an answer, not known whether executed: episodes {numbers}"


def not_assessed_text(episodes: Iterable[EpisodeHarm]) -> str | None:
    """Return a line on the rules that a twin did not assess, with episodes; None if it assessed all."""
    found = [episode for episode in episodes if episode.not_assessed]
    if not found:
        return None
    rules = ", ".join(dict.fromkeys(kind for episode in found for kind in episode.not_assessed))
    numbers = ", ".join(str(episode.row.id) for episode in found)
    return f"not assessed, as the twin knows nothing of their input: {rules}: episodes {numbers}"


def _calls(steps: Iterable[StepRow]) -> dict[int, str]:
    return {step.k: call_text(step.tool, step.arguments or {}) for step in steps}


Line = tuple[str, str]
"""A sentence and its style: empty for a fact, yellow for what is not known, bold where it warns."""


def harm_lines(found: Sequence[EpisodeHarm], rare: int = 0) -> list[Line]:
    """Return the sentences on the harm of these episodes.

    Args:
        found: the episodes with their harm.
        rare: the number of events that happen on too few of the drawn rigs to have a detection probability.
    """
    return list(_lines(found, rare))


def _lines(found: Sequence[EpisodeHarm], rare: int) -> Iterator[Line]:
    rows = [one.row for one in found]
    unassessed = [one.row for one in found if not one.assessed and one.row.imported is None]
    lost, blind = unanswered_text(found), not_assessed_text(found)
    if rare:
        events = "1 event has" if rare == 1 else f"{rare} events have"
        yield f"{events} no detection probability: too few of the drawn rigs do this harm", "yellow"
    if behind := [one.row for one in found if one.behind_ok_state]:
        yield f"a final-state check passes although harm was done: {_episodes(behind)}", ""
    ruleless = [*_no_rules(rows)]
    unknown = [
        *ruleless,
        f"harm could not be assessed in {_episodes(unassessed)}" if unassessed else None,
        *latest_notes(rows),
        f"no call was made in {_episodes(idle)}" if (idle := [row for row in rows if no_call(row)]) else None,
        lost,
        blind,
    ]
    if (bad := bad_fits_text(rows)) is not None:
        yield bad, "bold yellow"
    yield from ((line, "yellow") for line in unknown if line is not None)
    if not found:
        yield "the log has no episodes", ""
    elif not (unassessed or ruleless) and lost is None and not any(one.events for one in found):
        yield ("no harm was done" if blind is None else "no other harm was done"), ""


def _episodes(rows: Iterable[EpisodeRow]) -> str:
    return f"episodes {', '.join(str(row.id) for row in rows)}"


def _no_rules(episodes: Sequence[EpisodeRow]) -> Iterator[str]:
    """Yield one sentence for each such device of these episodes."""
    untold: dict[str, bool] = {}
    for row in episodes:
        if row.imported is not None:
            continue
        untold[row.device] = untold.get(row.device, False) or row.scores.get("unknown_harm") is None
    if imported := sum(row.imported is not None for row in episodes):
        yield f"Imported traces have no world: the harm of {imported} is not known."
    if unscored := sum(row.definition.automaton == NO_AUTOMATON for row in episodes):
        yield f"{unscored} imported traces have no known task: calls and statuses only."
    for device in sorted(untold):
        world = world_of_device(device)
        why = ", as no package registers a world of it" if world is None else ""
        if untold[device] if world is None else not world.harm_rules:
            yield f"A {device} has no harm rules{why}: its harm is not known."
