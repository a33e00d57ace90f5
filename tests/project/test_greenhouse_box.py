"""The device type of examples/greenhouse_box, without code, on a Tasmota board and on a serial line."""

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from driver_rig import driven, said
from paths import ROOT
from standins.line_box import LineBox
from standins.mqtt_nodes import Tasmota

from configs.device_types import load_device
from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.log import LogReader

pytestmark = [pytest.mark.broker, pytest.mark.serial, pytest.mark.slow]

EXAMPLE = ROOT / "examples" / "greenhouse_box"
TASKS = ("air_the_box", "warm_the_box", "read_then_heat")


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example's folder; the commands run there."""
    folder = tmp_path / "box"
    shutil.copytree(EXAMPLE, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tasmota(mosquitto_url: str) -> Iterator[Tasmota]:
    with Tasmota(mosquitto_url, f"box-{uuid.uuid4().hex[:6]}", relays=2) as node:
        yield node


@pytest.fixture
def serial() -> Iterator[LineBox]:
    with LineBox() as board:
        yield board


def rig_file(folder: Path, name: str, url: str, **more: Any) -> str:
    """The example's rig at another address, with a strong heater."""
    text = yaml.safe_load((folder / f"{name}.yaml").read_text())
    path = folder / f"my-{name}.yaml"
    options = {"heater_kw": 2000.0, "answer_seconds": 1.0}
    path.write_text(yaml.safe_dump({**text, "url": url, "driver_options": options, **more}))
    return path.name


def run(capsys: pytest.CaptureFixture[str], rig: str, *options: str) -> list[dict[str, Any]]:
    """The episodes of a run that ended in order."""
    assert main(["run", "--rig", rig, "--db", "box.db", "--json", *options]) == 0
    episodes: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["episodes"]
    return episodes


def all_tasks() -> list[str]:
    return [part for task in TASKS for part in ("--task", f"tasks.yaml#{task}")]


def test_its_tasks_are_verified_without_a_simulator(box: Path, capsys: pytest.CaptureFixture[str]):
    for options in (
        [],
        ["--static"],
        ["--static", "--rig", "box-mqtt.yaml"],
        ["--static", "--rig", "box-serial.yaml"],
    ):
        assert main(["tasks", "verify", "tasks.yaml", "--json", *options]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [one["task"] for one in found] == list(TASKS)
        assert all(one["paths"] >= 1 and one["mutants"] >= 5 and not one["faults"] for one in found)


def test_the_oracle_does_its_tasks_on_the_tasmota_board(
    box: Path, tasmota: Tasmota, capsys: pytest.CaptureFixture[str]
):
    episodes = run(capsys, rig_file(box, "box-mqtt", tasmota.url), "--agent", "oracle", *all_tasks())
    assert [(one["task"], one["path_correctness"]) for one in episodes] == [(task, 1.0) for task in TASKS]
    assert tasmota.switched == [
        (1, "ON"), (1, "OFF"),  # aired
        (2, "ON"), (2, "OFF"), (1, "ON"),  # warmed, the vent opened
        (1, "OFF"), (2, "ON"), (2, "OFF"),
    ]  # fmt: skip
    assert tasmota.pulse == {2: 113}
    with LogReader(Path("box.db")) as reader:
        shown = [tool["function"]["name"] for tool in reader.episode(1).definition.tools]
        assert shown == ["set_vent", "set_heater", "warm", "read_air"], "the board has no lamp"
        assert ("heater", "on") in [(sample.sensor, sample.value) for sample in reader.samples(2)]
        assert reader.steps(3)[0].result in ({"temperature": 20.0}, {"vent": "shut"})


def test_the_oracle_does_its_tasks_over_serial_lines(
    box: Path, serial: LineBox, capsys: pytest.CaptureFixture[str]
):
    episodes = run(capsys, rig_file(box, "box-serial", serial.url), "--agent", "oracle", *all_tasks())
    assert [(one["task"], one["path_correctness"]) for one in episodes] == [(task, 1.0) for task in TASKS]
    assert [command for command in serial.commands if command.startswith("HEAT ON")] == ["HEAT ON"] * 2
    with LogReader(Path("box.db")) as reader:
        tools = {tool["function"]["name"]: tool["function"] for tool in reader.episode(1).definition.tools}
    assert "set_lamp" in tools, "this board has one"
    energy = tools["warm"]["parameters"]["properties"]["energy"]
    assert energy == {
        "description": "heat to give off; in kJ", "type": "number", "minimum": 1.0, "maximum": 500.0,
    }  # fmt: skip


SCRIPT = [
    {"name": "set_vent", "arguments": {"position": "open"}},
    {"name": "warm", "arguments": {"energy": 100}},
    {"name": "set_vent", "arguments": {"position": "shut"}},
    {"name": "warm", "arguments": {"energy": 250}},
    {"name": "set_lamp", "arguments": {"power": "on"}},
    {"name": "warm", "arguments": {"energy": 600}},
]


def scripted(box: Path) -> list[str]:
    (box / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in SCRIPT))
    return ["--agent", "scripted:calls.jsonl", "--task", "tasks.yaml#warm_the_box"]


def test_the_guard_knows_registers_limits_and_envelope(
    box: Path, tasmota: Tasmota, capsys: pytest.CaptureFixture[str]
):
    rig = rig_file(box, "box-mqtt", tasmota.url, envelope={"warm": {"energy": {"max": 240}}})
    run(capsys, rig, *scripted(box), "--guard", "confirm")
    with LogReader(Path("box.db")) as reader:
        steps = reader.steps(1)
    assert [(step.status, step.error_code) for step in steps] == [
        ("blocked", "guard"),  # nobody approves of an open vent, which the task does not ask for yet
        ("blocked", "guard"),
        ("ok", None),
        ("blocked", "guard"),
        ("invalid", "unknown_tool"),
        ("invalid", "bad_arguments"),
    ]
    assert steps[3].guard_reason is not None and "envelope: warm has energy=250.0" in steps[3].guard_reason


def test_the_driver_refuses_what_the_device_file_forbids(box: Path, serial: LineBox):
    path = Path(rig_file(box, "box-serial", serial.url))
    with driven(path, "greenhouse_box") as rig:
        assert rig.call("read_air", {}, None).value == {"temperature": 18.5}
        assert said(rig.call("set_vent", {"position": "open"}, None)) == ("ok", None)
        refused = rig.call("set_heater", {"power": "on"}, None)
        assert (refused.status, refused.code) == ("rejected", "vent_open")
        assert refused.message == "The vent is open. Shut it before you heat."
        assert said(rig.call("set_vent", {"position": "shut"}, None)) == ("ok", None)
        assert said(rig.call("set_heater", {"power": "on"}, None)) == ("ok", None)
        assert said(rig.call("set_vent", {"position": "open"}, None)) == ("rejected", "heater_on")
        assert said(rig.call("set_vent", {"position": "wide"}, None)) == ("invalid", "bad_arguments")
        assert rig.client.estop()
        assert rig.client.reset()
        assert serial.heater == "OFF"
        # The stop was confirmed, and the file says that it turns the heater off.
        assert said(rig.call("set_vent", {"position": "open"}, None)) == ("ok", None)


def test_show_report_and_harm_say_that_nobody_can_tell_the_harm(
    box: Path, serial: LineBox, capsys: pytest.CaptureFixture[str]
):
    run(capsys, rig_file(box, "box-serial", serial.url), *scripted(box), "--guard", "observe")
    assert main(["harm", "box.db"]) == 0
    told = capsys.readouterr().out
    assert "no harm was done" not in told
    assert "A greenhouse_box has no harm rules" in " ".join(told.split())
    assert main(["show", "box.db", "--episode", "1"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "set_vent" in told and "A greenhouse_box has no harm rules" in told
    assert main(["report", "box.db", "--out", "box.html"]) == 0
    assert "<p>A greenhouse_box has no harm rules" in Path("box.html").read_text()
    with LogReader(Path("box.db")) as reader:
        scores = reader.episode(1).scores
    assert "harm_events" not in scores and scores["harmful_calls"] > 0


def test_a_rig_that_lacks_what_a_task_needs_is_told_before_anything_moves(
    box: Path, tasmota: Tasmota, capsys: pytest.CaptureFixture[str]
):
    light = {"id": "light", "device": "greenhouse_box.yaml", "prompt": "Light."}
    tasks = yaml.safe_load((box / "tasks.yaml").read_text())["tasks"]
    tasks.append({**light, "plan": [{"set_lamp": {"power": "on"}}]})
    (box / "tasks.yaml").write_text(yaml.safe_dump({"tasks": tasks}))
    rig = rig_file(box, "box-mqtt", tasmota.url)
    assert main(["run", "--rig", rig, "--task", "tasks.yaml#light", "--agent", "oracle", "--db", "x.db"]) == 2
    said_ = " ".join(capsys.readouterr().err.split())
    assert "task light cannot be done on rig box-mqtt: its hardware has no set_lamp" in said_
    assert main(["tasks", "verify", "--static", "--rig", rig, "tasks.yaml"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"light (\d+ )+FAILS", out) and "there is no tool 'set_lamp'" in out
    assert main(["tasks", "verify", "--static", "tasks.yaml"]) == 0


def test_a_rig_file_starts_from_the_device_file(box: Path, capsys: pytest.CaptureFixture[str]):
    command = ["rigs", "new", "--name", "mine", "--guard", "block", "--port", "/dev/ttyUSB3"]
    assert main([*command, "--driver", "lines-serial.yaml"]) == 0
    rig = load_rig("mine.yaml")
    assert rig.device is not None and load_device(rig.device).name == "greenhouse_box"
    own = ["--driver", "pathrig-json", "--link", "serial", "--device", "greenhouse_box.yaml"]
    assert main([*command, "own.yaml", *own]) == 0
    loaded = load_rig("own.yaml")
    assert loaded.device is not None and load_device(loaded.device) is load_device(rig.device)
