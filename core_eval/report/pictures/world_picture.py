"""Pictures of a rig's surroundings at moments of an episode: replayed, drawn by its world or as its field."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from configs.errors import ConfigError
from configs.worlds_loader import make_simulator
from core_eval.harm.logged_episode import NoReplayError, executed_calls, logged_world
from core_eval.harm.replay import Player, ReplayError
from core_eval.log import EpisodeRow, LogReader, TruthRow
from core_eval.report.pictures.field_shapes import Point, driven_way, field_of
from core_eval.report.pictures.field_view import field_svg
from core_eval.report.pictures.standalone import png, standalone
from sims.png import PictureError
from sims.simulator import Simulator

SIZE = (960, 640)
"""Width and height, pixels."""
Drawing = bytes | str
"""A PNG file, where a world draws itself; else its map as SVG, in the colours of the page around it."""
LOOK_S = 0.005
"""A moment is drawn this time after it, s: a contact has built up by then."""


def file_of(drawing: Drawing, size: tuple[int, int], suffix: str) -> bytes:
    """Return a drawing as a file, `.png` or `.svg`.

    Raises:
        PictureError: the world draws itself, as PNG; or the converter is not installed.
    """
    if suffix == ".png":
        return drawing if isinstance(drawing, bytes) else png(drawing, size)
    if isinstance(drawing, bytes):
        raise PictureError("this world's picture is a PNG file, so end the name in .png")
    return standalone(drawing, size).encode()


def picture_after_step(
    reader: LogReader, episode: EpisodeRow, step: int | None = None, size: tuple[int, int] = SIZE
) -> Drawing:
    """Return a drawing of the state after a step, or at the episode's end.

    Raises:
        PictureError: there is no such step, no replay, or no picture of this world.
    """
    calls = executed_calls(reader.steps(episode.id))
    if step is not None and step not in [call.step for call in calls]:
        raise PictureError(f"episode {episode.id} has no step {step} that reached the rig")
    artist = _Artist(reader, episode, size)
    player = artist.player
    for call in calls:
        player.replay_call(call)
        if call.step == step:
            break
    else:
        player.simulator.finish()
    return artist.draw(player.simulator.clock.now)


def picture_at(reader: LogReader, episode: EpisodeRow, t: float, size: tuple[int, int] = SIZE) -> Drawing:
    """Return a drawing of the state at a device time, s, such as that of a harm event.

    Raises:
        PictureError: the episode was over by then, or there is no replay, or no picture of this world.
    """
    found = drawings_at(reader, episode, [t], size)
    if not found:
        raise PictureError(f"episode {episode.id} was over before {t:g} s")
    return found[t]


def drawings_at(
    reader: LogReader, episode: EpisodeRow, times: Collection[float], size: tuple[int, int] = SIZE
) -> dict[float, Drawing]:
    """Return drawings by device time, s, from one replay; without those at which the episode was over.

    Raises:
        PictureError: there is no replay, or no picture of this world.
    """
    artist = _Artist(reader, episode, size)
    simulator = artist.player.simulator
    left, found = sorted(times), {}

    def look(now: float) -> None:
        while left and left[0] <= now:
            found[left.pop(0)] = artist.draw(now)
        # The next moment itself is the period, so that nothing is looked at in between.
        simulator.watch(left[0] + LOOK_S if left else LOOK_S, look if left else None)

    look(simulator.clock.now)
    for call in executed_calls(reader.steps(episode.id)):
        if not left:
            break
        artist.player.replay_call(call)
    if left:
        simulator.finish()
    return found


@dataclass
class _Artist:
    """Replays an episode, and draws the present state.

    Raises:
        PictureError: there is no replay.
    """

    reader: LogReader
    episode: EpisodeRow
    size: tuple[int, int]
    player: Player = field(init=False)
    _kind: Any = field(init=False)

    def __post_init__(self) -> None:
        try:
            world = logged_world(self.reader, self.episode)
            self._kind = world.type
            self.player = Player(lambda: make_simulator(world), self.episode.init, self.episode.world_seed)
        except (ConfigError, NoReplayError, ReplayError) as error:
            raise PictureError(f"episode {self.episode.id} cannot be replayed: {error}") from None
        if self._kind.picture is None and not self._kind.place_keys:
            raise PictureError(f"the world {self._kind.name} has no picture")

    @cached_property
    def _way(self) -> list[tuple[float, Point]]:
        return driven_way(self.reader.truth(self.episode.id))

    def draw(self, now: float) -> Drawing:
        """Return a drawing of the simulator's state, at device time `now`, s.

        Raises:
            PictureError: the machine cannot draw.
        """
        simulator: Simulator[Any] = self.player.simulator
        if self._kind.picture is not None:
            drawn: bytes = self._kind.picture(simulator, self.size)
            return drawn
        reader, number = self.reader, self.episode.id
        state, steps = simulator.state_dict(), reader.steps(number)
        truth = [row for row in reader.truth(number) if row.t <= now]
        driven = [at for t, at in self._way if t <= now]
        shown = field_of(self.episode, steps, [*truth, TruthRow(None, now, state, None)], (), driven)
        if shown is None:
            raise PictureError(f"the world {self._kind.name} has no places to draw")
        struck = [
            event.entity for event in reader.harm(number) if event.t_start <= now <= event.t_end + LOOK_S
        ]
        return field_svg(shown, state, struck)
