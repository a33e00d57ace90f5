"""Made-up episodes of the farm rover: jobs drawn at random, worded, and done by the expert's path.

The expert unlocks, does the jobs in their order (read the pose, drive there, act), and locks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from training.amounts import number
from training.episode import Episode
from training.phrasing import Said, Speaker, Work, joined
from training.rover_world import Field, new_field
from training.spoken_numbers import pesticide, water
from training.wordings import RoverWords, Wordings


def rover_episode(rng: Random, wordings: Wordings) -> Episode:
    """Return one episode; a seed gives the same one, always."""
    return _Teller(new_field(rng), Speaker(rng, wordings.frame), wordings.rover).episode()


@dataclass(frozen=True, slots=True)
class _Teller:
    """Draws an episode's jobs; each is words and the calls that do it."""

    world: Field
    speaker: Speaker
    words: RoverWords

    @property
    def rng(self) -> Random:
        return self.world.rng

    def episode(self) -> Episode:
        rng, world = self.rng, self.world
        locks = rng.random() > 0.15
        jobs = self._work() if locks else self._reads(rng.randint(1, 3))
        read = self._reads(1)[0] if locks and rng.random() < 0.12 else None
        world.episode.prompt, early, late = self.speaker.told(jobs, read, locks=locks, apart=0.5)
        for act in early:
            act()
        if locks:
            if rng.random() < 0.05:
                message = "The safety is locked; call unlock_safety_mode first."
                world.episode.refused("move_home", "safety_locked", message)
            world.unlock()
        for act in late:
            act()
        if locks:
            world.lock()
        return world.episode

    def _reads(self, count: int) -> list[Work]:
        rng, world, words, say = self.rng, self.world, self.words, self.speaker
        plant = rng.choice(list(world.plants))
        choices: list[Work] = [
            (say.job(words.read_battery), world.read_battery),
            (say.job(words.read_hopper), world.read_hopper),
            (say.job(words.read_pose), world.read_pose),
            (say.job(words.read_plants), world.read_plants),
            (say.job(words.inspect, plant=say.name(plant)), lambda: _ignore(world.scan(plant))),
        ]
        return rng.sample(choices, count)

    def _work(self) -> list[Work]:
        rng, world, words, say = self.rng, self.world, self.words, self.speaker
        plants = rng.sample(list(world.plants), min(len(world.plants), rng.choice((1, 1, 2, 2, 3))))
        if len(plants) > 1 and rng.random() < 0.2:
            jobs = [self._same_for_all(plants)]
        elif rng.random() < 0.05:
            jobs = [self._inspect_all(plants)]
        else:
            jobs = [job for plant in plants for job in self._at_plant(plant)]
        if rng.random() < 0.3:
            jobs.insert(rng.randrange(len(jobs) + 1), self._station())
        if rng.random() < 0.08:
            jobs = [self._elsewhere()] if rng.random() < 0.5 else [*jobs, self._elsewhere()]
        if rng.random() < 0.3:
            jobs.append((say.job(words.home), world.home))
        return jobs

    def _at_plant(self, plant: str) -> list[Work]:
        kind, world, words, say = self.rng.random(), self.world, self.words, self.speaker
        if kind < 0.38:
            jobs = [self._water(plant)]
            return [*jobs, self._spray(plant)] if self.rng.random() < 0.12 else jobs
        if kind < 0.56:
            return [self._spray(plant)]
        if kind < 0.8:
            said = say.job(words.harvest, plant=say.name(plant))
            harvest = (said, lambda: self._do_at(plant, world.harvest))
            return [harvest, (say.job(words.dump), world.dump)] if self.rng.random() < 0.65 else [harvest]
        if kind < 0.95:
            return [self._conditional(plant)]
        return [(say.job(words.visit_plant, plant=say.name(plant)), lambda: world.go(plant))]

    def _water(self, plant: str) -> Work:
        liters, say = self.world.liters(), self.speaker
        said = say.job(self.words.water, plant=say.name(plant), amount=water(self.rng, liters))
        return said, lambda: self._do_at(plant, lambda name: self.world.give_water(name, liters))

    def _spray(self, plant: str) -> Work:
        ml, say = self.world.milliliters(), self.speaker
        said = say.job(self.words.spray, plant=say.name(plant), amount=pesticide(self.rng, ml))
        return said, lambda: self._do_at(plant, lambda name: self.world.spray(name, ml))

    def _conditional(self, plant: str) -> Work:
        rng, world, words, say = self.rng, self.world, self.words, self.speaker
        liters, ml, kind = world.liters(), world.milliliters(), rng.randrange(3)
        job = (words.water_if_dry, words.spray_if_pests, words.harvest_if_ripe)[kind]
        amount = pesticide(rng, ml) if kind == 1 else water(rng, liters)

        def act() -> None:
            seen = world.scan(plant)
            if kind == 0 and seen.soil == "dry":
                self._do_at(plant, lambda name: world.give_water(name, liters))
            elif kind == 1 and seen.pests:
                self._do_at(plant, lambda name: world.spray(name, ml))
            elif kind == 2 and seen.ripe:
                self._do_at(plant, world.harvest)

        return say.job(job, plant=say.name(plant), amount=amount), act

    def _inspect_all(self, plants: list[str]) -> Work:
        rng, world = self.rng, self.world
        liters, ml = world.liters(), world.milliliters()
        said = self.speaker.job(
            self.words.inspect_all, plants=joined(plants), water=water(rng, liters), spray=pesticide(rng, ml)
        )

        def act() -> None:
            for plant in plants:
                seen = world.scan(plant)
                if seen.soil == "dry":
                    self._do_at(plant, lambda name: world.give_water(name, liters))
                if seen.pests:
                    self._do_at(plant, lambda name: world.spray(name, ml))

        return said, act

    def _same_for_all(self, plants: list[str]) -> Work:
        rng, world, words = self.rng, self.world, self.words
        names, kind = joined(plants), rng.randrange(3)
        liters, ml = world.liters(0.3), world.milliliters()
        each = rng.choice(("{} each", "each of {}", "both {}" if len(plants) == 2 else "all of {}"))
        amount = (water(rng, liters), pesticide(rng, ml), "")[kind]
        names, amount = (names, f"{amount} each") if each == "{} each" else (each.format(names), amount)
        job = (words.water, words.spray, words.harvest)[kind]
        said = Said(rng.choice(job.orders[:4]).format(plant=names, amount=amount.strip()))

        def one(plant: str) -> None:
            if kind == 0:
                world.give_water(plant, liters)
            elif kind == 1:
                world.spray(plant, ml)
            else:
                world.harvest(plant)

        def act() -> None:
            for plant in plants:
                self._do_at(plant, one)

        return said, act

    def _station(self) -> Work:
        rng, world, words, say = self.rng, self.world, self.words, self.speaker
        charge = rng.choice((0.15, 0.25, 0.45, 0.55, 0.65, 0.7, 0.8))
        return rng.choice((
            (say.job(words.refill_water), world.refill_water),
            (say.job(words.refill_pesticide), world.refill_pesticide),
            (say.job(words.recharge), world.recharge),
            (say.job(words.dump_if_full), world.dump_if_full),
            (say.job(words.recharge_if_low, charge=charge), lambda: world.recharge_below(charge)),
        ))  # fmt: skip

    def _elsewhere(self) -> Work:
        rng, world, words, say = self.rng, self.world, self.words, self.speaker
        if rng.random() < 0.5:
            station = rng.choice(list(world.stations))
            return say.job(words.visit_station, station=station), lambda: world.go(station)
        x, y = (number(rng.randint(0, 80) / 4) for _ in range(2))
        return say.job(words.visit_point, x=x, y=y), lambda: world.drive(x, y)

    def _do_at(self, plant: str, act: Callable[[str], None]) -> None:
        if self.rng.random() < 0.04:
            self.world.mistake(plant)
        self.world.go(plant)
        act(plant)


def _ignore(_: object) -> None:
    return None
