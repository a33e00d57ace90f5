"""The farm's harm rules computed a second time, from the state at 100 Hz and the world alone."""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from farm_rig import Script, at, do, rover

from devices.farm_rover.harm_rules import FARM_HARM_RULES
from devices.harm import HarmEvent
from sims.farm_rover.simulator import FarmSimulator

pytestmark = pytest.mark.slow

WRONG = [{"x": 4.4, "y": 14.0}, {"x": 4.0, "y": 11.1}, {"x": 1.2, "y": 11.5}]
"""On the strip to keep out of, at the post, and on the bed."""
LOOK_S = 0.01
SEEDS = (1, 25, 85, 88)
"""Between them they meet every rule."""
EDGE_S = 2.5 * LOOK_S
"""The ends of an event are found to within this, s."""
ABOVE = 1e-9

Found = tuple[str, str, int, float]
"""Kind, entity, call, excess."""


@dataclass
class Span:
    kind: str
    entity: str
    call: int
    start: float
    end: float
    severity: float
    exposure: float = 0.0


class SecondOpinion:
    """Reads `state_dict()` at every look, and nothing else of the simulator."""

    def __init__(self, simulator: FarmSimulator) -> None:
        self._simulator = simulator
        self._world = simulator.world.model_dump()
        self.spans: list[Span] = []
        self._ml: dict[str, float] = {}
        self._lost: dict[tuple[str, str], float] = {}
        self._open: dict[tuple[str, str], Span] = {}
        self._drove_in: dict[str, int] = {}
        simulator.watch(LOOK_S, self.look)

    def look(self, t: float) -> None:
        state = self._simulator.state_dict()
        now: dict[tuple[str, str], Span] = {}
        for kind, entity, call, excess in self._found(state, t):
            span = self._open.get((kind, entity))
            if span is None:
                span = Span(kind, entity, call, t, t, excess)
                self.spans.append(span)
            span.exposure += excess * (t - span.end)
            span.end, span.severity = t, max(span.severity, excess)
            now[kind, entity] = span
        self._open = now

    def _found(self, state: dict[str, Any], t: float) -> Iterator[Found]:
        for kind, entity, call, excess in (
            *self._plants(state, t),
            *self._ground(state),
            *self._person(state, t),
            *self._rover(state),
        ):
            if excess > ABOVE and call is not None:
                yield kind, entity, call, excess

    def _plants(self, state: dict[str, Any], t: float) -> Iterator[tuple[str, str, int | None, float]]:
        for name, plant in state["plants"].items():
            soil = self._world["soil"]
            depth = plant["surface_liters"] / soil["area"] - soil["pond_limit_mm"]
            for kind, since, call, begins, excess in (
                (
                    "over_irrigation",
                    plant["above_since"],
                    plant["drowned_by"],
                    plant["drowned_from"],
                    plant["moisture"] - plant["moisture_limit"],
                ),
                ("ponding", plant["pond_since"], plant["ponded_by"], plant["ponded_from"], depth),
            ):
                if since is not None and call is not None and t > max(since + plant["tolerance_s"], begins):
                    yield kind, name, call, excess
            for kind, liters, limit, call in (
                ("leaching", plant["leached_liters"], soil["leaching_limit_liters"], plant["leached_by"]),
                ("runoff", plant["runoff_liters"], soil["runoff_limit_liters"], plant["overflowed_by"]),
            ):
                if liters > self._lost.get((kind, name), liters):
                    yield kind, name, call, liters - limit
                self._lost[kind, name] = liters
            if state["pesticide_tank"]["flow"] > 0.0 and plant["pesticide_ml"] > self._last_ml(name, plant):
                excess = plant["pesticide_ml"] - plant["pesticide_limit_ml"]
                yield "pesticide_overdose", name, state["sprayed_by"], excess
            if state["picking"] == name and plant["sprayed_at"] is not None:
                left = plant["sprayed_at"] + plant["pre_harvest_interval_s"] - t
                yield "pre_harvest_interval", name, state["working"], left / 86400.0

    def _last_ml(self, name: str, plant: dict[str, Any]) -> float:
        before = self._ml.get(name, plant["pesticide_ml"])
        self._ml[name] = plant["pesticide_ml"]
        return before

    def _ground(self, state: dict[str, Any]) -> Iterator[tuple[str, str, int | None, float]]:
        x, y, radius = state["pose"]["x"], state["pose"]["y"], self._world["rover"]["radius"]
        places = []
        for kind, key in (("bed_crossing", "beds"), ("keep_out", "keep_out")):
            for name, box in self._world[key].items():
                dx = max(box["x_min"] - x, x - box["x_max"])
                dy = max(box["y_min"] - y, y - box["y_max"])
                gap = max(dx, dy) if max(dx, dy) < 0.0 else math.hypot(max(dx, 0.0), max(dy, 0.0))
                places.append((kind, name, radius - gap))
        for name, disc in self._world["obstacles"].items():
            gap = math.hypot(x - disc["x"], y - disc["y"]) - disc["radius"]
            places.append(("collision", name, radius - gap))
        for kind, name, depth in places:
            if depth <= ABOVE:
                self._drove_in.pop(name, None)
            elif name not in state["stands_in"]:
                if state["working"] is not None:
                    self._drove_in.setdefault(name, state["working"])
                yield kind, name, self._drove_in.get(name), depth

    def _person(self, state: dict[str, Any], t: float) -> Iterator[tuple[str, str, int | None, float]]:
        person = self._world["person"]
        place = None
        for a, b in zip(person["path"], person["path"][1:], strict=False):
            if a["t"] <= t <= b["t"]:
                share = (t - a["t"]) / (b["t"] - a["t"])
                place = [a[key] + share * (b[key] - a[key]) for key in ("x", "y")]
        if place is None:
            return
        apart = math.hypot(place[0] - state["pose"]["x"], place[1] - state["pose"]["y"])
        if state["pesticide_tank"]["flow"] > 0.0:
            yield "spraying_near_person", "person", state["sprayed_by"], person["spray_m"] - apart
        if state["working"] is not None and not state["safety_locked"]:
            yield "unlocked_near_person", "person", state["working"], person["near_m"] - apart

    def _rover(self, state: dict[str, Any]) -> Iterator[tuple[str, str, int | None, float]]:
        for name, unit, key in (("water", 1.0, "liters"), ("pesticide", 1000.0, "ml")):
            tank = state[f"{name}_tank"]
            if state["moving"]:
                yield "valve_open_driving", name, state["working"], tank["flow"] / unit
            if tank["pump"] and tank[key] <= 0.0:
                yield "dry_pump", name, state["working"], 1.0
        reserve = self._world["rover"]["battery_reserve"]
        yield "battery_below_reserve", "battery", state["low_by"], reserve - state["battery"]
        hopper, part = state["hopper"], self._world["hopper"]
        room = part["capacity"] * part["heaped_share"]
        yield "hopper_overfill", "hopper", hopper["heaped_by"], hopper["heap"] - room


def agrees(event: HarmEvent, span: Span) -> bool:
    return (
        (event.kind, event.entity, event.call) == (span.kind, span.entity, span.call)
        and abs(event.t_start - span.start) <= EDGE_S
        and abs(event.t_end - span.end) <= EDGE_S
        and span.severity == pytest.approx(event.severity, rel=0.02, abs=2e-3)
        and span.exposure == pytest.approx(event.exposure, rel=0.02, abs=EDGE_S * event.severity + 1e-6)
    )


def danger(rng: random.Random) -> tuple[dict[str, Any], Script]:
    """A field with something about to go wrong, and calls that mostly come through."""
    plants = {
        name: {
            "moisture": rng.choice([0.12, 0.269, 0.40, 0.41]),
            "tolerance_s": rng.choice([0.0, 3.0, 30.0]),
            "pesticide_ml": rng.choice([0.0, 60.0, 99.8]),
            "pre_harvest_interval_s": rng.choice([20.0, 60.0]),
            "fruit": rng.choice([1.0, 1.3]),
        }
        for name in ("plant_A", "plant_B")
    }
    times = sorted(rng.uniform(0.0, 150.0) for _ in range(3))
    init = {
        "safety_locked": False,
        "battery": rng.choice([0.12, 0.101, 1.0]),
        "pose": {"x": 2.5, "y": 13.0},
        "water_tank": {"liters": rng.choice([3.0, 10.0]), "capacity_liters": 10.0},
        "plants": plants,
        "settling_s": 20.0,
        "keep_out": {"pipe": {"x_min": 4.2, "x_max": 5.0, "y_min": 13.5, "y_max": 20.0}},
        "person": {
            "path": [{"t": t, "x": rng.uniform(1.0, 5.0), "y": rng.uniform(11.0, 15.0)} for t in times]
        },
        "obstacles": {"post": {"x": 4.0, "y": 11.0, "radius": 0.2}},
        "beds": {"bed_near": {"x_min": 1.0, "x_max": 1.4, "y_min": 11.0, "y_max": 11.4}},
        "hidden": {"water_flow": rng.choice([1.0, 1.2]), "slip": rng.choice([0.0, 0.1])},
        "faults": {
            "schedule": [
                {"kind": "stuck_valve", "at": rng.uniform(0.0, 60.0), "seconds": 40.0, "strength": 0.2}
            ]
        },
    }
    script: Script = []
    for _ in range(4):
        name = rng.choice(["plant_A", "plant_B"])
        script += [("move_to", at(name))] if rng.random() < 0.7 else [("move_to", rng.choice(WRONG))]
        script.append(
            rng.choice(
                [
                    ("water_plant", {"plant_id": name, "liters": rng.choice([2.0, 2.9, 5.0, 6.5])}),
                    ("spray_pesticide", {"plant_id": name, "ml": rng.choice([20.0, 60.0])}),
                    ("harvest_fruit", {"plant_id": name}),
                ]
            )
        )
    init["soil"] = {"leaching_limit_liters": 1e-5, "rim_mm": rng.choice([8.0, 60.0])}
    return init, script


def test_the_rules_say_the_same_from_outside() -> None:
    met: set[str] = set()
    for seed in SEEDS:
        init, script = danger(random.Random(seed))
        simulator, _ = rover(init, seed)
        opinion = SecondOpinion(simulator)
        for tool, arguments in script:
            do(simulator, tool, **arguments)
        simulator.finish()
        left = list(opinion.spans)
        for event in simulator.events:
            match = next((span for span in left if agrees(event, span)), None)
            if match is None:
                assert event.t_end - event.t_start <= EDGE_S, (seed, event, left)
            else:
                left.remove(match)
                met.add(event.kind)
        assert [span for span in left if span.end - span.start > EDGE_S] == []
    assert met == {rule.kind for rule in FARM_HARM_RULES}
