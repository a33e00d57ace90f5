"""Selects the harm events of a log that the report shows as pictures, and draws each moment once."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core_eval.log import EpisodeRow, HarmRow, LogReader
from core_eval.report.pictures.world_picture import Drawing, drawings_at
from sims.png import CannotDrawError, PictureError
from sims.world_type import WORLD_TYPES

SIZE = (480, 320)
"""Width and height, pixels."""
PICTURES = 12
"""Maximum number of pictures in a report."""
PER_EPISODE = 2
SAME_MOMENT_S = 0.5
"""Events of an episode that begin within this time of each other share a picture, s."""


@dataclass(frozen=True, slots=True)
class EventPicture:
    """A picture of the moment at which an event begins.

    Attributes:
        shown: SVG, or a PNG file as a `data:` address; empty where another event's picture shows the same.
        episode, step: those of that event.
        t: device time, s.
    """

    shown: str
    episode: int
    step: int | None
    t: float


@dataclass
class EventPictures:
    """The pictures by episode and index of the event; `left_out` says why some or all are left out."""

    shown: dict[int, dict[int, EventPicture]] = field(default_factory=dict)
    left_out: str | None = None

    def of(self, episode: int) -> dict[int, EventPicture]:
        """Return the pictures of an episode's events, by index."""
        return self.shown.get(episode, {})


def event_pictures(reader: LogReader, episodes: Iterable[EpisodeRow]) -> EventPictures:
    """Draw the events of these episodes, in their order, until there are `PICTURES` of them.

    Identical episodes share their pictures. A twin's events are not drawn: their true moment is not known.
    """
    found = EventPictures()
    first: dict[tuple[object, ...], int] = {}
    left = PICTURES
    for row in episodes:
        events = reader.harm(row.id)
        moments = _moments(events)
        if not moments or not _drawable(row):
            continue
        key = (row.fingerprint, *((event.kind, event.entity, event.t_start) for event in events))
        same = first.setdefault(key, row.id) if row.fingerprint else row.id
        if same != row.id:
            found.shown[row.id] = _referred(found.of(same))
            continue
        if not left:
            continue
        times = list(dict.fromkeys(moments.values()))[: min(PER_EPISODE, left)]
        try:
            drawn = drawings_at(reader, row, times, SIZE)
        except CannotDrawError as error:
            found.left_out = str(error)
            break
        except PictureError as error:
            found.left_out = found.left_out or str(error)
            continue
        left -= len(drawn)
        found.shown[row.id] = _placed(row.id, events, moments, drawn)
    return found


def _drawable(row: EpisodeRow) -> bool:
    world = None if row.world is None else WORLD_TYPES.get(row.world)
    return world is not None and (world.picture is not None or bool(world.place_keys))


def _moments(events: Sequence[HarmRow]) -> dict[int, float]:
    """Return by index of the event the device time of its picture."""
    found: dict[int, float] = {}
    for place, event in enumerate(events):
        if event.source == "truth" and event.k is not None:
            near = (t for t in found.values() if abs(t - event.t_start) <= SAME_MOMENT_S)
            found[place] = next(near, event.t_start)
    return found


def _placed(
    episode: int, events: Sequence[HarmRow], moments: dict[int, float], drawn: dict[float, Drawing]
) -> dict[int, EventPicture]:
    shown: dict[int, EventPicture] = {}
    at: dict[float, EventPicture] = {}
    for place, t in moments.items():
        if t not in drawn:
            continue
        if t in at:
            shown[place] = EventPicture("", episode, at[t].step, t)
        else:
            drawing = drawn[t]
            if isinstance(drawing, bytes):
                drawing = f"data:image/png;base64,{b64encode(drawing).decode()}"
            shown[place] = at[t] = EventPicture(drawing, episode, events[place].k, t)
    return shown


def _referred(pictures: dict[int, EventPicture]) -> dict[int, EventPicture]:
    return {place: EventPicture("", one.episode, one.step, one.t) for place, one in pictures.items()}
