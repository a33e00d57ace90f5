"""A twin's input: the calls and the coarse telemetry of an episode, as logged."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from configs.errors import ConfigError
from configs.twin_config import TwinConfig, twin_world_name
from configs.worlds_loader import World, load_world, merged_state
from core_eval.harm.logged_episode import NoReplayError, executed_calls
from core_eval.harm.report import ExecutedCall
from core_eval.log import EpisodeRow, LogReader, StepRow
from devices.device_type import an
from devices.harm import HarmRule
from devices.sensors import Sample
from sims.world_type import world_of_device


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call that reached the rig.

    Attributes:
        call: the logged call.
        start: device time since the episode began, s.
        result: the tool's answer; None where it gave none.
    """

    call: ExecutedCall
    start: float
    result: Mapping[str, Any] | None = None

    @property
    def end(self) -> float:
        """Device time since the episode began, s."""
        return self.start + self.call.duration


@dataclass(frozen=True, slots=True)
class LoggedEpisode:
    """An episode on a rig without truth.

    Attributes:
        calls: in order; times count from the start of the episode.
        samples: the coarse telemetry in order of device time, which counts from the same moment.
    """

    calls: tuple[LoggedCall, ...]
    samples: tuple[Sample, ...]

    @property
    def end(self) -> float:
        """Device time at which the log ends, s."""
        return self.calls[-1].end if self.calls else 0.0

    @classmethod
    def following(
        cls,
        calls: Sequence[ExecutedCall],
        samples: Sequence[Sample],
        results: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> LoggedEpisode:
        """Build an episode of calls without pauses, as on a virtual clock."""
        logged: list[LoggedCall] = []
        start = 0.0
        for index, call in enumerate(calls):
            logged.append(LoggedCall(call, start, None if results is None else results[index]))
            start += call.duration
        return cls(tuple(logged), tuple(samples))


def twin_in_log(episode: EpisodeRow) -> TwinConfig:
    """Return the twin of an episode on a rig without truth.

    Raises:
        NoReplayError: this version cannot read its configuration.
    """
    try:
        return TwinConfig.model_validate(episode.twin)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        fault = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise NoReplayError(f"incompatible twin configuration in the log: {fault}") from None


SECRETS = ("hidden", "faults")
"""Parts of a world that no rig reports: a twin never takes them from a log."""

LONGEST_EPISODE = 86_400.0
"""Device time, s: a twin simulates an episode many times."""


def nominal_world(twin: TwinConfig, episode: EpisodeRow) -> World:
    """Return the nominal world of an episode: without hidden parameters and faults.

    It is the logged world if that is the twin's; else the world that the twin names.

    Raises:
        ConfigError: there is none, or the episode's initial state does not fit it.
    """
    kind = world_of_device(episode.device)
    logged = episode.definition.world_state
    if kind is not None and logged is not None and episode.world == twin_world_name(twin):
        known = {key: value for key, value in logged.items() if key not in SECRETS}
        world = World(episode.world, kind, kind.state.model_validate(known))
    else:
        world = load_world(twin.world)
        state = world.state.model_copy(update={name: type(getattr(world.state, name))() for name in SECRETS})
        world = World(world.name, world.type, state)
    if world.device.name != episode.device:
        raise ConfigError(
            f"{twin.world} is a world of {an(world.device.name)}, and the rig is {an(episode.device)}"
        )
    init = {key: value for key, value in episode.init.items() if key not in SECRETS}
    return World(world.name, world.type, merged_state(world, init))


def not_assessed(
    rules: Iterable[HarmRule],
    state: Mapping[str, Any],
    ruled_out: Container[str] = (),
    astray: Container[str] = (),
) -> tuple[str, ...]:
    """Return the rules by kind of whose input a twin knows nothing: 0 is not their probability.

    Args:
        rules: of its world.
        state: its initial state.
        ruled_out: the kinds that cannot be broken there.
        astray: the sensors that do not follow its model.
    """
    lacking = {rule.kind for rule in rules if rule.lacks_input(state, astray)}
    return tuple(sorted(kind for kind in lacking if kind not in ruled_out))


def logged_episode(reader: LogReader, episode: EpisodeRow, steps: Sequence[StepRow]) -> LoggedEpisode:
    """Return the calls and the telemetry of an episode, in device time since it began.

    A simulator's clock starts with the episode. A physical rig's runs since power-on, so its
    episode begins with its first call, and earlier samples count as taken then.

    Raises:
        NoReplayError: by its clock it lasted longer than a twin can be run.
    """
    reached = [step for step in steps if step.call_id is not None and step.status is not None]
    begin = 0.0 if episode.simulated else _first_start(reached)
    calls: list[LoggedCall] = []
    clock = 0.0
    for step, call in zip(reached, executed_calls(steps), strict=True):
        # An unanswered call has no device time.
        start = clock if step.t_device is None else max(clock, step.t_device - call.duration - begin)
        calls.append(LoggedCall(call, start, step.result if isinstance(step.result, dict) else None))
        clock = start + call.duration
        if not (clock <= LONGEST_EPISODE and call.duration >= 0.0):
            raise NoReplayError(
                f"step {step.k} lasted {call.duration:g} s and ended {clock:g} s after the episode's start, "
                f"by the device's clock; a twin is run for {LONGEST_EPISODE:g} s at most"
            )
    samples = (Sample(row.sensor, row.value, max(0.0, row.t - begin)) for row in reader.samples(episode.id))
    return LoggedEpisode(tuple(calls), tuple(samples))


def _first_start(steps: Sequence[StepRow]) -> float:
    return next((s.t_device - (s.duration or 0.0) for s in steps if s.t_device is not None), 0.0)
