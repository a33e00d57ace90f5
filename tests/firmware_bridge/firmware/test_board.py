"""The rover's firmware through the real client, with the farm's physics at its pins."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from farm_rig import at
from firmware_rig import RAM_BYTES, WORLD_SPEED, RawHost, Seen, board, is_safe, ram_used

from devices.outcome import Outcome
from devices.registry import device_type
from devices.sensors import Sample
from firmware_bridge.client import RigClient
from firmware_bridge.firmware.build import build
from firmware_bridge.links import open_link
from sims.farm_rover import board_pins as pins
from sims.farm_rover.emulated_board import EmulatedBoard

pytestmark = pytest.mark.firmware

WATCHDOG_MS = 2000
SLACK_MS = 50
SPARE_BYTES = 1024
"""Of RAM that neither variables nor the deepest stack of a day in the field take."""


class Rover:
    """A board and a host that drives it."""

    def __init__(self, emulated: EmulatedBoard) -> None:
        self.board = emulated
        self.samples: list[Sample] = []
        self.client = RigClient(open_link(f"serial://{emulated.path}"), on_sample=self.samples.append)

    def ok(self, tool: str, **arguments: Any) -> Outcome:
        outcome = self.client.call(tool, arguments)
        assert outcome.status == "ok", (tool, outcome)
        device_type("farm_rover").by_name[tool].result.model_validate(outcome.value)
        return outcome

    def refused(self, tool: str, **arguments: Any) -> str | None:
        outcome = self.client.call(tool, arguments)
        assert outcome.status == "rejected", (tool, outcome)
        return outcome.code

    def in_background(self, tool: str, **arguments: Any) -> tuple[threading.Thread, list[Outcome]]:
        outcomes: list[Outcome] = []
        thread = threading.Thread(
            target=lambda: outcomes.append(self.client.call(tool, arguments, call_id="background"))
        )
        thread.start()
        return thread, outcomes


@contextmanager
def rover(**init: Any) -> Iterator[Rover]:
    with board(**init) as emulated:
        driven = Rover(emulated)
        with driven.client:
            driven.client.open()
            driven.client.reset()
            yield driven


@pytest.fixture(scope="class")
def shared() -> Iterator[Rover]:
    with rover() as driven:
        yield driven


class TestOneBoard:
    """A board that these share: its emulator takes a third of a core for as long as it runs."""

    def test_every_read_answers_in_its_result_model(self, shared: Rover) -> None:
        assert shared.ok("list_plants").value == {"plants": ["plant_A", "plant_B", "plant_C", "plant_D"]}
        assert shared.ok("get_station_pose", station_name="base").value == {
            "name": "base", "x": 5, "y": 5, "yaw": 0,
        }  # fmt: skip
        assert shared.ok("sense_hopper").value == {"fruit": 0, "capacity": 2}
        assert shared.ok("sense_battery").value == {"battery": 1}
        scan = shared.ok("scan_plant", plant_id="plant_C").value
        assert scan == {"plant_id": "plant_C", "soil": "dry", "ripe": True, "pests": True}
        assert shared.ok("sense_pose").value == {"x": 5, "y": 5, "yaw": 0}
        status = shared.client.status
        assert status is not None and (status.watchdog_ms, status.reset) == (WATCHDOG_MS, "power")

    def test_interlocks_say_what_to_do(self, shared: Rover) -> None:
        assert shared.refused("move_home") == "safety_locked"
        shared.ok("unlock_safety_mode")
        outcome = shared.client.call("water_plant", {"plant_id": "plant_B", "liters": 1.0})
        assert outcome.code == "too_far"
        assert outcome.message is not None and "Call move_to with x 3.5 and y 12.5 first." in outcome.message
        assert shared.refused("dump_hopper") == "too_far"
        assert shared.refused("move_to", x=21.0, y=3.0) == "outside_field"
        assert shared.refused("scan_plant", plant_id="plant_Z") == "unknown_plant"
        assert shared.refused("get_station_pose", station_name="moon") == "unknown_station"
        shared.ok("lock_safety_mode")

    def test_samples_tell_every_sensor(self, shared: Rover) -> None:
        shared.client.estop()
        shared.samples.clear()
        shared.client.reset()
        assert shared.client.drain()
        assert {sample.sensor: sample.value for sample in shared.samples} == {
            **{f"moisture.plant_{name}": "dry" for name in "ABCD"},
            "water_tank_low": False,
            "pesticide_tank_low": False,
            "hopper_full": False,
        }


@pytest.mark.parametrize("yaw", [0.0, 2.5])
def test_people_are_told_as_the_simulator_tells_them(yaw: float) -> None:
    path = [{"t": 0.0, "x": 8.0, "y": 2.0}, {"t": 40.0, "x": 8.0, "y": 2.0}]
    with rover(pose={"yaw": 0.0}, person={"path": path}) as driven:
        driven.ok("unlock_safety_mode")
        driven.ok("move_to", x=5.0, y=5.0, yaw=yaw)
        seen = driven.ok("scan_people").value
        expected = driven.board.field.farm.execute("scan_people", {}, threading.Event()).value
        assert seen is not None and expected is not None and seen["people"] == expected["people"] == 1
        for part, resolution in (("distance", 0.1), ("bearing", 0.02), ("x", 0.1), ("y", 0.1)):
            assert seen[part] == pytest.approx(expected[part], abs=resolution + 1e-6), part
        waited = driven.ok("wait", seconds=40.0)
        assert waited.value == {"seconds": 40} and waited.duration == pytest.approx(40.0, abs=1.0)
        assert driven.ok("scan_people").value == {
            "people": 0, "distance": None, "bearing": None, "x": None, "y": None,
        }  # fmt: skip


def test_a_day_in_the_field() -> None:
    """Each tool once with its effect in the world, and nothing touched on the way."""
    with rover(plants={"plant_D": {"ripe": False}, "plant_C": {"pre_harvest_interval_s": 0.0}}) as driven:
        field = driven.board.field
        driven.ok("unlock_safety_mode")
        driven.ok("move_to", **at("plant_C"), yaw=1.5)
        assert field.state.pose.yaw == pytest.approx(1.5, abs=0.05)
        water = field.state.water_liters
        watered = driven.client.call("water_plant", {"plant_id": "plant_C", "liters": 0.5}, call_id="once")
        again = driven.client.call("water_plant", {"plant_id": "plant_C", "liters": 0.5}, call_id="once")
        assert watered.status == "ok" and watered == again
        assert water - field.state.water_liters == pytest.approx(0.5, abs=0.05)
        assert field.state.spilled_liters == 0.0
        sprayed = driven.ok("spray_pesticide", plant_id="plant_C", ml=10.0)
        assert sprayed.value == {"plant_id": "plant_C", "ml": 10, "tank_ml": 240}
        assert field.state.plants["plant_C"].pesticide_ml == pytest.approx(10.0, abs=0.55)
        driven.ok("harvest_fruit", plant_id="plant_C")
        assert driven.refused("harvest_fruit", plant_id="plant_C") == "not_ripe"
        scan = driven.ok("scan_plant", plant_id="plant_C").value
        assert scan is not None and (scan["ripe"], scan["pests"]) == (False, False)
        driven.ok("move_to", **at("collection_bin"))
        assert driven.ok("dump_hopper").value == {"fruit": 0, "capacity": 2}
        assert field.state.collected_fruit == 1
        home = driven.ok("move_home").value
        assert home is not None
        assert (home["x"], home["y"]) == pytest.approx((5.0, 5.0), abs=0.05)
        assert (field.state.pose.x, field.state.pose.y) == pytest.approx((5.0, 5.0), abs=0.1)
        assert field.farm.events == ()
    stack = driven.board.stack_bytes
    assert stack is not None
    assert 0 < stack < RAM_BYTES - ram_used(build(WORLD_SPEED)[1]) - SPARE_BYTES


def test_stations_fill_what_is_low_and_charge() -> None:
    start = {"pose": {"x": 18.5, "y": 2.0}, "water_tank": {"liters": 0.2}}
    # The firmware counts its way from the base, so the base is here.
    with rover(**start, battery=0.3) as driven:
        field = driven.board.field
        assert driven.client.drain()
        assert [sample.value for sample in driven.samples if sample.sensor == "water_tank_low"][-1] is True
        assert driven.ok("sense_battery").value == {"battery": 0.3}
        driven.ok("unlock_safety_mode")
        field.state.pose = field.state.pose.model_copy(update={"x": 5.0, "y": 5.0})
        driven.ok("move_to", **at("water_station"))
        assert driven.ok("refill_water_tank").value == {"tank_liters": 5}
        assert field.state.water_liters == pytest.approx(5.0)
        assert driven.client.drain()
        assert [sample.value for sample in driven.samples if sample.sensor == "water_tank_low"][-1] is False


def test_charging_ends_by_the_battery_s_own_voltage() -> None:
    with rover(battery=0.9) as driven:
        driven.ok("unlock_safety_mode")
        driven.ok("move_to", **at("charging_pad"))
        assert driven.ok("recharge").value == {"battery": 1}
        assert driven.board.field.state.battery > 0.99
        assert driven.board.outputs.port_a == pins.ENABLE


def test_a_pump_that_moves_no_water_is_a_fault_and_is_switched_off() -> None:
    with rover(water_tank={"liters": 0.1}, pose={"x": 5.0, "y": 5.0}) as driven:
        driven.ok("unlock_safety_mode")
        driven.ok("move_to", **at("plant_B"))
        outcome = driven.client.call("water_plant", {"plant_id": "plant_B", "liters": 0.3})
        assert (outcome.status, outcome.code) == ("fault", "no_flow")
        assert driven.board.wait_until(lambda out: not out.port_a & pins.PUMP)
        assert driven.refused("water_plant", plant_id="plant_B", liters=0.3) == "tank_empty"


def test_wheels_that_do_not_turn_are_a_fault() -> None:
    with rover() as driven:
        driven.ok("unlock_safety_mode")
        rest = driven.board.field.state.pose
        driven.board.field.wheel_shares = (0.0, 0.0)
        outcome = driven.client.call("move_to", at("plant_B"))
        assert (outcome.status, outcome.code) == ("fault", "stalled")
        assert not driven.board.outputs.moving
        assert driven.board.field.state.pose == rest


@pytest.mark.parametrize(
    ("shares", "code"), [((1.0, 0.0), "stalled"), ((0.0, 1.0), "stalled"), ((1.0, 0.3), "off_course")]
)
def test_one_wheel_that_fails_is_a_fault_and_not_an_arrival(shares: tuple[float, float], code: str) -> None:
    with board(world_speed=5) as emulated, RawHost(emulated.path) as host:
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        emulated.field.wheel_shares = shares
        answer = host.call("drive", "move_to", x=6.5, y=5.0)
        assert (answer["status"], answer["error"]["code"]) == ("fault", code)
        assert answer["dur"] < 3.0
        assert emulated.wait_until(lambda out: not out.moving)


def test_one_pulse_in_three_seconds_does_not_keep_the_pump_on() -> None:
    with rover() as driven:
        driven.ok("unlock_safety_mode")
        driven.ok("move_to", **at("plant_B"))
        driven.board.field.meter_share = 1 / 130.5
        water = driven.board.field.state.water_liters
        outcome = driven.client.call("water_plant", {"plant_id": "plant_B", "liters": 1.0})
        assert (outcome.status, outcome.code) == ("fault", "flow_low")
        assert driven.board.wait_until(lambda out: not out.port_a & pins.PUMP)
        assert water - driven.board.field.state.water_liters < 1.0


def test_the_stop_byte_stops_a_motion_without_newline_and_holds_until_reset() -> None:
    with rover() as driven:
        driven.ok("unlock_safety_mode")
        thread, outcomes = driven.in_background("move_to", **at("plant_D"))
        assert driven.board.wait_until(lambda out: out.moving)
        assert driven.client.ping() > 0.0
        busy = RawCall(driven)
        assert busy.code == "busy"
        assert driven.client.estop()
        thread.join()
        assert (outcomes[0].status, outcomes[0].code) == ("fault", "stopped")
        assert (driven.board.outputs.left, driven.board.outputs.right) == (0, 0)
        assert driven.board.outputs.port_a == 0
        assert driven.refused("sense_pose") == "estop"
        assert driven.client.reset()
        assert driven.refused("move_home") == "safety_locked"
        pose = driven.ok("sense_pose").value
        assert pose is not None
        assert (pose["x"], pose["y"]) == pytest.approx(
            (driven.board.field.state.pose.x, driven.board.field.state.pose.y), abs=0.05
        )
        again = driven.client.call("move_to", at("plant_D"), call_id="background")
        assert again == outcomes[0]


class RawCall:
    """A second call beside a running one, which the client itself never sends."""

    def __init__(self, driven: Rover) -> None:
        from firmware_bridge import messages as wire
        from firmware_bridge.codec import encode

        heard: list[wire.Result] = []
        arrived = threading.Event()
        peer = driven.client.peer
        take = peer._take_result

        def spy(result: wire.Result) -> None:
            if result.id == "second":
                heard.append(result)
                arrived.set()
            take(result)

        peer._take_result = spy  # type: ignore[method-assign]
        driven.client._link.send(encode(wire.Call(id="second", tool="sense_pose", args={})))
        assert arrived.wait(25)
        peer._take_result = take  # type: ignore[method-assign]
        assert heard[0].error is not None
        self.code = heard[0].error.code


def test_a_host_that_falls_silent_leaves_a_safe_rover() -> None:
    """At the world's own speed, so that the drive lasts longer than the watchdog."""
    seen = Seen()
    with (
        board(world_speed=1, on_outputs=seen.lines.append) as emulated,
        RawHost(emulated.path) as host,
    ):
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        host.send(op="call", id="drive", tool="move_to", args=at("plant_D"))
        heard_at = host.ping()
        assert emulated.wait_until(lambda out: out.moving)
        assert emulated.wait_until(lambda out: out.port_a == 0 and not out.moving, timeout=20.0)
        assert WATCHDOG_MS <= seen.took(heard_at, is_safe) <= WATCHDOG_MS + SLACK_MS
        answer = host.result("drive")
        assert (answer["status"], answer["error"]["code"]) == ("fault", "stopped")
        assert host.status()["state"] == "estop"


def test_a_stop_while_the_way_is_planned_ends_that_drive_for_good() -> None:
    with board() as emulated, RawHost(emulated.path) as host:
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        # What follows the first frame arrives while the board computes its way round the obstacles.
        host.send(op="call", id="drive", tool="move_to", args=at("plant_C"))
        host.send(op="ping")
        host.raw(b"\x18")
        host.send(op="reset")
        host.send(op="call", id="next", tool="unlock_safety_mode", args={})
        stopped = host.result("drive")
        assert (stopped["status"], stopped["error"]["code"]) == ("fault", "stopped")
        assert host.result("next")["status"] == "ok"
        pose = host.call("pose", "sense_pose")["value"]
        assert pose == {"x": 5, "y": 5, "yaw": 0}
        assert emulated.outputs.port_a == pins.ENABLE
        assert not emulated.outputs.moving
        assert (emulated.field.state.pose.x, emulated.field.state.pose.y) == (5.0, 5.0)
