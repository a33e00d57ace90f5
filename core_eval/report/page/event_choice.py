"""The harm events of a page: what is said of each, and which are traced and drawn closely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from configs.worlds_loader import make_simulator
from core_eval.harm.event_trace import EventTrace, trace_event
from core_eval.harm.logged_episode import NoReplayError, executed_calls, logged_world
from core_eval.harm.replay import ReplayError
from core_eval.log import EpisodeRow, HarmRow, LogReader, SampleRow
from core_eval.report.pictures.event_drawing import event_svg, sensors_of
from core_eval.report.pictures.event_pictures import EventPicture
from core_eval.report.tables.harm_summary import (
    EpisodeHarm,
    charge_text,
    event_text,
    evidence_text,
    exposure,
)
from devices.harm import HarmEvent, HarmRule
from sims.world_type import rule_of, unit_of

DRAWINGS = 12
"""Maximum number of events that are drawn closely, of the episodes with the most harm: each needs a replay.
"""
DRAWN_PER_EPISODE = 2


@dataclass(frozen=True)
class HarmView:
    """A harm event with what shows it; `drawing` is empty where no sensor has a sample."""

    row: HarmRow
    word: str
    rule: HarmRule | None
    words: str
    charged: str
    exposure: str
    evidence: str
    drawing: Markup
    picture: EventPicture | None


def harm_views(
    found: EpisodeHarm,
    samples: Sequence[SampleRow],
    drawings: Mapping[int, Markup],
    pictures: Mapping[int, EventPicture],
) -> list[HarmView]:
    """Return the view of each event of an episode; `drawings` and `pictures` are by the event's index."""
    device, thresholds = found.row.device, found.thresholds
    return [
        HarmView(
            row=event,
            word=thresholds.word(event),
            rule=(rule := rule_of(device, event.kind)),
            words=event_text(device, event),
            charged=charge_text(event),
            exposure=exposure(rule, event.exposure),
            evidence="" if event.observed is None else evidence_text(event.evidence),
            drawing=drawings.get(place) or Markup(event_svg(event, samples)),
            picture=pictures.get(place),
        )
        for place, event in enumerate(found.events)
    ]


def close_drawings(reader: LogReader, episodes: Iterable[EpisodeRow]) -> dict[int, dict[int, Markup]]:
    """Return by episode the drawings of those of its events that are drawn closely, by index."""
    found: dict[int, dict[int, Markup]] = {}
    left = DRAWINGS
    for row in episodes:
        events, samples = reader.harm(row.id), reader.samples(row.id)
        own = found.setdefault(row.id, {})
        for event in most_evident(row.device, events):
            if len(own) == min(DRAWN_PER_EPISODE, left):
                break
            trace = trace_of(reader, row, event, samples)
            if trace is not None:
                svg = event_svg(event, samples, unit_of(row.device, event.kind), trace)
                own[events.index(event)] = Markup(svg)
        left -= len(own)
        if not left:
            break
    return found


def most_evident(device: str, events: Iterable[HarmRow]) -> list[HarmRow]:
    """Return the events of an episode that are worth a drawing: unobserved ones first, then the longest.

    Only one event of a kind is chosen. Events whose rule names no signal, and those of a twin,
    cannot be drawn.
    """
    drawable = []
    for event in events:
        rule = rule_of(device, event.kind)
        if event.source == "truth" and event.k is not None and rule is not None and rule.signal is not None:
            drawable.append(event)
    drawable.sort(key=lambda event: (event.observed is not False, event.t_start - event.t_end))
    kinds: dict[tuple[bool, str], HarmRow] = {}
    for event in drawable:
        kinds.setdefault((event.observed is not False, event.kind), event)
    return list(kinds.values())


def trace_of(
    reader: LogReader, episode: EpisodeRow, event: HarmRow, samples: Sequence[SampleRow]
) -> EventTrace | None:
    """Return an event's trace; None where the episode cannot be replayed on this version any more."""
    calls = executed_calls(reader.steps(episode.id))
    index = next((index for index, call in enumerate(calls) if call.step == event.k), None)
    if index is None or event.remedy is None:
        return None
    evidence = event.evidence or {}
    moments = [evidence.get("t"), evidence.get("counterfactual_t")]
    try:
        world = logged_world(reader, episode)
        return trace_event(
            lambda: make_simulator(world),
            episode.init,
            episode.world_seed,
            calls,
            HarmEvent(
                event.kind, event.entity, index, event.t_start, event.t_end, event.severity, event.exposure
            ),
            event.remedy,
            sensors_of(event, samples),
            [float(t) for t in moments if t is not None],
        )
    except (NoReplayError, ReplayError, ValueError):
        return None
