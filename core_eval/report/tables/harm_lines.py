"""What is said of the harm of some episodes in words, beside its tables: on terminal, page and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from core_eval.log import EpisodeRow
from core_eval.report.tables.harm import not_assessed_text, unanswered_text
from core_eval.report.tables.harm_summary import EpisodeHarm
from core_eval.report.tables.scorings import latest_notes
from core_eval.score.episodes import no_call
from core_eval.score.twin_fit import bad_fits_text
from sims.world_type import world_of_device

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
    unassessed = [one.row for one in found if not one.assessed]
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


def _no_rules(episodes: Iterable[EpisodeRow]) -> Iterator[str]:
    """Yield one sentence for each device whose harm no rule tells."""
    untold: dict[str, bool] = {}
    for row in episodes:
        untold[row.device] = untold.get(row.device, False) or row.scores.get("unknown_harm") is None
    for device in sorted(untold):
        world = world_of_device(device)
        why = ", as no package registers a world of it" if world is None else ""
        if untold[device] if world is None else not world.harm_rules:
            yield f"A {device} has no harm rules{why}: its harm is not known."
