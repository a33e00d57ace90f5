"""The firmware's end of the wire, frame by frame, on an emulated board."""

import json
import random
from collections.abc import Iterator

import pytest
from firmware_rig import RawHost, board, crc_line

from sims.farm.emulated_board import EmulatedBoard

BAD_JSON = [
    b'{"op":"ping"',
    b'{"op":"ping",}',
    b'{"op":"ping" "v":1}',
    b'{op:"ping"}',
    b"{'op':'ping'}",
    b'{"op":"ping","a":01}',
    b'{"op":"ping","a":1.}',
    b'{"op":"ping","a":.5}',
    b'{"op":"ping","a":+1}',
    b'{"op":"ping","a":NaN}',
    b'{"op":"ping","a":tru}',
    b'{"op":"ping","a":"\\x41"}',
    b'{"op":"ping","a":"\\u12g4"}',
    b'{"op":"ping","a":"tab\there"}',
    b'{"op":"ping","a":[1,2}',
    b'{"op":"ping"} {}',
    b'{"op":"ping","a":' + b"[" * 9 + b"]" * 9 + b"}",
    b"[]",
    b'"ping"',
    b"42",
]
GOOD_JSON = [
    b'{"op":"ping"}',
    b' { "op" : "ping" } ',
    b'{"op":"\\u0070ing"}',
    b'{"v":1,"op":"ping","more":[1,-2.5e+3,{"a":null,"b":[true,false]},"\\u00e9\\n\\ud83d\\ude00"]}',
    '{"op":"ping","name":"Möhre"}'.encode(),
    b'{"op":"pong","op":"ping"}',
]


@pytest.fixture(scope="module")
def running() -> Iterator[EmulatedBoard]:
    with board() as emulated:
        yield emulated


@pytest.fixture
def host(running: EmulatedBoard) -> Iterator[RawHost]:
    with RawHost(running.path) as raw:
        raw.ready()
        yield raw


def test_hello_states_what_the_board_is(host: RawHost) -> None:
    status = host.status()
    assert (status["state"], status["device"]) == ("online", "farm_rover")
    assert status["reset"] == "power"
    assert (status["watchdog_ms"], status["max_frame"]) == (2000, 512)


def test_what_is_no_json_is_dropped_and_counted(host: RawHost) -> None:
    before = host.status()["dropped"]
    for payload in BAD_JSON:
        host.raw(crc_line(payload))
    assert host.status()["dropped"] == before + len(BAD_JSON)


def test_what_is_json_is_read(host: RawHost) -> None:
    before = host.status()["dropped"]
    for payload in GOOD_JSON:
        host.raw(crc_line(payload))
        host.op("pong")
    assert host.status()["dropped"] == before


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


def test_an_overlong_line_is_dropped_whole(host: RawHost) -> None:
    before = host.status()["dropped"]
    host.raw(crc_line(json.dumps({"op": "ping", "fill": "x" * 3000}).encode()))
    assert host.status()["dropped"] == before + 1
    exact = json.dumps({"op": "ping", "fill": ""}).encode()
    fitting = exact[:-2] + b"x" * (512 - len(exact) - 10) + exact[-2:]
    assert len(crc_line(fitting)) == 512
    host.raw(crc_line(fitting))
    host.op("pong")


def test_carriage_returns_and_empty_lines_do_no_harm(host: RawHost) -> None:
    before = host.status()["dropped"]
    host.raw(b"\n\r\n" + crc_line(b'{"op":"ping"}').replace(b"\n", b"\r\n"))
    host.op("pong")
    assert host.status()["dropped"] == before


def test_the_last_32_answers_are_kept_to_the_byte(host: RawHost) -> None:
    tools = [("get_plant_pose", {"plant_id": "plant_C"}), ("move_to", {"x": 1})]
    answers = {}
    for number in range(32):
        tool, arguments = tools[number % 8 != 0]
        answers[f"kept-{number}"] = host.call(f"kept-{number}", tool, **arguments)
    for call_id, answer in answers.items():
        assert host.call(call_id, "unlock_safety_mode") == answer


def test_ids_come_back_as_they_are(host: RawHost) -> None:
    assert host.call(7, "sense_hopper")["id"] == 7
    assert host.call('a"\\b é', "sense_hopper")["id"] == 'a"\\b é'
    assert host.call("x" * 46, "sense_hopper")["status"] == "ok"
    assert host.call("x" * 47, "sense_hopper")["error"]["code"] == "id_too_long"
    host.send(op="call", tool="sense_hopper", args={})
    assert host.call("after", "sense_hopper")["status"] == "ok"


def test_malformed_calls_are_invalid(host: RawHost) -> None:
    host.send(op="call", id="m1", tool=3)
    host.send(op="call", id="m2", tool="sense_pose", args=[])
    host.send(op="call", id="m3", tool="sense_pose", not_after="soon")
    for call_id in ("m1", "m2", "m3"):
        answer = host.result(call_id)
        assert (answer["status"], answer["error"]["code"]) == ("invalid", "malformed")


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


def test_a_call_after_its_deadline_is_late_and_not_done(host: RawHost) -> None:
    now = host.ping()
    host.send(op="call", id="late", tool="unlock_safety_mode", args={}, not_after=now - 1)
    answer = host.result("late")
    assert (answer["status"], answer["error"]["code"]) == ("fault", "late")
    assert host.call("still locked", "move_home")["error"]["code"] == "safety_locked"
    host.send(op="call", id="in time", tool="sense_hopper", args={}, not_after=now + 60_000.5)
    assert host.result("in time")["status"] == "ok"


def test_the_stop_byte_in_the_middle_of_a_frame_stops_and_the_frame_still_counts(host: RawHost) -> None:
    line = crc_line(b'{"op":"ping"}')
    host.raw(line[:9] + b"\x18" + line[9:])
    host.op("pong")
    assert host.status()["state"] == "estop"
    assert host.call("stopped", "sense_pose")["error"]["code"] == "estop"


def test_a_reset_that_was_sent_before_the_stop_does_not_undo_it(host: RawHost) -> None:
    reset = crc_line(b'{"op":"reset"}')
    host.raw(reset[:5] + b"\x18" + reset[5:])
    assert host.status()["state"] == "estop"
    host.raw(reset * 3 + b"\x18")
    assert host.status()["state"] == "estop"
    host.raw(reset)
    assert host.status()["state"] == "online"


def test_init_is_invalid_on_a_physical_device(host: RawHost) -> None:
    host.send(op="init", id="i", state={}, seed=0)
    answer = host.result("i")
    assert (answer["status"], answer["error"]["code"]) == ("invalid", "no_simulator")


def test_pings_at_line_rate_do_not_keep_the_rover_from_its_work() -> None:
    """Timed by the rover's own clock, in its results."""
    with board(world_speed=5) as emulated, RawHost(emulated.path) as host:
        host.ready()
        assert host.call("u", "unlock_safety_mode")["status"] == "ok"
        calm = host.call("calm", "move_to", x=7.0, y=5.0)
        assert calm["status"] == "ok"

        host.send(op="call", id="busy", tool="move_to", args={"x": 9.0, "y": 5.0})
        with host.pings_at_line_rate(longest=10.0):
            acks = 0
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
        host.send(op="call", id="stuck", tool="move_to", args={"x": 7.0, "y": 5.0})
        with host.pings_at_line_rate(longest=10.0):
            stuck = host.result("stuck")
        assert (stuck["error"]["code"], stuck["dur"] < 2.0) == ("stalled", True)


def test_garbage_at_line_rate_does_not_keep_the_rover_from_its_work(host: RawHost) -> None:
    """More than the board takes in one turn of its loop, without a newline."""
    now = host.ping()
    host.raw(b"x" * 3000 + b"\n")
    assert host.call("after garbage", "sense_hopper")["status"] == "ok"
    assert host.ping() - now < 2000
