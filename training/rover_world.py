"""A made-up field for transcripts: places, tanks, plants' needs, and results as the rover sends them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from string import ascii_lowercase, ascii_uppercase

from devices.farm_rover import tools as rover
from devices.farm_rover.tools import FARM_ROVER
from training.episode import Episode
from training.shipped import POINTS

Point = tuple[float, float]

STATIONS = ("base", "collection_bin", "water_station", "pesticide_refill", "charging_pad")
DEFAULT_STATIONS = {
    "base": (5.0, 5.0),
    "collection_bin": (6.0, 18.0),
    "water_station": (18.5, 2.0),
    "pesticide_refill": (18.0, 18.0),
    "charging_pad": (1.0, 1.0),
}
WATER_L, PESTICIDE_ML, REACH_M = 5.0, 250.0, 1.0
ROVER = FARM_ROVER.in_world(
    {
        "rover": {"reach": REACH_M},
        "water_tank": {"capacity_liters": WATER_L},
        "pesticide_tank": {"capacity_ml": PESTICIDE_ML},
        "stations": DEFAULT_STATIONS,
    }
)
"""The rover as all transcripts describe it: the tanks and the reach of the default field."""
WORDS = (
    "north",
    "south",
    "east",
    "west",
    "old",
    "new",
    "tall",
    "big",
    "red",
    "blue",
    "round",
    "front",
    "back",
)
OTHER_NAMES = ("tomato", "vine", "bed", "tree", "row", "pepper", "melon", "bush")
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
    water: float = WATER_L
    pesticide: float = PESTICIDE_ML
    battery: float = 1.0
    fruit: int = 0
    at: str = ""
    safety: str = "locked"
    noisy: bool = False
    scanned: dict[str, rover.PlantScan] = field(default_factory=dict)

    @classmethod
    def random(cls, rng: Random, episode: Episode) -> Field:
        """Return places anywhere in 20 m x 20 m, none of them where the default field has one."""
        names = [f"plant_{letter}" for letter in "ABCDEFGH"]
        if rng.random() < 0.6:
            names = any_names(rng, ("plant", "plant", *OTHER_NAMES), 8)
        grid = rng.choice((2, 2, 10, 10, 100, 1000))
        count = rng.randint(3, 6)
        picked = names[:count] if rng.random() < 0.5 else rng.sample(names, count)
        plants = {name: _place(rng, grid) for name in picked}
        stations = {name: _place(rng, grid) for name in STATIONS}
        world = cls(rng, plants, stations, episode, pose=stations["base"], noisy=rng.random() < 0.2)
        world.battery = rng.choice((1.0, 1.0, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3))
        world.fruit = rng.choice((0, 0, 0, 1, 2))
        world.water = rng.choice((5.0, 5.0, 5.0, 4.5, 3.0, 2.5))
        world.pesticide = rng.choice((250.0, 250.0, 250.0, 200.0, 120.0))
        return world

    def unlock(self) -> None:
        """Unlock the safety."""
        self.safety = "unlocked"
        self.episode.call("unlock_safety_mode", rover.SafetyState(safety="unlocked"))

    def lock(self) -> None:
        """Lock the safety."""
        self.safety = "locked"
        self.episode.call("lock_safety_mode", rover.SafetyState(safety="locked"))

    def go(self, name: str) -> None:
        """Read the pose of a plant or station and drive there, unless the rover stands there already."""
        if self.at == name:
            return
        plant = name in self.plants
        x, y = self.plants[name] if plant else self.stations[name]
        tool, argument = ("get_plant_pose", "plant_id") if plant else ("get_station_pose", "station_name")
        self.episode.call(tool, rover.NamedPose(x=x, y=y, yaw=0.0, name=name), **{argument: name})
        self.drive(x, y)
        self.at = name

    def drive(self, x: float, y: float) -> None:
        """Call `move_to` a point; the resulting pose is sometimes a few millimetres off."""
        self.pose, self.at = (x, y), ""
        self.episode.call("move_to", self.seen_pose(), x=x, y=y, yaw=0.0)

    def seen_pose(self) -> rover.Pose:
        """Return the rover's pose as it reports it."""
        spread = 0.01 if self.noisy else 0.0
        x, y, yaw = (round(value + self.rng.gauss(0.0, spread), 3) for value in (*self.pose, 0.0))
        return rover.Pose(x=x, y=y, yaw=yaw)

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
        self.episode.call("dump_hopper", rover.Hopper(fruit=0, capacity=2))

    def refill_water(self) -> None:
        """Refill the water tank at its station."""
        self.go("water_station")
        self.water = WATER_L
        self.episode.call("refill_water_tank", rover.Tank(tank_liters=WATER_L))

    def refill_pesticide(self) -> None:
        """Refill the pesticide tank at its station."""
        self.go("pesticide_refill")
        self.pesticide = PESTICIDE_ML
        self.episode.call("refill_pesticide", rover.PesticideTank(tank_ml=PESTICIDE_ML))

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
                "get_plant_pose", rover.NamedPose(x=x, y=y, yaw=0.0, name=plant), plant_id=plant
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
        self.episode.call("sense_hopper", rover.Hopper(fruit=self.fruit, capacity=2))

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
    return Field.random(rng, Episode(ROVER, ""))


def _place(rng: Random, grid: int) -> Point:
    while (spot := (rng.randint(0, 20 * grid) / grid, rng.randint(0, 20 * grid) / grid)) in POINTS:
        pass
    return spot
