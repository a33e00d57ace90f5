"""Sensor advice for the rigs of a log: candidates, the events to detect, and the advisor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from configs.errors import ConfigError
from configs.sensor_prices import SENSORS_FOLDER, SensorPrices
from configs.suites import HAZARDS, read_suite
from configs.tasks_loader import read_tasks
from configs.worlds_loader import World, known_world, load_world, make_simulator, merged_state
from core_eval.harm.detection.advice import Advisor, Choice
from core_eval.harm.detection.detect import FEWEST
from core_eval.log import LogReader, RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.run.side_by_side import SideBySide
from core_eval.score.detection import DetectedEvent, Event, Rigs, detect_all, judged_events
from core_eval.statistics.intervals import Groups, Mean
from devices.device_type import an
from sims.world_type import world_of_device

MUTATED = ("mutated:0.3", "mutated:0.5", "mutated:0.7")
"""The agents whose episodes show a world's harm: golden runs, altered by seed, from the same starts."""


@dataclass(frozen=True)
class CandidateSensors:
    """The sensors that may be bought.

    Attributes:
        specs: of each kind.
        prices: of all sensors of that kind on the rig.
        pieces: the number of these.
    """

    specs: Mapping[str, Any]
    prices: Mapping[str, float]
    pieces: Mapping[str, int]


def candidates(world: World, prices: SensorPrices, finer: Path | None = None) -> CandidateSensors:
    """Return the finer sensors of a world that have a price and that it does not have.

    Args:
        world: that of the rigs.
        prices: the price list.
        finer: a world file with finer sensors; None: the shipped one of its kind.

    Raises:
        ConfigError: there is none, or none with a price.
    """
    path = finer or SENSORS_FOLDER / f"{world.type.name}.yaml"
    if not path.is_file():
        raise ConfigError(
            f"no finer sensors of {an(world.type.name)} are known: give --sensors FILE, a world with them"
        )
    fitted = load_world(str(path))
    if fitted.type is not world.type:
        raise ConfigError(
            f"{path} is a world of {an(fitted.type.name)}, and the rigs are in {an(world.type.name)}"
        )
    own = world.state.model_dump(mode="json").get("sensors", {})
    specs = {
        kind: spec
        for kind, spec in fitted.state.model_dump(mode="json").get("sensors", {}).items()
        if spec is not None and own.get(kind) is None and kind in prices.sensors
    }
    if not specs:
        raise ConfigError(f"the price list has none of the sensors in {path} that the rigs lack")
    both = replace(world, state=merged_state(world, {"sensors": specs}))
    pieces = Counter(name.partition(".")[0] for name in make_simulator(both).sensor_specs)
    return CandidateSensors(
        specs,
        {kind: prices.sensors[kind].of_one * pieces[kind] for kind in specs},
        {kind: pieces[kind] for kind in specs},
    )


def why_not(detected: Sequence[DetectedEvent], rigs: Rigs) -> str:
    """Return why these events cannot be judged, and what to do about it."""
    shares = [one.happens for one in detected if one.happens is not None]
    if not shares:
        return "the log does not determine the rigs of any of them: score it again, or run the tasks anew"
    most = max(shares)
    if not most:
        return "they happen on none of the drawn rigs, or no remedy prevents them: give more --events"
    enough = 2 * math.ceil(1.25 * FEWEST / most / 10.0) * 10
    return (
        f"each must happen on {FEWEST} of the {rigs.training} rigs that train the statistic; the likeliest "
        f"does on {most:.0%}: give --rigs {enough}, or more --events"
    )


def conclusion(told: Sequence[DetectedEvent], greedy: Sequence[Choice], currency: str) -> str:
    """Return what a reader should conclude from the greedy choice for these events; each has a detection."""
    shares = np.array([one.share for one in told], dtype=float)
    mean = Mean.of(shares, np.ones(len(shares)), Groups.of([(one.episode, None) for one in told]))
    if len({one.episode for one in told}) == 1:
        unsure = f"from {'one event' if len(told) == 1 else 'events of one episode'}, so it is no rate"
    elif mean.error:
        low, high = mean.interval(0.95, (0.0, 1.0), (shares.min(), shares.max()))
        unsure = f"95 % interval {low:.0%} to {high:.0%}, of {mean.units} episodes"
    else:
        unsure = f"the same in each of {mean.units} episodes, which tell no interval"

    def bought(one: Choice) -> str:
        return f"{', '.join(one.sensors)} for {one.cost:.0f} {currency}, then {one.detected:.0%}"

    own = f"What to conclude: the rig by itself shows {greedy[0].detected:.0%} of this harm ({unsure})"
    if len(greedy) == 1:
        return f"{own}; no candidate shows more."
    last = f" All that helps: {bought(greedy[-1])}." if len(greedy) > 2 else ""
    return f"{own}. The most for its price: {bought(greedy[1])}.{last}"


def run_mutated(ref: str, path: Path, starts: int, *, hazards: bool, jobs: int) -> None:
    """Write a log with altered golden runs from starts of all tasks of a world, by so many processes.

    With `hazards` they are of the suite of that name; to draw one costs more than to play runs from it.

    Raises:
        ConfigError: there is no such world, or no task of it.
    """
    world = load_world(ref)
    every = read_suite(HAZARDS) if hazards else read_tasks(world=world.type.name)
    tasks = [task.id for task in every.tasks if task.world is not None and task.world.type is world.type]
    if not tasks:
        raise ConfigError(f"no task is in {an(world.type.name)}: name a log")
    config = RunConfig(
        cells=tuple(Cell(task=task, rig=f"sim:{ref}", agent=agent) for task in tasks for agent in MUTATED),
        episodes=starts,
        hazards=hazards,
    )
    with RunLog(path) as log:
        if jobs > 1:
            SideBySide(config, load_parts(config), log, ignore, jobs).start()
        else:
            Run.of(config, log).start()


def world_of_log(reader: LogReader) -> World | None:
    """Return the world of the events of a log; None without any.

    Raises:
        ConfigError: they are on several types of devices, or on one without a world.
    """
    harmed = [row for row in reader.episodes() if judged_events(reader, row)]
    devices = sorted({row.device for row in harmed})
    if len(devices) > 1:
        raise ConfigError(f"{reader.path}: harm on several types of devices ({', '.join(devices)})")
    kind = world_of_device(devices[0]) if devices else None
    if kind is None:
        return None
    state = next((row.definition.world_state for row in harmed if row.definition.world_state), None)
    shipped = load_world(kind.name)
    return shipped if state is None else replace(shipped, state=kind.state.model_validate(state))


def chosen_events(reader: LogReader, most: int) -> tuple[list[Event], int]:
    """Return up to this many events with a verdict, of all kinds in turn, and the number of all."""
    kinds: dict[str, list[Event]] = {}
    for row in sorted(reader.episodes(), key=lambda row: (row.run_id, row.number)):
        for event in judged_events(reader, row):
            kinds.setdefault(event.kind, []).append((row.id, event.kind, event.entity, event.t_start))
    total = sum(len(own) for own in kinds.values())
    turns = [own[turn] for turn in range(total) for own in kinds.values() if turn < len(own)]
    return turns[:most], total


def advise(
    path: Path,
    events: Sequence[Event],
    found: CandidateSensors,
    *,
    jobs: int,
    rigs: Rigs,
    on_done: Callable[[int], None] = lambda _: None,
) -> tuple[Advisor, list[DetectedEvent]]:
    """Return the advisor for these events, and their detection on rigs with all candidates."""
    episodes = sorted({episode for episode, *_ in events})
    detected = list(
        detect_all(
            path, episodes, jobs=jobs, rigs=rigs, fitted=found.specs, only=frozenset(events), on_done=on_done
        )
    )
    told = [(one.detection, one.own) for one in detected if one.detection is not None]
    return Advisor(told, found.prices), detected


@contextmanager
def log_of(target: str, starts: int, *, hazards: bool, jobs: int) -> Iterator[Path]:
    """Yield the log that is the target, or one of altered golden runs of the world that is, among hazards.

    Raises:
        ConfigError: there is neither.
    """
    path = Path(target)
    if known_world(target) is None and path.suffix not in (".yaml", ".yml"):
        if hazards:
            raise ConfigError("--hazards is of a world's own runs: a log has its hazards")
        yield path
        return
    with TemporaryDirectory(prefix="pathrig-") as folder:
        db = Path(folder) / "mutated.db"
        run_mutated(target, db, starts, hazards=hazards, jobs=jobs)
        yield db
