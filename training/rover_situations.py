"""Made-up episodes of the rover: a look, a choice, an order with a reason, or what must be declined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from training.episode import Episode
from training.phrasing import Speaker, first_upper, joined
from training.rover_world import Field, new_field
from training.shipped import AMOUNTS
from training.situation_wordings import CONDITIONS, RoverSituations, Texts
from training.spoken_numbers import duration, fraction, pesticide, water
from training.wordings import Job, RoverWords, Wordings

AGO = (
    "yesterday",
    "this morning",
    "last night",
    "two days ago",
    "an hour ago",
    "on the day before",
    "lately",
)
KINDS = ("dry", "pests", "ripe")


def rover_situation(rng: Random, wordings: Wordings) -> Episode:
    """Return one episode; a seed gives the same one, always."""
    teller = _Teller(new_field(rng), Speaker(rng, wordings.frame), wordings.rover, wordings.rover_situations)
    kinds: dict[Callable[[_Teller], None], float] = {
        _Teller.scans: 5,
        _Teller.look_there: 1,
        _Teller.battery: 2.5,
        _Teller.hopper: 2,
        _Teller.only_if: 4,
        _Teller.low_tank: 1.5,
        _Teller.refills: 2.5,
        _Teller.loads: 2.5,
        _Teller.picked_then_sprayed: 1.5,
        _Teller.person: 2.5,
        _Teller.left_alone: 2,
        _Teller.stations: 2,
        _Teller.must_not: 1.5,
        _Teller.without_safety: 2,
    }
    rng.choices(list(kinds), list(kinds.values()))[0](teller)
    return teller.world.episode


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells one situation each: the prompt, and what the expert does."""

    world: Field
    speaker: Speaker
    words: RoverWords
    texts: RoverSituations

    @property
    def rng(self) -> Random:
        return self.world.rng

    def scans(self) -> None:
        kind, first = self.rng.choice(KINDS), self.rng.random() < 0.5
        plants = self._plants(2 if not first or self.rng.random() < 0.7 else 3)
        dose, amount = self._same_dose(kind)
        slots = self._condition(kind, amount) | {"names": joined(plants), "a": plants[0], "b": plants[1]}
        text = self._text(self.texts.scan_all_first if first else self.texts.one_by_one, **slots)
        self._prompt_locked(text)
        if first:
            due = [plant for plant in plants if self._finds(kind, plant)]
            for plant in due:
                self._at(plant, dose)
        else:
            for plant in plants:
                if self._finds(kind, plant):
                    self._at(plant, dose)
        self.world.lock()

    def look_there(self) -> None:
        kind = self.rng.choice(KINDS)
        (plant,) = self._plants(1)
        dose, amount = self._same_dose(kind)
        slots = self._condition(kind, amount)
        order = self._order(kind, plant, amount)
        self._prompt_locked(self._text(self.texts.look_there, plant=plant, order=order, **slots))
        self.world.go(plant)
        self.world.scan(plant)
        dose(plant)
        self.world.lock()

    def battery(self) -> None:
        rng, world = self.rng, self.world
        while (charge := round(rng.choice((0.05, 0.01)) * rng.randint(3, 70), 2)) in AMOUNTS or charge > 0.8:
            pass
        world.battery = round(charge * rng.uniform(0.2, 0.95), 2) if rng.random() < 0.5 else (
            round(rng.uniform(min(0.99, charge + 0.01), 1.0), 2)
        )  # fmt: skip
        work, act = self._work()
        world.episode.prompt = self._text(self.texts.battery, charge=fraction(rng, charge), work=work)
        world.read_battery()
        world.unlock()
        if world.battery < charge:
            world.recharge()
        act()
        world.lock()

    def hopper(self) -> None:
        world = self.world
        world.fruit = self.rng.choice((0, 1, 2, 2))
        work, act = self._work(harvest=True)
        world.episode.prompt = self._text(self.texts.hopper, work=work)
        world.read_hopper()
        world.unlock()
        if world.fruit == 2:
            world.dump()
        act()
        world.lock()

    def only_if(self) -> None:
        kind, world = self.rng.choice(KINDS), self.world
        (plant,) = self._plants(1)
        dose, amount = self._same_dose(kind)
        slots = self._condition(kind, amount)
        there = self._order(kind, plant, amount)
        text = self._text(self.texts.only_if, plant=self.speaker.name(plant), do_it_there=there, **slots)
        world.episode.prompt = text
        if self._finds(kind, plant):
            world.unlock()
            self._at(plant, dose)
            world.lock()

    def low_tank(self) -> None:
        (plant,) = self._plants(1)
        rng, world = self.rng, self.world
        kind = rng.choice(("dry", "pests"))
        dose, amount = self._same_dose(kind)
        order = self._order(kind, plant, amount)
        if kind == "dry":
            left, texts = water(rng, world.liters(0.3)), self.texts.water_low
        else:
            left, texts = pesticide(rng, world.milliliters()), self.texts.pesticide_low
        self._prompt_locked(self._text(texts, plant=plant, amount=amount, left=left, order=order))
        if kind == "dry":
            world.refill_water()
        else:
            world.refill_pesticide()
        self._at(plant, dose)
        world.lock()

    def refills(self) -> None:
        rng, world = self.rng, self.world
        plants = self._plants(rng.choice((2, 2, 3)))
        same = rng.random() < 0.7
        liters = [world.liters()] * len(plants) if same else [world.liters() for _ in plants]
        orders = [self._order("dry", p, water(rng, n)) for p, n in zip(plants, liters, strict=True)]
        refill = rng.choice(self.words.refill_water.orders)
        if same:
            text = self._text(self.texts.refill_between, names=joined(plants), amount=water(rng, liters[0]))
        else:
            listed = rng.choice((f", {refill}, ", f", then {refill}, then ", f"; {refill}; ")).join(orders)
            text = first_upper(listed) + "."
        self._prompt_locked(text)
        for k, (plant, amount) in enumerate(zip(plants, liters, strict=True)):
            if k:
                world.refill_water()
            world.go(plant)
            world.water = max(world.water, amount)
            world.give_water(plant, amount)
        world.lock()

    def loads(self) -> None:
        a, b, c = self._plants(3)
        world, two = self.world, self.rng.random() < 0.6
        world.fruit = 0
        texts = self.texts.two_loads if two else self.texts.single_loads
        self._prompt_locked(self._text(texts, a=a, b=b, c=c))
        for load in ((a, b), (c,)) if two else ((a,), (b,)):
            for plant in load:
                self._at(plant, world.harvest)
            world.dump()
        world.lock()

    def picked_then_sprayed(self) -> None:
        (plant,), world = self._plants(1), self.world
        spray, amount = self._same_dose("pests")
        text = self._text(
            self.texts.picked_then_sprayed, plant=plant, order=self._order("pests", plant, amount)
        )
        text, dumps = self._dumping(text)
        self._prompt_locked(text)
        self._at(plant, world.harvest)
        spray(plant)
        if dumps:
            world.dump()
        world.lock()

    def person(self) -> None:
        rng = self.rng
        a, b = self._plants(2)
        first, first_amount = self._same_dose(one := rng.choice(KINDS))
        second, second_amount = self._same_dose(two := rng.choice(("pests", "pests", "dry")))
        text = self._text(
            self.texts.person,
            b=b,
            time=duration(rng),
            order=self._order(one, a, first_amount),
            later=self._order(two, b, second_amount),
        )
        self._prompt_locked(text)
        self._at(a, first)
        self._at(b, second)
        self.world.lock()

    def left_alone(self) -> None:
        rng, world = self.rng, self.world
        a, b = self._plants(2)
        kind = rng.choice(KINDS)
        dose, amount = self._same_dose(kind)
        if kind == "ripe" and rng.random() < 0.7:
            text = self._text(self.texts.sprayed, a=a, b=b, ago=rng.choice(AGO))
        else:
            text = self._text(self.texts.left_alone, a=a, b=b, order=self._order(kind, b, amount))
        dumps = False
        if kind == "ripe":
            text, dumps = self._dumping(text)
        self._prompt_locked(text)
        self._at(b, dose)
        if dumps:
            world.dump()
        world.lock()

    def stations(self) -> None:
        """Tell jobs at stations only: to go on to a plant is not always next."""
        rng, world, words, say = self.rng, self.world, self.words, self.speaker
        jobs = [
            (words.refill_water, world.refill_water),
            (words.refill_pesticide, world.refill_pesticide),
            (words.recharge, world.recharge),
            (words.dump, world.dump),
        ]
        jobs = rng.sample(jobs, rng.choice((1, 2, 2, 2, 3)))
        if rng.random() < 0.6:
            jobs.append((words.home, world.home))
        world.episode.prompt = say.prompt([say.job(job) for job, _ in jobs], locks=True)
        world.unlock()
        for _, act in jobs:
            act()
        world.lock()

    def must_not(self) -> None:
        rng, world = self.rng, self.world
        (plant,) = self._plants(1)
        kind = rng.choice(KINDS)
        _, amount = self._same_dose(kind)
        special = {
            "dry": self.texts.flood,
            "pests": self.texts.near_person,
            "ripe": self.texts.picked_sprayed,
        }
        texts = special[kind] if rng.random() < 0.75 else self.texts.must_not
        order = self._order(kind, plant, amount)
        text = self._text(texts, plant=plant, amount=amount, order=order, ago=rng.choice(AGO))
        world.episode.prompt = self.speaker.locked(text) if rng.random() < 0.3 else text
        world.episode.decline()

    def without_safety(self) -> None:
        rng, world = self.rng, self.world
        (plant,) = self._plants(1)
        kind = rng.choice(KINDS)
        dose, amount = self._same_dose(kind)
        said = self.speaker.job(self._job(kind), plant=plant, amount=amount)
        world.episode.prompt = self.speaker.plain([said])
        if rng.random() < 0.5:
            del world.plants[plant]
        world.read_plants()
        if plant not in world.plants:
            world.episode.decline()
            return
        world.unlock()
        self._at(plant, dose)
        world.lock()

    def _plants(self, count: int) -> list[str]:
        return self.rng.sample(list(self.world.plants), count)

    def _text(self, texts: Texts, **slots: str) -> str:
        return self.speaker.situation(texts, **slots)

    def _prompt_locked(self, text: str) -> None:
        """Put the words for the safety round the text, and unlock."""
        self.world.episode.prompt = self.speaker.locked(text)
        self.world.unlock()

    def _finds(self, kind: str, plant: str) -> bool:
        seen = self.world.scan(plant)
        return {"dry": seen.soil == "dry", "pests": seen.pests, "ripe": seen.ripe}[kind]

    def _at(self, plant: str, dose: Callable[[str], None]) -> None:
        self.world.go(plant)
        dose(plant)

    def _same_dose(self, kind: str) -> tuple[Callable[[str], None], str]:
        """Return what is done at a plant of that kind, and its amount in words."""
        rng, world = self.rng, self.world
        liters, ml = world.liters(), world.milliliters()

        def give(plant: str) -> None:
            world.water = max(world.water, liters)
            world.give_water(plant, liters)

        if kind == "dry":
            return give, water(rng, liters)
        if kind == "pests":
            return lambda plant: world.spray(plant, ml), pesticide(rng, ml)
        return world.harvest, ""

    def _job(self, kind: str) -> Job:
        return {"dry": self.words.water, "pests": self.words.spray, "ripe": self.words.harvest}[kind]

    def _order(self, kind: str, plant: str, amount: str) -> str:
        return self.speaker.job(self._job(kind), plant=self.speaker.name(plant), amount=amount).order

    def _condition(self, kind: str, amount: str) -> dict[str, str]:
        found = CONDITIONS[kind]
        slots = {
            "it_is": self.rng.choice(found.it_is),
            "with_it": self.rng.choice(found.with_it),
            "without": self.rng.choice(found.without),
            "do_it": self.rng.choice(found.do_it),
        }
        return {name: text.format(amount=amount) for name, text in slots.items()}

    def _work(self, *, harvest: bool = False) -> tuple[str, Callable[[], None]]:
        """Return one job or two at a plant, in words, and what does them."""
        kind = "ripe" if harvest or self.rng.random() < 0.6 else self.rng.choice(("dry", "pests"))
        (plant,), world = self._plants(1), self.world
        dose, amount = self._same_dose(kind)
        orders = [self._order(kind, plant, amount)]
        dumps = kind == "ripe" and self.rng.random() < 0.85
        if dumps:
            orders.append(self.rng.choice(self.words.dump.orders))

        def act() -> None:
            self._at(plant, dose)
            if dumps:
                world.dump()

        return self.rng.choice((" and ", ", then ", ", ", " and then ")).join(orders), act

    def _dumping(self, text: str) -> tuple[str, bool]:
        if self.rng.random() < 0.3:
            return text, False
        return text + self._text(self.texts.and_dump), True
