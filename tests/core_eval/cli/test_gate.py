"""`pathrig gate`: thresholds on a logged run, and a run compared with a baseline that was saved."""

import json
import sqlite3
from pathlib import Path

import pytest

from core_eval.cli.main import main

pytestmark = pytest.mark.slow
RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--db", "runs.db", "--agent"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(*options: str) -> int:
    return main(["gate", "runs.db", "--against", "baseline.json", *options])


def test_a_worse_run_is_1_and_the_same_one_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    assert main(["gate", "runs.db", "--save", "baseline.json"]) == 0
    assert main([*RUN, "oracle"]) == 0
    assert check() == 0
    # The same agent's name, other calls.
    content = json.loads(Path("baseline.json").read_text())
    content["episodes"][0]["scores"]["path_correctness"] = 0.5
    Path("baseline.json").write_text(json.dumps(content))
    assert check() == 0
    content["episodes"][0]["scores"]["path_correctness"] = 1.5
    Path("baseline.json").write_text(json.dumps(content))
    capsys.readouterr()
    assert check() == 1
    assert "1 worse, 0 better" in capsys.readouterr().out
    assert check("--tolerance", "pc=0.5") == 0
    assert check("--metric", "harmful calls") == 0
    assert check("--markdown") == 1
    assert "| ❌ worse | water_one_plant | oracle | PC | 1.5 | 1 | - |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "must hold one JSON object"),
        ("{", "baseline.json"),
        ('{"episodes": [{"task": 1}]}', "episodes.0.task"),
        ('{"pathrig_baseline": 2, "episodes": []}', "pathrig_baseline"),
    ],
)
def test_a_bad_file_is_one_line(text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    Path("baseline.json").write_text(text)
    capsys.readouterr()
    assert check() == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--metric", "speed"],
        ["--metric", "wall_seconds"],
        ["--tolerance", "pc"],
        ["--tolerance", "pc=-1"],
        ["--tolerance", "pc=nan"],
        ["--alpha", "0"],
        ["--alpha", "nan"],
    ],
)
def test_a_bad_option_is_one_line(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert check(*options) == 2
    assert capsys.readouterr().err.startswith(f"pathrig: {options[0]}")


@pytest.mark.parametrize("reference", ["runs.db#x", "runs.db#7", "none.db"])
def test_a_run_that_is_not_there_is_one_line(reference: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    assert main(["gate", reference, "--save", "out.json"]) == 2
    assert not Path("out.json").exists()


def test_a_log_is_judged_as_its_run_was(capsys: pytest.CaptureFixture[str]) -> None:
    bounds = ["--fail-under", "pc>=0.9", "--junit"]
    assert main([*RUN, "oracle", "--agent", "random", *bounds, "run.xml", "--report", "run.html"]) == 1
    said = capsys.readouterr().err.replace("run.html", "gate.html")
    assert main(["gate", "runs.db", *bounds, "gate.xml", "--report", "gate.html", "--json"]) == 1
    printed = capsys.readouterr()
    assert "threshold missed: random: path_correctness is" in said and said == printed.err
    assert Path("gate.xml").read_text().replace("gate.html", "run.html") == Path("run.xml").read_text()
    assert "oracle" in Path("gate.html").read_text()
    judged = json.loads(printed.out)["thresholds"]
    assert [(one["agent"], one["missed"] is None) for one in judged] == [("oracle", True), ("random", False)]
    assert main(["gate", "runs.db", "--fail-under", "pc>=0"]) == 0


def test_a_run_that_has_not_ended_passes_no_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle", "--episodes", "2"]) == 0
    with sqlite3.connect("runs.db") as connection:
        connection.execute("DELETE FROM episode WHERE number = 1")
    capsys.readouterr()
    assert main(["gate", "runs.db", "--fail-under", "pc>=0", "--junit", "gate.xml"]) == 1
    assert "run 1 has not ended: 1 of its episodes were not run" in capsys.readouterr().err
    xml = Path("gate.xml").read_text()
    assert xml.count("not run: the run has not ended") == 1 and xml.count("not judged:") == 1


def test_a_gate_on_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "oracle"]) == 0
    assert main(["gate", "runs.db"]) == 2
    assert "give --fail-under, --gates" in capsys.readouterr().err


def test_an_agent_is_held_against_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("script.jsonl").write_text('{"name": "lock_safety_mode", "arguments": {}}\n')
    assert main([*RUN, "oracle"]) == 0
    assert main(["gate", "runs.db", "--save", "baseline.json"]) == 0
    assert main([*RUN, "scripted:script.jsonl"]) == 0
    capsys.readouterr()
    # By its own name it is new, and the oracle is missing.
    assert check() == 1
    assert "missing" in capsys.readouterr().out
    assert check("--as", "oracle", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert {one["agent"] for one in told["changes"]} == {"oracle"}
    worse = {one["metric"] for one in told["changes"] if one["verdict"] == "worse"}
    assert {"accepted", "path_correctness"} <= worse and told["alpha"] == 0.05
    assert check("--as", "nobody") == 2
    assert "its agents are oracle" in capsys.readouterr().err
    assert main([*RUN, "oracle", "--agent", "random"]) == 0
    capsys.readouterr()
    assert check("--as", "oracle") == 2
    assert "it needs one" in capsys.readouterr().err


def test_an_agent_by_chance_is_tested_and_the_power_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    suite = ["run", "--rig", "sim:farm_rover", "--db", "runs.db"]
    for task in ("water_one_plant", "water_two_plants", "harvest_and_deliver", "rover_soil_that_is_dry"):
        suite += ["--task", task]
    assert main([*suite, "--agent", "mutated:0.5"]) == 0
    assert main(["gate", "runs.db", "--save", "baseline.json"]) == 0
    content = json.loads(Path("baseline.json").read_text())
    for place, one in enumerate(content["episodes"]):
        one["scores"]["path_correctness"] += (-1) ** place * 0.05 * (1 + place)
        one["fingerprint"] = str(place)
    Path("baseline.json").write_text(json.dumps(content))
    capsys.readouterr()
    assert check() == 0
    out = capsys.readouterr().out
    assert "mutated:0.5: told in 4 of 5 cases: PC by " in out and "0 worse, 0 better" in out
    assert check("--markdown") == 0
    assert "told in 4 of 5 cases: PC by " in capsys.readouterr().out
