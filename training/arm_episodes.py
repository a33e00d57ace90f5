"""Made-up episodes of the robotic arm: objects and bins anywhere on the bench, moved by the expert's path.

The expert unlocks, does the jobs in their order (pick, read the bin's pose, place there), and
locks.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from devices.arm import gripper_tools as arm
from devices.robotic_arm.tools import ROBOTIC_ARM
from training.episode import Episode
from training.phrasing import Said, Speaker, Work, joined
from training.rover_world import any_names
from training.shipped import POINTS, taught
from training.wordings import ArmWords, Wordings

Spot = tuple[float, float, float, float]

ARM = taught(ROBOTIC_ARM)

PLAIN_OBJECTS = (
    *("tin", "gear", "tube", "mug", "jar", "ball", "brick", "lid", "plug", "can", "cup", "bottle", "bowl"),
    *("key", "spoon", "battery", "motor", "sponge", "bolt", "cap", "cork", "flask", "vial", "pen", "ring"),
    *("wheel", "cube", "pipe", "fuse", "lamp", "egg", "apple", "stone", "phone", "book", "clip", "roll"),
    *("pot", "cone", "shell"),
)
KINDS = (
    *("box", "panel", "tin", "gear", "tube", "block", "bottle", "plate", "part", "case", "rod", "sheet"),
    *("bar", "crate", "sample", "tool", "pack", "cube", "pin", "board", "frame", "object", "item", "card"),
    *("bag",),
)
"""Plans of shipped tasks are drawn again, so names that stand in shipped tasks must be rare: what is left out
of them would be learned as a preference for the others."""
BINS = ("bin_left", "bin_right")
MORE_BINS = ("bin_front", "bin_back", "tray", "bin_top", "bin_red", "basket")
REST: Spot = (0.4, 0.0, 0.5, 0.0)
LOCKED = (
    "The safety is locked; call unlock_safety first.",
    "the safety is locked: call unlock_safety first",
    "Unlock the safety with unlock_safety before moving.",
)


@dataclass
class Bench:
    """The bench of one episode; methods add calls to the episode."""

    rng: Random
    things: dict[str, Spot]
    bins: dict[str, Spot]
    episode: Episode
    noisy: bool
    grid: int
    holding: bool = False
    gripper: str = "open"
    pose: Spot = REST

    @classmethod
    def random(cls, rng: Random) -> Bench:
        """Return objects and bins anywhere within 1.1 m of the base."""
        grid = rng.choice((20, 20, 100, 100, 1000))
        things = any_names(rng, KINDS, rng.randint(2, 5))
        if rng.random() < 0.5:
            things[1:] = rng.sample(PLAIN_OBJECTS, len(things) - 1)
            rng.shuffle(things)
        bins = list(BINS)
        if rng.random() < 0.5:
            bins = any_names(rng, ("bin",), 2) if rng.random() < 0.5 else rng.sample(BINS + MORE_BINS, 2)
        spots = {name: spot_of(rng, grid, turned=rng.random() < 0.2) for name in things}
        bin_spots = {name: spot_of(rng, grid, turned=rng.random() < 0.08) for name in bins}
        return cls(rng, spots, bin_spots, Episode(ARM, ""), rng.random() < 0.2, grid)

    def switch(self, state: str) -> None:
        """Lock or unlock the safety."""
        tool = "unlock_safety" if state == "unlocked" else "lock_safety"
        self.episode.call(tool, arm.SafetyState.model_validate({"safety": state}))

    def read_pose_of(self, name: str) -> Spot:
        """Read where an object or a bin is."""
        x, y, z, yaw = spot = self.things.get(name) or self.bins[name]
        self.episode.call("get_object_pose", arm.ThingPose(x=x, y=y, z=z, yaw=yaw, name=name), object_id=name)
        return spot

    def pick(self, name: str) -> None:
        """Pick an object."""
        self.pose, self.holding = self.things[name], True
        result = arm.Picked(gripper="closed", holding=True, object_id=name)
        self.episode.call("pick", result, object_id=name)

    def place(self, spot: Spot) -> None:
        """Set the held object down."""
        self.pose, self.holding = spot, False
        seen = self._seen()
        result = arm.Placed(x=seen.x, y=seen.y, z=seen.z, yaw=seen.yaw, gripper="open")
        self.episode.call("place", result, **_named(spot))

    def move(self, spot: Spot) -> None:
        """Move the gripper."""
        self.pose = spot
        self.episode.call("move_to", self._seen(), **_named(spot))

    def home(self) -> None:
        """Go to the rest pose."""
        self.pose = REST
        self.episode.call("home", self._seen())

    def grip(self, state: str) -> None:
        """Open or close the gripper."""
        tool = "open_gripper" if state == "open" else "close_gripper"
        self.episode.call(tool, arm.Gripper.model_validate({"gripper": state, "holding": False}))

    def sense(self) -> None:
        """Read the gripper."""
        state = "closed" if self.holding else self.gripper
        self.episode.call(
            "sense_gripper", arm.Gripper.model_validate({"gripper": state, "holding": self.holding})
        )

    def names(self) -> None:
        """List what there is."""
        self.episode.call("list_objects", arm.Objects(objects=list(self.things), bins=list(self.bins)))

    def _seen(self) -> arm.TipPose:
        spread = 0.002 if self.noisy else 0.0
        x, y, z, yaw = (round(value + self.rng.gauss(0.0, spread), 3) for value in self.pose)
        return arm.TipPose(x=x, y=y, z=z, yaw=yaw)


def arm_episode(rng: Random, wordings: Wordings) -> Episode:
    """Return one episode; a seed gives the same one, always."""
    return _Teller(Bench.random(rng), Speaker(rng, wordings.frame), wordings.arm).episode()


@dataclass(frozen=True, slots=True)
class _Teller:
    """Draws an episode's jobs; each is words and the calls that do it."""

    bench: Bench
    speaker: Speaker
    words: ArmWords

    @property
    def rng(self) -> Random:
        return self.bench.rng

    def episode(self) -> Episode:
        rng, bench = self.rng, self.bench
        locks = rng.random() > 0.15
        jobs = self._work() if locks else self._reads(rng.randint(1, 2))
        read = self._reads(1)[0] if locks and rng.random() < 0.25 else None
        bench.episode.prompt, early, late = self.speaker.told(jobs, read, locks=locks, apart=0.6)
        for act in early:
            act()
        if locks:
            _maybe_mistake(bench)
            bench.switch("unlocked")
        for act in late:
            act()
        if locks:
            bench.switch("locked")
        return bench.episode

    def _work(self) -> list[Work]:
        rng, bench = self.rng, self.bench
        names = rng.sample(list(bench.things), min(len(bench.things), rng.choice((1, 1, 2, 2, 3))))
        kind = rng.random()
        if kind < 0.1:
            jobs = self._gripper_jobs()
        elif kind < 0.2 and len(names) > 1:
            jobs = [self._all_to_one(names)]
        elif kind < 0.26:
            jobs = [job for name in names for job in (self._look(name), *self._move_object(name))]
        else:
            jobs = [job for name in names for job in self._move_object(name)]
        if rng.random() < 0.4:
            jobs.append((self.speaker.job(self.words.home), bench.home))
        return jobs

    def _move_object(self, name: str) -> list[Work]:
        rng, bench, words, say = self.rng, self.bench, self.words, self.speaker
        thing = say.name(name)
        if rng.random() < 0.15:
            spot = spot_of(rng, bench.grid, turned=False)
            x, y, z, _ = spot
            return [(say.job(words.put_at, thing=thing, x=x, y=y, z=z), lambda: carry_to(bench, name, spot))]
        target = rng.choice(list(bench.bins))
        place = say.job(words.place, bin=say.name(target))
        if rng.random() < 0.1:
            pick = say.job(words.pick, thing=thing)
            return [
                (pick, lambda: bench.pick(name)),
                (place, lambda: bench.place(bench.read_pose_of(target))),
            ]
        said = say.job(words.move_object, thing=thing, bin=say.name(target))
        return [(said, lambda: carry(bench, name, target))]

    def _all_to_one(self, names: list[str]) -> Work:
        rng, bench = self.rng, self.bench
        target = rng.choice(list(bench.bins))
        things = rng.choice(("{}", "both {}" if len(names) == 2 else "all of {}")).format(joined(names))
        said = Said(rng.choice(self.words.move_object.orders[:3]).format(thing=things, bin=target))

        def act() -> None:
            for name in names:
                carry(bench, name, target)

        return said, act

    def _gripper_jobs(self) -> list[Work]:
        rng, bench, words, say = self.rng, self.bench, self.words, self.speaker
        x, y, z, yaw = spot_of(rng, bench.grid, turned=False)
        choices: list[Work] = [
            (say.job(words.point, x=x, y=y, z=z), lambda: bench.move((x, y, z, yaw))),
            (say.job(words.open), lambda: bench.grip("open")),
            (say.job(words.close), lambda: bench.grip("closed")),
        ]
        return rng.sample(choices, rng.randint(1, 2))

    def _reads(self, count: int) -> list[Work]:
        rng, bench, words, say = self.rng, self.bench, self.words, self.speaker
        choices: list[Work] = [
            (say.job(words.read_gripper), bench.sense),
            (say.job(words.read_objects), bench.names),
            self._look(rng.choice([*bench.things, *bench.bins])),
        ]
        return rng.sample(choices, count)

    def _look(self, name: str) -> Work:
        said = self.speaker.job(self.words.read_object, thing=self.speaker.name(name))
        return said, lambda: _ignore(self.bench.read_pose_of(name))


def carry(bench: Bench, name: str, target: str) -> None:
    """Pick an object, read where the bin is, and place it there."""
    bench.pick(name)
    bench.place(bench.read_pose_of(target))


def carry_to(bench: Bench, name: str, spot: Spot) -> None:
    """Pick an object and place it at a pose."""
    bench.pick(name)
    bench.place(spot)


def _maybe_mistake(bench: Bench) -> None:
    if bench.rng.random() < 0.06:
        code = bench.rng.choice(("safety_locked", "locked"))
        bench.episode.refused("home", code, bench.rng.choice(LOCKED))


def spot_of(rng: Random, grid: int, *, turned: bool) -> Spot:
    """Return a pose within 1.1 m of the base that no shipped task has; m and rad."""
    while True:
        x = rng.randint(-3 * grid // 10, 11 * grid // 10) / grid
        y = rng.randint(-11 * grid // 10, 11 * grid // 10) / grid
        if 0.2 <= (x * x + y * y) ** 0.5 <= 1.1 and (x, y) not in POINTS:
            break
    z = rng.choice((0.0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.025, 0.045, 0.3))
    yaw = round(rng.uniform(-1.6, 1.6), rng.choice((1, 2, 3))) if turned else 0.0
    return x, y, z, yaw


def _named(spot: Spot) -> dict[str, float]:
    return dict(zip(("x", "y", "z", "yaw"), spot, strict=True))


def _ignore(_: object) -> None:
    return None
