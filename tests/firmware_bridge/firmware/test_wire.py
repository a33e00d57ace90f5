"""What is the firmware's own on its end of the wire, on an emulated board; the rest: `tests/conformance`."""

import json
import random
from collections.abc import Iterator

import pytest
from firmware_rig import RawHost, board, crc_line

from sims.farm_rover.emulated_board import EmulatedBoard

pytestmark = pytest.mark.firmware


@pytest.fixture(scope="module")
def running() -> Iterator[EmulatedBoard]:
    with board() as emulated:
        yield emulated


@pytest.fixture
def host(running: EmulatedBoard) -> Iterator[RawHost]:
    with RawHost(running.path) as raw:
        raw.ready()
        yield raw


# First: `running` takes a third of a core for as long as it runs.
def test_pings_at_line_rate_do_not_keep_the_rover_from_its_work() -> None:
    """Timed by the rover's own clock, in its results."""
    with board(world_speed=5) as emulated, RawHost(emulated.path) as host:
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        calm = host.call("calm", "move_to", x=7.0, y=5.0)
        assert calm["status"] == "ok"

        host.send(op="call", id="busy", tool="move_to", args={"x": 9.0, "y": 5.0})
        host.op("ack")
        with host.pings_at_line_rate(longest=10.0):
            acks = 1
            for frame in host.frames():
                acks += frame["op"] == "ack"
                if frame["op"] == "result":
                    break
        assert (frame["id"], frame["status"]) == ("busy", "ok")
        assert frame["dur"] <= 1.2 * calm["dur"]
        assert emulated.field.state.pose.x == pytest.approx(9.0, abs=0.05)
        assert emulated.field.state.pose.y == pytest.approx(5.0, abs=0.05)
        assert acks >= int(frame["dur"] / 5)

        emulated.field.wheel_shares = (0.0, 0.0)
        host.wait_for_quiet()
        host.send(op="call", id="stuck", tool="move_to", args={"x": 7.0, "y": 5.0})
        host.op("ack")
        with host.pings_at_line_rate(longest=10.0):
            stuck = host.result("stuck")
        assert (stuck["error"]["code"], stuck["dur"] < 2.0) == ("stalled", True)


def test_hello_states_what_the_board_is(host: RawHost) -> None:
    status = host.status()
    assert (status["state"], status["device"]) == ("online", "farm_rover")
    assert status["reset"] == "power"
    assert (status["watchdog_ms"], status["max_frame"]) == (2000, 512)


def test_damaged_frames_never_act_and_the_next_one_does(host: RawHost) -> None:
    chance = random.Random(4)
    line = crc_line(json.dumps({"v": 1, "op": "call", "id": "x", "tool": "unlock_safety_mode"}).encode())
    for _ in range(60):
        damaged = bytearray(line)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(damaged) - 1)
            match chance.choice(("flip", "lose", "insert")):
                case "flip":
                    damaged[place] ^= 1 << chance.randrange(7)
                case "lose":
                    del damaged[place]
                case "insert":
                    damaged.insert(place, chance.randrange(256))
        if bytes(damaged) != line:
            host.raw(bytes(damaged).replace(b"\x18", b"?") + b"\n")
    host.send(op="reset")
    locked = host.call("locked", "water_plant", plant_id="plant_A", liters=1)
    assert locked["error"]["code"] == "safety_locked"


def test_the_last_32_answers_are_kept_to_the_byte(host: RawHost) -> None:
    tools = [("get_plant_pose", {"plant_id": "plant_C"}), ("move_to", {"x": 1})]
    answers = {}
    for number in range(32):
        tool, arguments = tools[number % 8 != 0]
        answers[f"kept-{number}"] = host.call(f"kept-{number}", tool, **arguments)
    for call_id, answer in answers.items():
        assert host.call(call_id, "unlock_safety_mode") == answer


def test_ids_have_room_for_46_letters(host: RawHost) -> None:
    assert host.call("x" * 46, "sense_hopper")["status"] == "ok"
    assert host.call("x" * 47, "sense_hopper")["error"]["code"] == "id_too_long"


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("move_to", {"x": 1, "y": "2"}, "move_to: y must be a number."),
        ("move_to", {"x": 1}, "move_to: y is missing."),
        ("move_to", {"x": 1, "y": 1e9}, "move_to: y must be from -1000 to 1000."),
        ("water_plant", {"plant_id": "plant_A", "liters": 0}, "liters must be above 0 and at most 20."),
        ("water_plant", {"plant_id": "plant_A", "liters": 1, "ml": 2}, "it takes plant_id, liters."),
        ("harvest_fruit", {"plant_id": True}, "harvest_fruit: plant_id must be text."),
        ("sense_pose", {"x": 1}, "it takes no arguments"),
    ],
)
def test_bad_arguments_are_named(host: RawHost, tool: str, arguments: dict[str, object], says: str) -> None:
    answer = host.call(f"{tool} {says}"[:40], tool, **arguments)
    assert (answer["status"], answer["error"]["code"]) == ("invalid", "bad_arguments")
    assert says in answer["error"]["message"]


def test_garbage_at_line_rate_does_not_keep_the_rover_from_its_work(host: RawHost) -> None:
    """More than the board takes in one turn of its loop, without a newline."""
    now = host.ping()
    host.raw(b"x" * 3000 + b"\n")
    assert host.call("after garbage", "sense_hopper")["status"] == "ok"
    assert host.ping() - now < 2000
