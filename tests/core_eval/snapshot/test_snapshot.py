"""Snapshots: what a rig answered over MQTT is answered again without it, and departures are marked."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from farm_rig import WORLD

from configs.errors import ConfigError
from configs.rigs_loader import load_rig
from core_eval.call_status import CallStatus
from core_eval.cli.main import main
from core_eval.log import EpisodeRow, LogReader, StepRow
from core_eval.report.page.report import html_pages
from core_eval.score.aggregate import load_aggregate
from core_eval.snapshot.device import SnapshotDevice
from core_eval.snapshot.file import load_snapshot, snapshot_text
from core_eval.snapshot.record import record
from devices.outcome import Outcome
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.mqtt.link import MqttPort
from sims.farm_rover.simulator import FarmSimulator

pytestmark = pytest.mark.broker
TASK, SEED = "water_one_plant", 3
OF_THE_HOST = {"wall_seconds", "agent_seconds", "peak_memory", "energy", "energy_above_idle", "twin_steps"}
"""Scores that another run of the same episode need not repeat."""
OTHER = (
    {"name": "unlock_safety_mode", "arguments": {}},
    {"name": "move_to", "arguments": {"x": 3.5, "y": 12.5}},
    {"name": "water_plant", "arguments": {"plant_id": "plant_B", "liters": 4.9}},
    {"name": "sense_pose", "arguments": {}},
    {"name": "lock_safety_mode", "arguments": {}},
)
"""Leaves the golden path at its third call, with too much water."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("snapshots")
    (path / "other.jsonl").write_text("".join(json.dumps(call) + "\n" for call in OTHER))
    return path


def run(db: Path, rig: str, *agents: str, status: int = 0) -> list[EpisodeRow]:
    given = [part for agent in agents for part in ("--agent", agent)]
    given += ["--seed", str(SEED), "--guard", "observe"]
    assert main(["run", "--task", TASK, "--rig", rig, *given, "--db", str(db)]) == status
    with LogReader(db) as reader:
        return reader.episodes()


@pytest.fixture(scope="module")
def recorded(folder: Path, mosquitto_url: str) -> tuple[Path, Path]:
    """The log of a rover at a real broker, and a snapshot of its first episode (the oracle's)."""
    db, rig = folder / "live.db", f"rig-{secrets.token_hex(3)}"
    with DeviceEndpoint(FarmSimulator(WORLD), MqttPort(mosquitto_url, rig)):
        run(db, f"{mosquitto_url}/{rig}", "oracle", f"scripted:{folder / 'other.jsonl'}", "random")
    assert main(["log", "record", f"{db}#1", "-o", str(folder / "rover.json")]) == 0
    return db, folder / "rover.json"


def told(path: Path, episode: int) -> dict[str, Any]:
    """What an episode's log holds, without what only the host knows: its ids and its clock."""
    with LogReader(path) as reader:
        row = reader.episode(episode)
        return {
            "device": (row.device, row.simulated, row.guard, row.status, row.stop_reason, row.stop),
            "definition": row.definition,
            "steps": [_plain(step) for step in reader.steps(episode)],
            "samples": reader.samples(episode),
            # The soil is carried forward in other steps, so its floats agree but for the last digit.
            "truth": [
                replace(truth, call_id=None, state=_rounded(truth.state)) for truth in reader.truth(episode)
            ],
            "harm": [replace(harm, step_id=None) for harm in reader.harm(episode)],
            "deviations": [replace(one, step_id=None) for one in reader.deviations(episode)],
            "scores": {name: value for name, value in row.scores.items() if name not in OF_THE_HOST},
        }


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, 12) if isinstance(value, float) else value


def _plain(step: StepRow) -> StepRow:
    turn = None if step.turn is None else replace(step.turn, seconds=0.0)
    return replace(step, id=0, t_intent=0.0, t_result=0.0, call_id=None, turn=turn)


def test_the_same_agent_finds_the_recorded_episode_bit_for_bit(
    recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    db, snapshot = recorded
    (episode,) = run(tmp_path / "again.db", f"snapshot:{snapshot}", "oracle")
    assert told(tmp_path / "again.db", 1) == told(db, 1)
    assert told(db, 1)["samples"]
    assert len(told(db, 1)["truth"]) == 5
    assert episode.left_record is None
    assert "twin_steps" not in episode.scores


@pytest.mark.parametrize(("agent", "live", "left"), [("scripted", 2, 2), ("random", 3, 0)])
def test_where_the_agent_leaves_the_record_its_simulator_goes_on_exactly(
    recorded: tuple[Path, Path], folder: Path, tmp_path: Path, agent: str, live: int, left: int
) -> None:
    db, snapshot = recorded
    agent = f"scripted:{folder / 'other.jsonl'}" if agent == "scripted" else agent
    (episode,) = run(tmp_path / "other.db", f"snapshot:{snapshot}", agent)
    assert told(tmp_path / "other.db", 1) == told(db, live)
    assert episode.left_record == left
    assert episode.scores["twin_steps"] == len(told(db, live)["steps"]) - left


def test_every_step_from_there_on_is_marked(
    recorded: tuple[Path, Path], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "other.db"
    run(db, f"snapshot:{recorded[1]}", "oracle", f"scripted:{folder / 'other.jsonl'}")
    line = "Left the record of their snapshot: 1 of 2 episodes, steps by the twin: 3; episode 2 (step 2)."
    printed = capsys.readouterr().out
    assert line in " ".join(printed.split())
    assert printed.count("left the record\n") == 1
    assert main(["show", str(db), "--episode", "2"]) == 0
    steps = re.findall(r"^ +\d  .*$", capsys.readouterr().out, re.MULTILINE)
    assert ["by the twin" in step for step in steps] == [False, False, True, True, True]
    assert main(["show", str(db), "--episode", "1"]) == 0
    assert "by the twin" not in capsys.readouterr().out
    assert main(["show", str(db), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["episodes"]
    assert [(row["left_record"], row["twin_steps"]) for row in rows] == [(None, None), (2, 3)]
    assert main(["show", str(db), "--markdown"]) == 0
    assert "steps by the twin: 3" in capsys.readouterr().out
    with LogReader(db) as reader:
        (page,) = (one.text for one in html_pages(reader, load_aggregate(None)))
        (why,) = reader.connection.execute(
            "select json_extract(detail, '$.why') as why from rig_status where state = 'left the record'"
        ).fetchone()
    assert page.count('<span class="tag">by the twin</span>') == 3
    assert "steps by the twin: 3" in page
    assert "no call 2 (water_plant) in place of water_plant: live.db#1" in why


def test_of_several_recordings_the_one_that_goes_on_is_followed(
    recorded: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    db, _ = recorded
    snapshot = tmp_path / "both.json"
    assert main(["log", "record", str(db), "-o", str(snapshot)]) == 0
    agents = ("oracle", f"scripted:{folder / 'other.jsonl'}", "random")
    episodes = run(tmp_path / "again.db", f"snapshot:{snapshot}", *agents)
    assert [episode.left_record for episode in episodes] == [None] * 3
    for number in (1, 2, 3):
        assert told(tmp_path / "again.db", number) == told(db, number)


def test_another_initial_state_was_not_recorded(
    recorded: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["run", "--task", TASK, "--rig", f"snapshot:{recorded[1]}", "--agent", "oracle", "--seed", "4"]
    assert main([*given, "--db", str(tmp_path / "x.db")]) == 3
    assert f"recorded are {TASK} with seed {SEED}" in capfd.readouterr().err


class PhysicalRover(FarmSimulator):
    """A rover that takes no initial state, reports no truth, and has run for a while."""

    reports_truth = False

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        return Outcome(CallStatus.INVALID, code="physical", message="this rig is hardware")


@pytest.fixture(scope="module")
def physical(folder: Path, mosquitto_url: str) -> tuple[Path, Path]:
    """The log of a physical rover with a calibrated twin, and its snapshot."""
    rig, db, name = folder / "rover.yaml", folder / "physical.db", f"rig-{secrets.token_hex(3)}"
    rig.write_text(
        f"name: rover\nurl: {mosquitto_url}/{name}\nguard: observe\n"
        "twin: {world: farm_rover, members: 4, parameters: {water_flow: {value: 1.1, spread: 0.01}}}\n"
    )
    rover = PhysicalRover(WORLD)
    rover.pass_time(500.0)
    with DeviceEndpoint(rover, MqttPort(mosquitto_url, name)):
        run(db, str(rig), "oracle")
    assert main(["log", "record", str(db), "-o", str(folder / "physical.json")]) == 0
    return db, folder / "physical.json"


def test_a_record_without_truth_gives_none_and_its_twin_goes_on(
    physical: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    db, snapshot = physical
    episodes = run(tmp_path / "x.db", f"snapshot:{snapshot}", "oracle", f"scripted:{folder / 'other.jsonl'}")
    assert [episode.left_record for episode in episodes] == [None, 2]
    assert told(tmp_path / "x.db", 1) == told(db, 1)
    with LogReader(tmp_path / "x.db") as reader:
        assert [reader.truth(episode.id) for episode in episodes] == [[], []]
        assert [episode.twin for episode in episodes] == [reader.episode(1).twin] * 2
        steps, telemetry = reader.steps(2), reader.samples(2)
    assert [step.status for step in steps] == ["ok"] * 5
    times = [step.t_device or 0.0 for step in steps]
    assert times == sorted(times)
    assert 500.0 < times[0] < times[-1] < 1000.0
    # The twin's own telemetry, on the record's clock.
    later = [sample.sensor for sample in telemetry if sample.t > times[1]]
    assert "moisture.plant_B" in later


def test_a_record_without_a_twin_ends_where_it_is_left(
    physical: tuple[Path, Path], folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    snapshot = load_snapshot(physical[1])
    alone = [one.model_copy(update={"twin": None}) for one in snapshot.episodes]
    file = tmp_path / "alone.json"
    file.write_text(snapshot_text(snapshot.model_copy(update={"episodes": alone})))
    rig = f"snapshot:{file}"
    (episode,) = run(tmp_path / "x.db", rig, f"scripted:{folder / 'other.jsonl'}", status=3)
    assert (episode.status, episode.left_record, episode.stop) == ("error", 2, "confirmed")
    assert "the record has no twin" in str(episode.error)
    assert "the record has no call 2 (water_plant)" in capfd.readouterr().err
    (whole,) = run(tmp_path / "y.db", rig, "oracle")
    assert whole.status == "completed"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text[: len(text) // 2], "is no snapshot, or damaged: no JSON"),
        (lambda text: text.replace('"liters": 4.5', '"liters": 4.6'), "its checksum does not fit"),
        (lambda text: text.replace('"version": 1', '"version": 9'), "is of version 9"),
        (lambda text: '{"format": "something else"}', "is no snapshot: write one with `pathrig log record`"),
        (lambda text: "\x00\xff", "is no snapshot, or damaged"),
    ],
)
def test_a_damaged_file_is_one_line(
    physical: tuple[Path, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], change: Any, says: str
) -> None:
    file = tmp_path / "damaged.json"
    text = change(physical[1].read_text())
    assert text != physical[1].read_text()
    file.write_text(text)
    given = ["run", "--task", TASK, "--rig", f"snapshot:{file}", "--agent", "oracle"]
    assert main([*given, "--db", str(tmp_path / "x.db")]) == 2
    err = capfd.readouterr().err
    assert says in err
    assert str(file) in err
    assert err.count("\n") == 1


def test_a_rigs_file_may_lay_over_what_the_snapshot_tells(
    physical: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(f"name: mine\nurl: snapshot:{physical[1]}\nguard: block\n")
    rig = load_rig(str(tmp_path / "mine.yaml"))
    assert (rig.device, rig.guard) == ("farm_rover", "block")
    assert rig.twin is not None
    assert rig.twin.parameters["water_flow"].value == 1.1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["no.db"], "no.db: there is no such log"),
        (["physical.db#9"], "there is no episode 9"),
        (["physical.db#one"], "write DB, or DB#EPISODE"),
    ],
)
def test_what_cannot_be_recorded_is_one_line(
    physical: tuple[Path, Path],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    given: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(folder)
    assert main(["log", "record", *given, "-o", str(tmp_path / "x.json")]) == 2
    assert says in capfd.readouterr().err
    assert main(["log", "record", "physical.db", "-o", str(tmp_path / "none" / "x.json")]) == 2
    assert "create it first" in capfd.readouterr().err


def test_a_file_is_not_replaced_unasked(
    physical: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "record", str(physical[0]), "-o", str(physical[1])]) == 2
    assert "exists already" in capfd.readouterr().err
    # Nor the log itself, asked or not.
    before = physical[0].read_bytes()
    assert main(["log", "record", str(physical[0]), "-o", str(physical[0]), "--force"]) == 2
    assert "is an input file" in capfd.readouterr().err
    assert physical[0].read_bytes() == before


def test_episodes_of_different_rigs_are_not_one_snapshot(
    recorded: tuple[Path, Path], physical: tuple[Path, Path]
) -> None:
    with pytest.raises(ConfigError, match="different rigs"):
        record([(recorded[0], 1), (physical[0], 1)])


@pytest.mark.parametrize("truth", [True, False])
def test_a_call_without_an_answer_is_resolved_by_the_recorded_truth(
    recorded: tuple[Path, Path], truth: bool
) -> None:
    snapshot = load_snapshot(recorded[1])
    (episode,) = snapshot.episodes
    unlock, move, *_ = episode.calls
    lost = {"status": CallStatus.FAULT, "code": "timeout", "value": None, "t": None, "duration": None}
    lost |= {"answered": False, "truth": move.truth if truth else None}
    changed = episode.model_copy(update={"calls": [unlock, move.model_copy(update=lost)], "trailing": []})
    device = SnapshotDevice(snapshot.model_copy(update={"episodes": [changed]}))
    assert device.init({}, episode.world_seed).status == CallStatus.OK
    assert device.execute("unlock_safety_mode", {}, Event()).status == CallStatus.OK
    assert device.execute("move_to", {"x": 3.5, "y": 12.5}, Event()).code == "timeout"
    assert device.departure is None
    pose = device.execute("sense_pose", {}, Event()).value
    assert pose is not None
    assert (abs(pose["x"] - 3.5) < 0.5 and abs(pose["y"] - 12.5) < 0.5) is truth
    assert ("taken as not done: call 1 (move_to)" in str(device.departure)) is not truth


def test_a_snapshot_passes_the_test_of_a_rig(recorded: tuple[Path, Path]) -> None:
    assert main(["rigs", "check", f"snapshot:{recorded[1]}"]) == 0


def test_what_a_twin_answered_is_not_recorded_again(
    physical: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    db = tmp_path / "x.db"
    run(db, f"snapshot:{physical[1]}", f"scripted:{folder / 'other.jsonl'}")
    with pytest.raises(ConfigError, match="answered by a twin from step 2 on"):
        record([(db, 1)])


def test_truth_in_the_log_of_a_physical_rig_is_not_recorded(folder: Path, mosquitto_url: str) -> None:
    class Talkative(PhysicalRover):
        reports_truth = True

    db, name = folder / "talkative.db", f"rig-{secrets.token_hex(3)}"
    with DeviceEndpoint(Talkative(WORLD), MqttPort(mosquitto_url, name)):
        run(db, f"{mosquitto_url}/{name}", "oracle")
    with LogReader(db) as reader:
        assert reader.truth(1)
    (episode,) = record([(db, 1)]).episodes
    assert [part.truth for part in (episode, *episode.calls)] == [None] * 5
