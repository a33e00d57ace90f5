"""Made-up episodes of the arm that ask for a look, a choice, poses with a turn, or must be declined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from training.arm_episodes import Bench, Spot, carry, carry_to, spot_of
from training.episode import Episode
from training.phrasing import Speaker
from training.situation_wordings import ArmSituations, Texts
from training.spoken_numbers import duration
from training.wordings import ArmWords, Wordings


def arm_situation(rng: Random, wordings: Wordings) -> Episode:
    """Return one episode; a seed gives the same one, always."""
    teller = _Teller(Bench.random(rng), Speaker(rng, wordings.frame), wordings.arm, wordings.arm_situations)
    kinds: dict[Callable[[_Teller], None], float] = {
        _Teller.look_each: 2.5,
        _Teller.poses: 2,
        _Teller.precise: 1.5,
        _Teller.swap: 2.5,
        _Teller.free_bin: 3.5,
        _Teller.in_its_bin: 3.5,
        _Teller.above: 2,
        _Teller.two_things: 3,
        _Teller.not_that: 1.5,
        _Teller.hurry: 1,
        _Teller.gripper: 3,
        _Teller.reach: 1.5,
        _Teller.must_not: 1.5,
        _Teller.without_safety: 2,
    }
    rng.choices(list(kinds), list(kinds.values()))[0](teller)
    return teller.bench.episode


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells one situation each: the prompt, and what the expert does."""

    bench: Bench
    speaker: Speaker
    words: ArmWords
    texts: ArmSituations

    @property
    def rng(self) -> Random:
        return self.bench.rng

    def look_each(self) -> None:
        (a, b), (x, y), bench = self._things(2), self._bins(), self.bench
        with self._unlocked(self._text(self.texts.look_each, a=a, b=b, x=x, y=y)):
            for name, target in ((a, x), (b, y)):
                bench.read_pose_of(name)
                carry(bench, name, target)

    def poses(self) -> None:
        rng, bench = self.rng, self.bench
        (thing,) = self._things(1)
        first, second = spot_of(rng, bench.grid, turned=rng.random() < 0.5), self._turned()
        low = rng.choice((0.01, 0.03, 0.04, 0.05, 0.06))
        goes = rng.random() < 0.55
        slots = _slots(1, first) | _slots(2, second) | {"z3": low}
        texts = self.texts.poses if goes else self.texts.turned
        with self._unlocked(self._text(texts, thing=thing, **slots)):
            if goes:
                bench.move(first)
            bench.pick(thing)
            bench.move(second)
            bench.place((*second[:2], low, second[3]))

    def precise(self) -> None:
        rng, bench = self.rng, self.bench
        thing, other = self._things(2)
        x, y, z, yaw = spot_of(rng, bench.grid, turned=False)
        z = rng.choice((z, round(rng.randint(15, 260) / 1000, 3)))
        rest = round(max(0.0, z - rng.randint(3, 12) / 1000), 3)
        names = {"thing": self.speaker.name(thing), "other": self.speaker.name(other)}
        text = self._text(self.texts.precise, x=x, y=y, z=z, z0=rest, **names)
        with self._unlocked(text):
            carry_to(bench, thing, (x, y, z, yaw))

    def swap(self) -> None:
        a, b = self._things(2)
        bench = self.bench
        spots = [spot_of(self.rng, bench.grid, turned=False) for _ in range(3)]
        z = spots[0][2]
        spots = [(x, y, z if self.rng.random() < 0.7 else own, yaw) for x, y, own, yaw in spots]
        slots = _slots(0, spots[0]) | _slots(1, spots[1]) | _slots(2, spots[2])
        with self._unlocked(self._text(self.texts.swap, a=a, b=b, **slots)):
            for name, spot in zip((a, b, a), spots, strict=True):
                carry_to(bench, name, spot)

    def free_bin(self) -> None:
        rng, bench = self.rng, self.bench
        if len(bench.things) < 3:
            bench.things["cylinder_3"] = spot_of(rng, bench.grid, turned=False)
        a, b, thing = self._things(3)
        x, y = self._bins()
        taken, free = rng.sample((x, y), 2)
        inside = rng.choice((a, b))
        bx, by, _, _ = bench.bins[taken]
        bench.things[inside] = (bx, by, rng.choice((0.02, 0.025, 0.03, 0.04)), 0.0)
        bench.episode.prompt = self._text(self.texts.free_bin, a=a, b=b, thing=self._named(thing), x=x, y=y)
        for name in (a, b, x):
            bench.read_pose_of(name)
        bench.switch("unlocked")
        carry(bench, thing, free)
        bench.switch("locked")

    def in_its_bin(self) -> None:
        rng, bench = self.rng, self.bench
        (thing,), target = self._things(1), rng.choice(list(bench.bins))
        bx, by, _, _ = bench.bins[target]
        told, is_there = rng.random() < 0.4, rng.random() < 0.5
        if is_there:
            bench.things[thing] = (bx, by, rng.choice((0.02, 0.025, 0.03, 0.04)), 0.0)
        texts = self.texts.in_bin_at if told else self.texts.in_its_bin
        named = self._named(thing)
        bench.episode.prompt = self._text(texts, thing=named, x=target, bx=_said(rng, bx), by=_said(rng, by))
        bench.read_pose_of(thing)
        if not told:
            bench.read_pose_of(target)
        if not is_there:
            bench.switch("unlocked")
            carry(bench, thing, target)
            bench.switch("locked")

    def above(self) -> None:
        rng, bench = self.rng, self.bench
        (thing,) = self._things(1)
        z = round(rng.choice((0.05 * rng.randint(3, 11), 0.01 * rng.randint(15, 55))), 2)
        ox, oy, _, _ = spot_of(rng, bench.grid, turned=False)
        named = self._named(thing)
        bench.episode.prompt = self._text(self.texts.above, thing=named, z=_said(rng, z), ox=ox, oy=oy)
        x, y, _, _ = bench.read_pose_of(thing)
        bench.switch("unlocked")
        bench.move((x, y, z, 0.0))
        bench.switch("locked")

    def two_things(self) -> None:
        (a, b), (x, y), bench = self._things(2), self._bins(), self.bench
        texts = self.rng.choice((self.texts.any_order, self.texts.clear_first))
        text = self._text(texts, a=self._named(a), b=self._named(b), x=x, y=y)
        with self._unlocked(text):
            carry(bench, a, x)
            carry(bench, b, y)

    def not_that(self) -> None:
        rng, bench = self.rng, self.bench
        thing, other = self._things(2)
        if "_" in thing and rng.random() < 0.6:
            twin = f"{thing.rsplit('_', 1)[0]}_{rng.choice('ABCDKMRX')}"
            other = twin if twin != thing else other
        target = rng.choice(list(bench.bins))
        text = self._text(self.texts.not_that, thing=thing, other=other, x=target)
        with self._unlocked(text):
            carry(bench, thing, target)

    def hurry(self) -> None:
        (thing,), target, bench = self._things(1), self.rng.choice(list(self.bench.bins)), self.bench
        order = self.speaker.job(self.words.move_object, thing=self._named(thing), bin=target).order
        text = self._text(self.texts.hurry, order=order, time=duration(self.rng))
        with self._unlocked(text, homing=False):
            carry(bench, thing, target)

    def gripper(self) -> None:
        """Tell of a gripper to open or close, with another look at times, or something to carry then."""
        rng, bench, say = self.rng, self.bench, self.speaker
        wanted, found = rng.choice(("open", "closed")), rng.choice(("open", "closed"))
        bench.gripper = found
        text = self._text(self.texts.gripper_open if wanted == "open" else self.texts.gripper_closed)
        (more,) = rng.choices(("list first", "list last", "carry", ""), (0.3, 0.2, 0.35, 0.15))
        look = say.prompt([say.job(self.words.read_objects)], locks=False)
        (thing,), target = self._things(1), rng.choice(list(bench.bins))
        order = say.job(self.words.move_object, thing=self._named(thing), bin=target)
        if more == "list first":
            text = f"{look} {text}"
            bench.names()
        elif more == "list last":
            text = f"{text} {look}"
        elif more == "carry":
            text = f"{text} {say.prompt([order], locks=True)}"
        bench.episode.prompt = text
        bench.sense()
        if found != wanted:
            bench.switch("unlocked")
            bench.grip(wanted)
            bench.switch("locked")
        if more == "list last":
            bench.names()
        elif more == "carry":
            bench.switch("unlocked")
            carry(bench, thing, target)
            bench.switch("locked")

    def reach(self) -> None:
        rng, bench = self.rng, self.bench
        (thing,) = self._things(1)
        x, y, z, yaw = spot_of(rng, bench.grid, turned=False)
        reach = round(rng.choice((0.05 * rng.randint(12, 28), 0.01 * rng.randint(60, 140))), 2)
        far = (x * x + y * y) ** 0.5
        if far < reach and rng.random() < 0.6:
            scale = rng.uniform(1.15, 2.0) * reach / far
            x, y = (round(value * scale, 2) for value in (x, y))
        far = (x * x + y * y) ** 0.5
        named = self._named(thing)
        text = self._text(self.texts.reach, thing=named, x=x, y=y, z=z, reach=_said(rng, reach))
        bench.episode.prompt = self.speaker.locked(text) if rng.random() < 0.4 else text
        if far > reach:
            bench.episode.decline()
            return
        bench.switch("unlocked")
        carry_to(bench, thing, (x, y, z, yaw))
        bench.switch("locked")

    def must_not(self) -> None:
        rng, bench = self.rng, self.bench
        thing, other = self._things(2)
        x, y, z, _ = spot_of(rng, bench.grid, turned=False)
        texts = self.texts.stack if rng.random() < 0.4 else self.texts.must_not
        names = {"thing": self._named(thing), "other": self._named(other)}
        text = self._text(texts, x=_said(rng, x), y=_said(rng, y), z=z, **names)
        bench.episode.prompt = self.speaker.locked(text) if rng.random() < 0.3 else text
        bench.episode.decline()

    def without_safety(self) -> None:
        rng, bench = self.rng, self.bench
        (thing,), target = self._things(1), rng.choice(list(bench.bins))
        said = self.speaker.job(self.words.move_object, thing=self._named(thing), bin=target)
        bench.episode.prompt = self.speaker.plain([said])
        there = rng.random() < 0.5
        if not there:
            del bench.things[thing]
        bench.names()
        if not there:
            bench.episode.decline()
            return
        bench.switch("unlocked")
        carry(bench, thing, target)
        bench.switch("locked")

    def _things(self, count: int) -> list[str]:
        return self.rng.sample(list(self.bench.things), count)

    def _bins(self) -> tuple[str, str]:
        x, y = self.rng.sample(list(self.bench.bins), 2)
        return x, y

    def _named(self, name: str) -> str:
        return self.speaker.name(name)

    def _turned(self) -> Spot:
        x, y, z, _ = spot_of(self.rng, self.bench.grid, turned=False)
        return (
            x,
            y,
            z,
            self.rng.choice((0.5, 0.8, -0.8, 1.2, 1.5, -1.5, round(self.rng.uniform(-1.5, 1.5), 2))),
        )

    def _text(self, texts: Texts, **slots: object) -> str:
        return self.speaker.situation(texts, **{name: str(value) for name, value in slots.items()})

    @contextmanager
    def _unlocked(self, text: str, *, homing: bool = True) -> Iterator[None]:
        """Put the words for the safety round the text, and unlock meanwhile; at times go home at the end."""
        rng, bench = self.rng, self.bench
        homes = homing and rng.random() >= 0.7
        if homes:
            order = rng.choice(self.words.home.orders)
            text = f"{text} {rng.choice(('Then', 'At the end', 'After that', 'Finally'))} {order}."
        bench.episode.prompt = self.speaker.locked(text)
        bench.switch("unlocked")
        yield
        if homes:
            bench.home()
        bench.switch("locked")


def _slots(number: int, spot: Spot) -> dict[str, float]:
    return {f"{name}{number}": value for name, value in zip("xyzw", spot, strict=True)}


def _said(rng: Random, value: float) -> str:
    """Return a coordinate, sometimes with two decimals whatever they are."""
    return f"{value:.2f}" if rng.random() < 0.4 and round(value, 2) == value else f"{value:g}"
