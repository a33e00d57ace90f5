"""Makes a snapshot from the log: the rig's answers and telemetry in some of its episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from configs.errors import ConfigError
from configs.worlds_loader import make_simulator
from core_eval.harm.logged_episode import NoReplayError, executed_calls, logged_world, reported_states
from core_eval.harm.replay import Player, ReplayError, first_mismatch
from core_eval.harm.twin.logged_episode import nominal_world, twin_in_log
from core_eval.harm.unanswered import resolve
from core_eval.log import EpisodeRow, LogReader, SampleRow, StepRow, TruthRow
from core_eval.snapshot.file import (
    RecordedCall,
    RecordedEpisode,
    RecordedSample,
    RecordedTruth,
    RecordedTwin,
    Snapshot,
)


def record(logs: Sequence[tuple[Path, int | None]]) -> Snapshot:
    """Return the snapshot of episodes of logs; None as an episode's id: all that ended there.

    Raises:
        ConfigError: there are none, one of them still runs, or they are of different rigs.
        LogError: a log cannot be read, or has no such episode.
    """
    found: list[tuple[EpisodeRow, RecordedEpisode]] = []
    for path, wanted in logs:
        with LogReader(path) as reader:
            for row in reader.episodes() if wanted is None else [reader.episode(wanted)]:
                if row.status == "running" or row.simulated is None:
                    if wanted is not None:
                        raise ConfigError(f"episode {row.id} still runs, or had no rig", file=path)
                    continue
                if row.left_record is not None:
                    raise ConfigError(
                        f"episode {row.id} was itself answered by a twin from step {row.left_record} on: "
                        "record an episode of the rig",
                        file=path,
                    )
                found.append((row, _episode(reader, row)))
    if not found:
        raise ConfigError("no episode to record: name a log with episodes, or DB#EPISODE")
    first = found[0][0]
    for row, _ in found:
        if (row.device, row.twin, row.simulated) != (first.device, first.twin, first.simulated):
            raise ConfigError(
                f"episodes {first.id} and {row.id} are of different rigs, or were recorded with and without "
                "truth: make a snapshot of each"
            )
    twin = None if first.twin is None else dict(first.twin)
    return Snapshot(device=first.device, scoring_twin=twin, episodes=[one for _, one in found])


def _episode(reader: LogReader, row: EpisodeRow) -> RecordedEpisode:
    steps = [step for step in reader.steps(row.id) if step.call_id is not None and step.status is not None]
    # A physical rig has no ground truth, whatever its log holds.
    truths = reader.truth(row.id) if row.simulated else []
    samples = reader.samples(row.id)
    twin, received = _twin(reader, row, steps, samples)
    if received is None:
        received = _by_time(steps, samples)
    shares = [samples[low:high] for low, high in zip([0, *received], [*received, len(samples)], strict=True)]
    by_call = {truth.call_id: truth for truth in truths if truth.call_id is not None}
    begun = next((truth for truth in truths if truth.call_id is None), None)
    return RecordedEpisode(
        source=f"{reader.path.name}#{row.id}",
        task=row.task,
        rig=row.rig,
        simulated=bool(row.simulated),
        init=dict(row.init),
        seed=row.seed,
        streams=row.streams,
        samples=_samples(shares[0]),
        calls=[
            _call(step, answered.answered, share, by_call.get(step.call_id or ""))
            for step, answered, share in zip(steps, executed_calls(steps), shares[1:-1], strict=True)
        ],
        trailing=_samples(shares[-1]),
        truth=_truth(begun),
        twin=twin,
    )


def _call(
    step: StepRow, answered: bool, samples: Sequence[SampleRow], truth: TruthRow | None
) -> RecordedCall:
    assert step.status is not None
    return RecordedCall(
        tool=step.tool or "",
        arguments=dict(step.arguments or {}),
        status=step.status,
        value=step.result,
        code=step.error_code,
        message=step.error_message,
        t=step.t_device,
        duration=step.duration,
        answered=answered,
        samples=_samples(samples),
        truth=_truth(truth),
    )


def _samples(rows: Sequence[SampleRow]) -> list[RecordedSample]:
    return [(row.sensor, row.value, row.t) for row in rows]


def _truth(row: TruthRow | None) -> RecordedTruth | None:
    return None if row is None else RecordedTruth(t=row.t, state=dict(row.state), events=list(row.events))


def _twin(
    reader: LogReader, row: EpisodeRow, steps: Sequence[StepRow], samples: Sequence[SampleRow]
) -> tuple[RecordedTwin | None, list[int] | None]:
    """Return the model that can go on from the record.

    For the recorded simulator, also the number of samples before the first call and after each, if it
    repeats them all.
    """
    if row.twin is not None:
        return _model(row), None
    try:
        world = logged_world(reader, row)
    except NoReplayError:
        return None, None
    try:
        player = Player(lambda: make_simulator(world), row.init, row.world_seed)
    except ReplayError:
        return None, None
    resolved = resolve(player, executed_calls(steps), reported_states(reader, row, steps))
    replay = player.play(resolved.calls, checkpoints=False)
    if resolved.mismatch is not None or first_mismatch(resolved.calls, replay) is not None:
        return None, None
    state: dict[str, Any] = world.state.model_dump(mode="json")
    twin = RecordedTwin(world=world.name, state=state, init=dict(row.init), exact=True)
    count = replay.received[-1]
    repeated = [(sample.sensor, sample.value, sample.t) for sample in replay.samples[:count]]
    logged = [(sample.sensor, sample.value, sample.t) for sample in samples[:count]]
    return twin, list(replay.received) if logged == repeated else None


def _model(row: EpisodeRow) -> RecordedTwin | None:
    """Return the twin of a rig without truth, with its calibrated parameters."""
    try:
        config = twin_in_log(row)
        world = nominal_world(config, row)
    except (ConfigError, NoReplayError):
        return None
    hidden = {name: found.value for name, found in config.parameters.items()}
    return RecordedTwin(
        world=world.name,
        state=world.state.model_dump(mode="json"),
        init={"hidden": hidden} if hidden else {},
        exact=False,
    )


def _by_time(steps: Sequence[StepRow], samples: Sequence[SampleRow]) -> list[int]:
    """Return how many samples were taken before the first call, and by the end of each."""
    counts: list[int] = []
    starts = (step.t_device - (step.duration or 0.0) for step in steps if step.t_device is not None)
    count = 0
    for moment in (next(starts, None), *(step.t_device for step in steps)):
        if moment is not None:
            count = max(count, sum(sample.t <= moment for sample in samples))
        counts.append(count)
    return counts
