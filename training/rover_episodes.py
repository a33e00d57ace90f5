"""Made-up episodes of the farm rover: jobs drawn at random, worded, and done by the expert's path.

The expert unlocks, does the jobs in the order of the prompt (read the pose, drive there, act), and locks.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from training import phrasing
from training.episode import Episode
from training.phrasing import say
from training.rover_world import Field, new_field

Act = Callable[[], None]
Jobs = list[tuple[str, Act]]


def rover_episode(rng: Random) -> Episode:
    """Return one episode; a seed gives the same one, always."""
    world = new_field(rng)
    kind = rng.random()
    if kind < 0.06:
        jobs, locks = _reads(world, rng.randint(1, 3)), False
    else:
        jobs, locks = _work(world), True
    if locks and rng.random() < 0.12:
        jobs[:0] = _reads(world, 1)
        if rng.random() < 0.5:
            return _finish(world, jobs, locks=True, reads_first=True)
    return _finish(world, jobs, locks=locks)


def _finish(world: Field, jobs: Jobs, *, locks: bool, reads_first: bool = False) -> Episode:
    rng, episode = world.rng, world.episode
    if reads_first:
        (read, act), *rest = jobs
        episode.prompt = phrasing.prompt(rng, [read], locks=False) + " "
        episode.prompt += phrasing.prompt(rng, [text for text, _ in rest], locks=True)
        act()
        jobs = rest
    else:
        episode.prompt = phrasing.prompt(rng, [text for text, _ in jobs], locks=locks)
    if locks:
        if rng.random() < 0.05:
            episode.refused(
                "move_home", "safety_locked", "The safety is locked; call unlock_safety_mode first."
            )
        world.unlock()
    for _, act in jobs:
        act()
    if locks:
        world.lock()
    return episode


def _reads(world: Field, count: int) -> Jobs:
    rng = world.rng
    plant = rng.choice(list(world.plants))
    choices: Jobs = [
        (say(rng, phrasing.READ_BATTERY), world.read_battery),
        (say(rng, phrasing.READ_HOPPER), world.read_hopper),
        (say(rng, phrasing.READ_POSE), world.read_pose),
        (say(rng, phrasing.READ_PLANTS), world.read_plants),
        (say(rng, phrasing.INSPECT, plant=plant), lambda: _ignore(world.scan(plant))),
    ]
    return rng.sample(choices, count)


def _work(world: Field) -> Jobs:
    rng = world.rng
    plants = rng.sample(list(world.plants), min(len(world.plants), rng.choice((1, 1, 1, 2, 2, 3))))
    if len(plants) > 1 and rng.random() < 0.2:
        jobs = _same_for_all(world, plants)
    else:
        jobs = [job for plant in plants for job in _plant_jobs(world, plant)]
    if rng.random() < 0.06:
        jobs = [_inspect_all(world, plants)]
    if rng.random() < 0.12:
        station = rng.choice((_refill_water, _refill_pesticide, _recharge))
        jobs.insert(rng.randrange(len(jobs) + 1), station(world))
    if rng.random() < 0.08:
        jobs = [_elsewhere(world)] if rng.random() < 0.5 else [*jobs, _elsewhere(world)]
    if rng.random() < 0.3:
        jobs.append((say(rng, phrasing.HOME), world.home))
    return jobs


def _plant_jobs(world: Field, plant: str) -> Jobs:
    rng = world.rng
    kind = rng.random()
    if kind < 0.42:
        jobs = [_water(world, plant)]
        if rng.random() < 0.12:
            jobs.append(_spray(world, plant))
        return jobs
    if kind < 0.6:
        return [_spray(world, plant)]
    if kind < 0.84:
        jobs = [(say(rng, phrasing.HARVEST, plant=plant), lambda: _at(world, plant, world.harvest))]
        if rng.random() < 0.65:
            jobs.append((say(rng, phrasing.DUMP), world.dump))
        return jobs
    if kind < 0.95:
        return [_conditional(world, plant)]
    return [(say(rng, phrasing.VISIT_PLANT, plant=plant), lambda: world.go(plant))]


def _water(world: Field, plant: str) -> tuple[str, Act]:
    liters = _liters(world.rng)
    text = say(world.rng, phrasing.WATER, plant=plant, amount=liters)
    return text, lambda: _at(world, plant, lambda name: world.give_water(name, liters))


def _spray(world: Field, plant: str) -> tuple[str, Act]:
    ml = _ml(world.rng)
    text = say(world.rng, phrasing.SPRAY, plant=plant, amount=ml)
    return text, lambda: _at(world, plant, lambda name: world.spray(name, ml))


def _conditional(world: Field, plant: str) -> tuple[str, Act]:
    rng = world.rng
    liters, ml = _liters(rng), _ml(rng)
    kind = rng.randrange(3)
    wordings = (phrasing.INSPECT_WATER, phrasing.INSPECT_SPRAY, phrasing.INSPECT_HARVEST)[kind]
    text = say(rng, wordings, plant=plant, amount=ml if kind == 1 else liters)

    def act() -> None:
        seen = world.scan(plant)
        if kind == 0 and seen.soil == "dry":
            _at(world, plant, lambda name: world.give_water(name, liters))
        elif kind == 1 and seen.pests:
            _at(world, plant, lambda name: world.spray(name, ml))
        elif kind == 2 and seen.ripe:
            _at(world, plant, world.harvest)

    return text, act


def _inspect_all(world: Field, plants: list[str]) -> tuple[str, Act]:
    liters, ml = _liters(world.rng), _ml(world.rng)
    text = say(world.rng, phrasing.INSPECT_ALL, plants=phrasing.joined(plants), liters=liters, ml=ml)

    def act() -> None:
        for plant in plants:
            seen = world.scan(plant)
            if seen.soil == "dry":
                _at(world, plant, lambda name: world.give_water(name, liters))
            if seen.pests:
                _at(world, plant, lambda name: world.spray(name, ml))

    return text, act


def _same_for_all(world: Field, plants: list[str]) -> Jobs:
    rng = world.rng
    names, kind = phrasing.joined(plants), rng.randrange(3)
    liters, ml = _liters(rng, most=1.5), _ml(rng)
    text = (
        say(rng, phrasing.WATER[:3], plant=names, amount=liters) + " each",
        say(rng, phrasing.SPRAY[:3], plant=names, amount=ml) + " each",
        say(rng, phrasing.HARVEST[:2], plant=names),
    )[kind]

    def one(plant: str) -> None:
        if kind == 0:
            world.give_water(plant, liters)
        elif kind == 1:
            world.spray(plant, ml)
        else:
            world.harvest(plant)

    def act() -> None:
        for plant in plants:
            _at(world, plant, one)

    return [(text, act)]


def _elsewhere(world: Field) -> tuple[str, Act]:
    rng = world.rng
    if rng.random() < 0.5:
        station = rng.choice(list(world.stations))
        return say(rng, phrasing.VISIT_STATION, station=station), lambda: world.go(station)
    x, y = (_number(rng.randint(0, 40) / 2) for _ in range(2))
    return say(rng, phrasing.VISIT_POINT, x=x, y=y), lambda: world.drive(x, y)


def _refill_water(world: Field) -> tuple[str, Act]:
    return say(world.rng, phrasing.REFILL_WATER), world.refill_water


def _refill_pesticide(world: Field) -> tuple[str, Act]:
    return say(world.rng, phrasing.REFILL_PESTICIDE), world.refill_pesticide


def _recharge(world: Field) -> tuple[str, Act]:
    return say(world.rng, phrasing.RECHARGE), world.recharge


def _at(world: Field, plant: str, act: Callable[[str], None]) -> None:
    if world.rng.random() < 0.04:
        world.mistake(plant)
    world.go(plant)
    act(plant)


def _liters(rng: Random, most: float = 4.5) -> float:
    step = rng.choice((0.5, 0.5, 0.25, 0.1, 0.01, 1.0))
    return _number(round(step * rng.randint(1, int(most / step)), 2))


def _ml(rng: Random) -> float:
    return _number(
        rng.choice(
            (5 * rng.randint(1, 24), 10 * rng.randint(1, 12), rng.randint(5, 120), rng.randint(1, 1000) / 10)
        )
    )


def _number(value: float) -> float:
    """Format a number as prompts do: 3, not 3.0."""
    return int(value) if value == int(value) else value


def _ignore(_: object) -> None:
    return None
