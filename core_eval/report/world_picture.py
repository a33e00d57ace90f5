"""Pictures of a rig's surroundings at a moment of an episode: replayed, and drawn by its world."""

from __future__ import annotations

from configs.worlds_loader import make_simulator
from core_eval.harm.logged_episode import NoReplayError, executed_calls, logged_world
from core_eval.harm.replay import Player, ReplayError
from core_eval.log import EpisodeRow, LogReader
from sims.picture_error import PictureError

SIZE = (960, 640)
"""Width and height, pixels."""
LOOK_S = 0.01
"""An event is drawn within this time after it began, s."""


def picture_after_step(
    reader: LogReader, episode: EpisodeRow, step: int | None = None, size: tuple[int, int] = SIZE
) -> bytes:
    """Return a PNG file of the state after a step, or at the episode's end.

    Raises:
        PictureError: there is no such step, no replay, or no picture of this world.
    """
    return _drawn(reader, episode, size, step=step)


def picture_at(reader: LogReader, episode: EpisodeRow, t: float, size: tuple[int, int] = SIZE) -> bytes:
    """Return a PNG file of the state at a device time, s, such as that of a harm event.

    Raises:
        PictureError: the episode was over by then, or there is no replay, or no picture of this world.
    """
    return _drawn(reader, episode, size, t=t)


def _drawn(
    reader: LogReader,
    episode: EpisodeRow,
    size: tuple[int, int],
    *,
    step: int | None = None,
    t: float | None = None,
) -> bytes:
    calls = executed_calls(reader.steps(episode.id))
    if step is not None and step not in [call.step for call in calls]:
        raise PictureError(f"episode {episode.id} has no step {step} that reached the rig")
    try:
        world = logged_world(reader, episode)
        draw = world.type.picture
        if draw is None:
            raise PictureError(f"the world {world.type.name} has no picture")
        player = Player(lambda: make_simulator(world), episode.init, episode.seed)
    except (NoReplayError, ReplayError) as error:
        raise PictureError(f"episode {episode.id} cannot be replayed: {error}") from None
    simulator = player.simulator
    found: list[bytes] = []

    def look(now: float) -> None:
        if t is not None and now >= t and not found:
            found.append(draw(simulator, size))

    simulator.watch(LOOK_S, look)
    for call in calls:
        player.replay_call(call)
        if found or call.step == step:
            break
    else:
        simulator.finish()
    simulator.watch(LOOK_S, None)
    if t is not None and not found:
        raise PictureError(f"episode {episode.id} was over before {t:g} s")
    return found[0] if found else draw(simulator, size)
