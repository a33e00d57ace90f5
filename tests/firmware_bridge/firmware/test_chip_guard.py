"""The guard in the rover's firmware: its table over the wire, what it rejects, and what it keeps."""

import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest
from chip_guard import TOOLS_AT, GuardHost, hostile_frames
from conformance_player import load
from firmware_native import compile_rover

from configs.tasks_loader import load_task
from core_eval.cli.main import main
from firmware_bridge.firmware.guard_table import NO_SYMBOL, ChipMode, compile_guard
from firmware_bridge.guard_loader import PIECE_BYTES, code_of, code_of_told

TASK = load_task("water_one_plant")
TABLE = compile_guard(TASK.automaton, TASK.device)
OBSERVING = compile_guard(TASK.automaton, TASK.device, ChipMode.OBSERVE)
KEY = bytes(range(16))
ASKING = load_task("ask_which_plant")
ASKED = compile_guard(ASKING.automaton, ASKING.device)
(ANSWER,) = ASKED.told.values()

pytestmark = [pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"), pytest.mark.firmware]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rover(tmp_path_factory.mktemp("guarded"))


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rover(tmp_path_factory.mktemp("keyed"), f'-DGUARD_KEY="{KEY.hex().upper()}"')


@pytest.fixture
def host(compiled: Path, tmp_path: Path) -> GuardHost:
    return GuardHost(compiled, tmp_path)


def counts(guard: dict[str, Any]) -> dict[str, int]:
    names = (
        "calls",
        "progress",
        "loops",
        "off_path",
        "refused",
        "prevented",
        "invalid",
        "faults",
        "condensed",
    )
    return {name: guard[name] for name in names if guard[name]}


def test_it_rejects_what_the_table_forbids_before_anything_moves(host: GuardHost) -> None:
    assert host.guard() == {"state": "off", "generation": 0, "keyed": False}
    loaded = host.load(TABLE.data)
    assert (loaded["state"], loaded["mode"], loaded["table"], loaded["at"]) == ("on", "block", TABLE.name, 0)
    early = host.call("move_to", x=3.5, y=12.5)
    assert (early["status"], early["error"]["code"], early["guard"]) == ("rejected", "guard", "harmful")
    assert host.call("sense_battery")["guard"] == "loop"
    assert host.call("unlock_safety_mode")["guard"] == "progress"
    there = host.call("move_to", x=3.5, y=12.5)
    assert (there["status"], there["guard"]) == ("ok", "progress")
    assert host.call("water_plant", plant_id="plant_B", liters=9)["error"]["code"] == "guard"
    assert host.rover.switched == 0x80 and host.rover["pumped_liters"] == 0
    assert host.call("water_plant", plant_id="plant_B", liters=4.5)["guard"] == "progress"
    assert host.call("lock_safety_mode")["guard"] == "progress"
    told = host.guard()
    assert counts(told) == {"calls": 7, "progress": 4, "loops": 1, "prevented": 2, "condensed": 6}
    assert told["accepted"] and TABLE.states[told["at"]] in TASK.automaton.accepting
    # 1 0 0 1 0 0: 36 of 63.
    assert told["harm"] == "90"
    assert (told["prefix_criticality"], told["harm_rate"]) == (round(1 - 36 / 63, 4), round(2 / 6, 4))


def test_it_counts_and_lets_pass_where_it_observes(host: GuardHost) -> None:
    host.load(OBSERVING.data)
    assert host.call("unlock_safety_mode")["guard"] == "progress"
    away = host.call("move_to", x=7, y=5)
    assert (away["status"], away["guard"]) == ("ok", "harmful")
    assert host.call("water_plant", plant_id="plant_B", liters=1)["guard"] == "harmful"
    assert host.call("water_plant", plant_id="plant_B", liters=99)["guard"] == "harmful"
    assert host.call("no_such_tool").get("guard") is None
    told = counts(host.guard())
    assert told == {"calls": 5, "progress": 1, "off_path": 1, "refused": 1, "invalid": 2, "condensed": 5}


def test_what_makes_it_safe_always_passes(host: GuardHost) -> None:
    host.load(TABLE.data)
    assert host.call("lock_safety_mode")["status"] == "ok"
    host.call("unlock_safety_mode")
    assert host.call("move_home")["status"] == "ok"
    assert host.say("estop")
    assert [frame["state"] for frame in host.say("reset") if frame["op"] == "status"] == ["online"]


def test_no_table_is_taken_while_a_call_runs(host: GuardHost) -> None:
    host.load(TABLE.data)
    host.call("unlock_safety_mode")
    host.say("call", id="drive", tool="move_to", args={"x": 3.5, "y": 12.5})
    told = host.guard("guard", at=0, data="01")
    assert (told["error"], told["state"], told["table"]) == ("busy", "on", TABLE.name)
    assert host.guard("guard", length=0)["error"] == "busy"


@pytest.mark.parametrize(
    ("piece", "refused"),
    [
        ({"at": 0, "data": "0G"}, "malformed"),
        ({"at": 1050, "data": "00" * 20}, "malformed"),
        ({"at": 0, "data": "0"}, "malformed"),
        ({"data": "01"}, "malformed"),
        ({"length": 1057, "sum": "00000000"}, "malformed"),
        ({"length": 10, "sum": "123"}, "malformed"),
        ({"length": 10, "sum": "00000000"}, "sum"),
    ],
)
def test_a_load_that_fails_leaves_what_was(host: GuardHost, piece: dict[str, Any], refused: str) -> None:
    host.load(TABLE.data)
    host.call("unlock_safety_mode")
    host.settle()
    host.guard("guard", at=0, data="FFFF")
    told = host.guard("guard", **piece)
    assert (told["error"], told["state"], told["table"], told["progress"]) == (refused, "on", TABLE.name, 1)


def test_a_table_of_another_firmware_or_device_is_not_taken(
    host: GuardHost, compiled: Path, tmp_path: Path
) -> None:
    for at in (0, TOOLS_AT):
        other = bytearray(TABLE.data)
        other[at] -= 1
        assert host.load(bytes(other))["error"] == "malformed"
    # What an earlier firmware has left in the EEPROM.
    host.load(TABLE.data)
    host.settle()
    eeprom, at = bytearray(host.rover.eeprom), bytes(host.rover.eeprom).index(TABLE.data)
    eeprom[at] = TABLE.data[0] - 1
    left = zlib.crc32(eeprom[at : at + len(TABLE.data)]).to_bytes(4, "little")
    place = bytes(host.rover.eeprom).index(zlib.crc32(TABLE.data).to_bytes(4, "little"))
    eeprom[place : place + 4] = left
    again = GuardHost(compiled, tmp_path, bytes(eeprom))
    assert again.guard()["state"] == "lost"
    assert again.call("unlock_safety_mode")["error"]["code"] == "guard"


def test_with_a_key_only_its_owner_changes_the_table(keyed: Path, tmp_path: Path) -> None:
    host = GuardHost(keyed, tmp_path)
    assert host.load(TABLE.data)["error"] == "mac"
    assert host.load(TABLE.data, b"x" * 16)["error"] == "mac"
    assert host.guard()["state"] == "off"
    assert host.load(TABLE.data, KEY)["state"] == "on"
    host.settle()
    # A code of an earlier generation, again.
    generation = host.guard()["generation"]
    end = {"length": len(TABLE.data), "sum": TABLE.name, "mac": code_of(TABLE.data, generation, KEY)}
    for at in range(0, len(TABLE.data), PIECE_BYTES):
        host.guard("guard", at=at, data=TABLE.data[at : at + PIECE_BYTES].hex().upper())
    assert host.guard("guard", **end)["error"] == "mac"
    assert host.guard("guard", length=0)["error"] == "mac"
    assert host.guard("guard", length=0, mac=code_of(b"", generation + 1, KEY))["state"] == "off"


def test_a_question_to_a_person_is_told_it_once(host: GuardHost, compiled: Path, tmp_path: Path) -> None:
    host.load(ASKED.data)
    assert host.call("move_to", x=2, y=14)["error"]["code"] == "guard"
    for told, count in ((ANSWER, {"progress": 1}), (NO_SYMBOL, {"progress": 1, "loops": 1})):
        before = host.guard()
        after = host.guard("guard", told=told, calls=before["calls"])
        assert (after["calls"], after["prevented"]) == (before["calls"] + 1, 1)
        assert {name: after[name] for name in count} == count
        # The answer to it was lost, and it comes again.
        again = host.guard("guard", told=told, calls=before["calls"])
        assert again.pop("error") == "calls" and again == after
    host.settle()
    assert GuardHost(compiled, tmp_path, bytes(host.rover.eeprom)).guard() == host.guard()
    assert host.call("unlock_safety_mode")["guard"] == "progress"
    assert host.call("move_to", x=2, y=14)["guard"] == "progress"


@pytest.mark.parametrize("told", [{"told": 255, "calls": 0}, {"told": 0}, {"told": 0, "calls": 1}])
def test_what_is_told_amiss_is_refused(host: GuardHost, told: dict[str, int]) -> None:
    assert host.guard("guard", told=0, calls=0)["error"] == "malformed"
    loaded = host.load(ASKED.data)
    refused = host.guard("guard", **told)
    assert refused.pop("error") == ("malformed" if told["told"] == 255 else "calls") and refused == loaded
    host.call("unlock_safety_mode")
    host.guard("guard", told=ANSWER, calls=1)
    host.say("call", id="drive", tool="move_to", args={"x": 2, "y": 14})
    assert host.guard("guard", told=ANSWER, calls=2)["error"] == "busy"


def test_with_a_key_only_its_owner_tells_it(keyed: Path, tmp_path: Path) -> None:
    host = GuardHost(keyed, tmp_path)
    generation = host.load(ASKED.data, KEY)["generation"]
    mac = code_of_told(ANSWER, 0, generation, KEY)
    for amiss in (
        {},
        {"mac": code_of_told(ANSWER, 0, generation + 1, KEY)},
        {"mac": code_of_told(0, 0, 1, b"x" * 16)},
    ):
        assert host.guard("guard", told=ANSWER, calls=0, **amiss)["error"] == "mac"
    assert host.guard("guard", told=NO_SYMBOL, calls=0, mac=mac)["error"] == "mac"
    assert host.guard("guard", told=ANSWER, calls=0, mac=mac)["progress"] == 1
    assert host.guard("guard", told=ANSWER, calls=1, mac=mac)["error"] == "mac"


def test_with_the_key_it_answers_each_conformance_vector(keyed: Path, tmp_path: Path) -> None:
    host, vectors = GuardHost(keyed, tmp_path), load("guard_frames.json")
    assert bytes.fromhex(vectors["key"]) == KEY
    for vector in vectors["frames"]:
        host.settle()
        said = {"error": None} | host.guard(**vector["message"])
        assert said["keyed"] and said == {**said, "error": None, **vector["guard"]}, vector["name"]


def test_table_and_counts_survive_a_reset_of_the_board(
    host: GuardHost, compiled: Path, tmp_path: Path
) -> None:
    host.load(TABLE.data)
    host.call("unlock_safety_mode")
    host.call("harvest_fruit", plant_id="plant_A")
    host.settle()
    before = host.guard()
    again = GuardHost(compiled, tmp_path, bytes(host.rover.eeprom))
    assert again.guard() == before and before["kept"]
    assert again.call("water_plant", plant_id="plant_B", liters=4.5)["error"]["code"] == "guard"
    # In that state a drive is on the path; the board's own interlock refuses it, as a reset locks the safety.
    assert again.call("move_to", x=3.5, y=12.5)["error"]["code"] == "safety_locked"


def test_a_reset_within_a_call_says_that_the_counts_are_not_the_latest(
    host: GuardHost, compiled: Path, tmp_path: Path
) -> None:
    host.load(TABLE.data)
    host.call("unlock_safety_mode")
    host.settle()
    host.say("call", id="drive", tool="move_to", args={"x": 3.5, "y": 12.5})
    again = GuardHost(compiled, tmp_path, bytes(host.rover.eeprom))
    told = again.guard()
    assert (told["kept"], told["progress"], told["table"]) == (False, 1, TABLE.name)


def test_wherever_the_power_goes_the_guard_is_whole_or_says_so(
    host: GuardHost, compiled: Path, tmp_path: Path
) -> None:
    """Each prefix of the writes of a second load, which takes the place of the first."""
    host.load(OBSERVING.data)
    host.settle()
    first = bytes(host.rover.eeprom)
    host.load(TABLE.data)
    host.call("unlock_safety_mode")
    host.settle()
    writes = host.rover.writes[-2000:]
    states = set()
    for cut in range(0, len(writes), 7):
        eeprom = bytearray(first)
        for at, byte in writes[:cut]:
            eeprom[at] = byte
        told = GuardHost(compiled, tmp_path, bytes(eeprom)).guard()
        states.add((told["state"], told.get("table"), told.get("kept"), told.get("progress")))
    assert ("lost", None, None, None) in states
    whole = {(TABLE.name, True, 1), (TABLE.name, True, 0), (TABLE.name, False, 0), (OBSERVING.name, True, 0)}
    assert {state[1:] for state in states if state[0] == "on"} <= whole | {(OBSERVING.name, False, 0)}


def test_a_linked_table_holds_until_another_one_is_loaded(tmp_path: Path) -> None:
    header = tmp_path / "guard_table.h"
    assert main(["firmware", "guard", "water_one_plant", "-o", str(header)]) == 0
    compiled = compile_rover(tmp_path, f'-DGUARD_TABLE="{header}"')
    host = GuardHost(compiled, tmp_path)
    first = host.guard()
    assert (first["state"], first["table"], first["kept"], first["generation"]) == ("on", TABLE.name, True, 0)
    assert host.call("harvest_fruit", plant_id="plant_A")["error"]["code"] == "guard"
    open_slot = GuardHost(compiled, tmp_path, bytes(host.rover.eeprom)).guard()
    host.settle()
    again = GuardHost(compiled, tmp_path, bytes(host.rover.eeprom))
    assert (open_slot["kept"], again.guard()["kept"], again.guard()["prevented"]) == (False, True, 1)
    assert again.load(OBSERVING.data)["table"] == OBSERVING.name
    again.settle()
    assert GuardHost(compiled, tmp_path, bytes(again.rover.eeprom)).guard()["table"] == OBSERVING.name


FRAMES = 3_000
"""`benchmarks/chip_guard.py` sends a million."""


def test_a_hostile_host_moves_nothing_that_the_table_forbids(keyed: Path, tmp_path: Path) -> None:
    host = GuardHost(keyed, tmp_path)
    host.load(TABLE.data, KEY)
    host.settle()
    overheard = code_of(TABLE.data, host.guard()["generation"], KEY)
    assert hostile_frames(host.rover, TABLE, TASK, FRAMES, 28, overheard) > FRAMES / 10
