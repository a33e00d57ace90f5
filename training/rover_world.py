"""A made-up field for transcripts: places, tanks, plants' needs, and results as the rover sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from string import ascii_lowercase, ascii_uppercase

from devices.device_type import DeviceType
from devices.farm_rover import tools as rover
from devices.farm_rover.tools import FARM_ROVER
from training.amounts import liters_of, ml_of
from training.episode import Episode
from training.shipped import POINTS, taught

Point = tuple[float, float]

STATIONS = ("base", "collection_bin", "water_station", "pesticide_refill", "charging_pad")
DEFAULT_STATIONS = {
    "base": (5.0, 5.0),
    "collection_bin": (6.0, 18.0),
    "water_station": (18.5, 2.0),
    "pesticide_refill": (18.0, 18.0),
    "charging_pad": (1.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class Tanks:
    """What the rover's tanks hold when full: l of water, ml of pesticide."""

    water: float
    pesticide: float


REACH_M = 1.0
DEFAULT_TANKS = Tanks(5.0, 250.0)
OTHER_TANKS = (Tanks(8.0, 400.0), Tanks(10.0, 300.0), Tanks(15.0, 600.0), Tanks(20.0, 1000.0))
"""Amounts of one digit and of round numbers must occur, though not those of the shipped tasks."""


def rover_with(tanks: Tanks) -> DeviceType:
    """Return the rover as transcripts describe it: the reach of the default field, and these tanks."""
    return taught(FARM_ROVER).in_world(
        {
            "rover": {"reach": REACH_M},
            "water_tank": {"capacity_liters": tanks.water},
            "pesticide_tank": {"capacity_ml": tanks.pesticide},
            "stations": DEFAULT_STATIONS,
        }
    )


ROVERS = {tanks: rover_with(tanks) for tanks in (DEFAULT_TANKS, *OTHER_TANKS)}
ROVER = ROVERS[DEFAULT_TANKS]
WORDS = (
    *("north", "south", "east", "west", "old", "new", "tall", "big", "red", "blue", "round", "front"),
    *("back", "small", "large", "left", "right", "long", "thin", "green", "white", "black", "flat"),
    *("short", "wide", "inner", "outer", "upper", "lower", "first", "second", "third", "spare", "main"),
    *("steel", "wood", "glass", "heavy", "light", "young", "dark", "corner", "middle", "near", "far"),
    *("half", "double", "open", "soft", "test", "alpha", "beta"),
)
OTHER_NAMES = (
    *("tomato", "vine", "bed", "tree", "row", "pepper", "melon", "bush", "bean", "rose", "plot", "pot"),
    *("crop", "apple", "maize", "onion", "stand", "spot", "herb", "fig", "olive", "kale", "leek", "patch"),
)
LOCKED = (
    "The safety is locked; call unlock_safety_mode first.",
    "the safety is locked: call unlock_safety_mode first",
    "Unlock the safety with unlock_safety_mode before moving.",
)
TOO_FAR = (
    "{name} is {distance} m away; move within 1 m of it first.",
    "The rover is {distance} m from {name}: drive to it with move_to first.",
    "too far from {name} ({distance} m); move_to its pose",
)
TANK_LOW = (
    "The tank holds {left} liters; refill it at the water_station.",
    "only {left} L left in the water tank: call refill_water_tank at the water_station first",
)


@dataclass
class Field:
    """The world of one episode and the rover in it; `do_*` methods add calls to the episode."""

    rng: Random
    plants: dict[str, Point]
    stations: dict[str, Point]
    episode: Episode
    pose: Point = (5.0, 5.0)
    tanks: Tanks = DEFAULT_TANKS
    water: float = 5.0
    pesticide: float = 250.0
    battery: float = 1.0
    fruit: int = 0
    at: str = ""
    safety: str = "locked"
    noisy: bool = False
    scanned: dict[str, rover.PlantScan] = field(default_factory=dict)

    @classmethod
    def random(cls, rng: Random, episode: Episode, tanks: Tanks) -> Field:
        """Return places anywhere in 20 m x 20 m, none of them where the default field has one."""
        names = [f"plant_{letter}" for letter in rng.sample(ascii_uppercase, 8)]
        if rng.random() < 0.6:
            names = any_names(rng, ("plant", "plant", *OTHER_NAMES), 8)
        grid = rng.choice((2, 2, 10, 10, 100, 1000))
        count = rng.randint(3, 6)
        picked = names[:count] if rng.random() < 0.5 else rng.sample(names, count)
        plants = {name: _place(rng, grid) for name in picked}
        stations = {name: _place(rng, grid) for name in STATIONS}
        world = cls(rng, plants, stations, episode, stations["base"], tanks, noisy=rng.random() < 0.2)
        world.battery = rng.choice((1.0, 1.0, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3))
        world.fruit = rng.choice((0, 0, 0, 1, 2))
        world.water = tanks.water * rng.choice((1.0, 1.0, 1.0, 0.9, 0.6, 0.5))
        world.pesticide = tanks.pesticide * rng.choice((1.0, 1.0, 1.0, 0.8, 0.5))
        return world

    def liters(self, share: float = 0.95) -> float:
        """Return an amount of water, up to a share of the tank; l."""
        return liters_of(self.rng, self.tanks.water * share)

    def milliliters(self) -> float:
        """Return an amount of pesticide that the tank can give; ml."""
        return ml_of(self.rng, self.tanks.pesticide / 2)

    def unlock(self) -> None:
        """Unlock the safety."""
        self.safety = "unlocked"
        self.episode.call("unlock_safety_mode", rover.RoverSafety(safety="unlocked"))

    def lock(self) -> None:
        """Lock the safety."""
        self.safety = "locked"
        self.episode.call("lock_safety_mode", rover.RoverSafety(safety="locked"))

    def go(self, name: str) -> None:
        """Read the pose of a plant or station and drive there, unless the rover stands there already."""
        if self.at == name:
            return
        plant = name in self.plants
        x, y = self.plants[name] if plant else self.stations[name]
        tool, argument = ("get_plant_pose", "plant_id") if plant else ("get_station_pose", "station_name")
        self.episode.call(tool, rover.PlantPose(x=x, y=y, yaw=0.0, name=name), **{argument: name})
        self.drive(x, y)
        self.at = name

    def drive(self, x: float, y: float) -> None:
        """Call `move_to` a point; the resulting pose is sometimes a few millimetres off."""
        self.pose, self.at = (x, y), ""
        self.episode.call("move_to", self.seen_pose(), x=x, y=y, yaw=0.0)

    def seen_pose(self) -> rover.RoverPose:
        """Return the rover's pose as it reports it."""
        spread = 0.01 if self.noisy else 0.0
        x, y, yaw = (round(value + self.rng.gauss(0.0, spread), 3) for value in (*self.pose, 0.0))
        return rover.RoverPose(x=x, y=y, yaw=yaw)

    def home(self) -> None:
        """Drive to the base."""
        self.pose, self.at = self.stations["base"], "base"
        self.episode.call("move_home", self.seen_pose())

    def give_water(self, plant: str, liters: float) -> None:
        """Water a plant that the rover stands at; where the tank is too low, refill and come back."""
        if liters > self.water + 1e-9:
            message = self.rng.choice(TANK_LOW).format(left=self.water)
            code = self.rng.choice(("tank_low", "tank_empty", "not_enough_water"))
            self.episode.refused("water_plant", code, message, plant_id=plant, liters=liters)
            self.refill_water()
            self.go(plant)
        self.water = round(self.water - liters, 3)
        self.episode.call(
            "water_plant",
            rover.Watered(plant_id=plant, liters=liters, tank_liters=self.water),
            plant_id=plant,
            liters=liters,
        )

    def spray(self, plant: str, ml: float) -> None:
        """Spray a plant that the rover stands at."""
        self.pesticide = round(max(0.0, self.pesticide - ml), 3)
        self.episode.call(
            "spray_pesticide",
            rover.Sprayed(plant_id=plant, ml=ml, tank_ml=self.pesticide),
            plant_id=plant,
            ml=ml,
        )

    def harvest(self, plant: str) -> None:
        """Harvest a plant that the rover stands at."""
        self.fruit = min(2, self.fruit + 1)
        result = rover.Harvested(fruit=self.fruit, capacity=2, plant_id=plant)
        self.episode.call("harvest_fruit", result, plant_id=plant)

    def dump(self) -> None:
        """Empty the hopper at the collection bin."""
        self.go("collection_bin")
        self.fruit = 0
        self.episode.call("dump_hopper", rover.HopperReading(fruit=0, capacity=2))

    def refill_water(self) -> None:
        """Refill the water tank at its station."""
        self.go("water_station")
        self.water = self.tanks.water
        self.episode.call("refill_water_tank", rover.Tank(tank_liters=self.water))

    def refill_pesticide(self) -> None:
        """Refill the pesticide tank at its station."""
        self.go("pesticide_refill")
        self.pesticide = self.tanks.pesticide
        self.episode.call("refill_pesticide", rover.TankReading(tank_ml=self.pesticide))

    def dump_if_full(self) -> None:
        """Read the hopper, and empty it if it has no room."""
        self.read_hopper()
        if self.fruit == 2:
            self.dump()

    def recharge_below(self, charge: float) -> None:
        """Read the battery, and charge it if there is less."""
        self.read_battery()
        if self.battery < charge:
            self.recharge()

    def recharge(self) -> None:
        """Charge the battery at the pad."""
        self.go("charging_pad")
        self.battery = 1.0
        self.episode.call("recharge", rover.Battery(battery=1.0))

    def scan(self, plant: str) -> rover.PlantScan:
        """Look at a plant; a second look shows the same."""
        seen = self.scanned.get(plant) or rover.PlantScan(
            plant_id=plant,
            soil=self.rng.choice(("dry", "wet")),
            ripe=self.rng.random() < 0.5,
            pests=self.rng.random() < 0.5,
        )
        self.scanned[plant] = seen
        self.episode.call("scan_plant", seen, plant_id=plant)
        return seen

    def mistake(self, plant: str) -> None:
        """Add a refusal that the expert recovers from: too far from the plant, or the safety still locked."""
        x, y = self.plants[plant]
        if self.safety == "locked":
            self.episode.call(
                "get_plant_pose", rover.PlantPose(x=x, y=y, yaw=0.0, name=plant), plant_id=plant
            )
            code = self.rng.choice(("safety_locked", "locked"))
            self.episode.refused("move_to", code, self.rng.choice(LOCKED), x=x, y=y, yaw=0.0)
            self.unlock()
            self.drive(x, y)
            self.at = plant
        elif self.at != plant:
            distance = round(
                ((self.pose[0] - x) ** 2 + (self.pose[1] - y) ** 2) ** 0.5, self.rng.choice((1, 2))
            )
            message = self.rng.choice(TOO_FAR).format(name=plant, distance=distance)
            code = self.rng.choice(("too_far", "not_at_plant", "out_of_reach"))
            self.episode.refused("harvest_fruit", code, message, plant_id=plant)

    def read_battery(self) -> None:
        """Read the charge."""
        self.episode.call("sense_battery", rover.Battery(battery=self.battery))

    def read_hopper(self) -> None:
        """Read the hopper."""
        self.episode.call("sense_hopper", rover.HopperReading(fruit=self.fruit, capacity=2))

    def read_pose(self) -> None:
        """Read the rover's pose."""
        self.episode.call("sense_pose", self.seen_pose())

    def read_plants(self) -> None:
        """Read the names of the plants."""
        self.episode.call("list_plants", rover.Plants(plants=list(self.plants)))


def any_names(rng: Random, kinds: tuple[str, ...], count: int) -> list[str]:
    """Return unpredictable names, of one kind or several: the model must copy, not remember."""
    names: dict[str, None] = {}
    one_kind = rng.choice(kinds) if rng.random() < 0.5 else None
    style = rng.randrange(4)
    while len(names) < count:
        letters, number = (rng.choice(ascii_uppercase), rng.choice(ascii_lowercase)), str(rng.randint(1, 99))
        mark = (letters[0], number, letters[1], rng.choice(WORDS))[style]
        names[f"{one_kind or rng.choice(kinds)}_{mark}"] = None
    return list(names)


def new_field(rng: Random) -> Field:
    """Return a field with an empty episode in it."""
    tanks = rng.choice(OTHER_TANKS) if rng.random() < 0.7 else DEFAULT_TANKS
    return Field.random(rng, Episode(ROVERS[tanks], ""), tanks)


def _place(rng: Random, grid: int) -> Point:
    while (spot := (rng.randint(0, 20 * grid) / grid, rng.randint(0, 20 * grid) / grid)) in POINTS:
        pass
    return spot
