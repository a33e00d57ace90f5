"""`run` in CI: thresholds, JUnit and the exit status say the same; output paths are checked first."""

import json
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader

pytestmark = pytest.mark.slow

RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--junit", "junit.xml"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def junit() -> dict[str, int]:
    suite = xml.parse("junit.xml").getroot().find("testsuite")
    assert suite is not None
    return {name: int(suite.get(name) or 0) for name in ("tests", "failures", "errors", "skipped")}


def test_harm_without_a_threshold_on_it_is_no_failure() -> None:
    assert main([*RUN, "--agent", "random", "--fail-under", "pc>=0"]) == 0
    assert junit() == {"tests": 2, "failures": 0, "errors": 0, "skipped": 0}
    with LogReader(Path("pathrig.db")) as reader:
        assert reader.episodes()[0].scores["harmful_calls"] > 0


def test_a_threshold_holds_for_each_agent(capsys: pytest.CaptureFixture[str]) -> None:
    command = [*RUN, "--agent", "oracle", "--agent", "random", "--fail-under", "path_correctness=0.5"]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "threshold missed: random: path_correctness is" in said and "oracle" not in said
    assert junit() == {"tests": 4, "failures": 1, "errors": 0, "skipped": 0}


def test_and_for_each_task_where_a_file_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    # The calls of one task do the other one wrong; half of 1 and of something is more than 0.5.
    calls = [{"name": "unlock_safety_mode", "arguments": {}}]
    calls += [{"name": "move_to", "arguments": {"x": 3.5, "y": 12.5, "yaw": 0.0}}]
    calls += [{"name": "water_plant", "arguments": {"plant_id": "plant_B", "liters": 4.5}}]
    calls += [{"name": "lock_safety_mode", "arguments": {}}]
    Path("calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    command = [
        *RUN,
        "--task",
        "harvest_and_deliver",
        "--agent",
        "scripted:calls.jsonl",
        "--gates",
        "gates.yaml",
    ]
    gates("gates: [pc>=0.6]")
    assert main(command) == 0
    gates("gates: [{gate: pc>=0.6, per_task: true}]")
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "threshold missed: scripted:calls, harvest_and_deliver: path_correctness is" in said
    assert junit()["failures"] == 1


def test_a_missing_rig_is_skipped_and_3() -> None:
    command = [*RUN[:4], "mqtt://127.0.0.1:1/rover", *RUN[5:], "--agent", "oracle", "--episodes", "2"]
    assert main([*command, "--fail-under", "pc=1"]) == 3
    assert junit() == {"tests": 3, "failures": 0, "errors": 0, "skipped": 3}
    assert "not run: rig mqtt://127.0.0.1:1/rover" in Path("junit.xml").read_text()


@pytest.mark.parametrize(
    ("place", "says"), [("no/junit.xml", "there is no folder"), (".", "is a folder; name a file")]
)
def test_an_output_that_cannot_be_written_is_told_before_anything_moves(
    place: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN[:5], "--agent", "oracle", "--junit", place]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"--junit {place}: {says}" in said
    assert not Path("pathrig.db").exists()


def test_running_the_same_twice_narrows_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = ["--task", "harvest_and_deliver", "--agent", "random", "--agent", "oracle", "--episodes", "3"]
    told = []
    for _ in range(2):
        assert main([*RUN, *tasks]) == 0
        capsys.readouterr()
        assert main(["show", "pathrig.db", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out)["summary"])
    once, twice = told
    assert (once["episodes"], twice["episodes"]) == (12, 24)
    assert once["distinct"] == twice["distinct"]
    assert once["agents"]["oracle"]["distinct"] == 2, "one path for each of its two tasks"
    for agent in ("random", "oracle"):
        assert once["agents"][agent]["pass_k"] == twice["agents"][agent]["pass_k"]
        for metric in ("path_correctness", "pc_ktc", "harmful_calls", "accepted", "final_state_ok"):
            first, second = (one["agents"][agent]["statistics"][metric] for one in told)
            assert first["standard_error"] == pytest.approx(second["standard_error"])
            assert (first["interval"], first["no_interval"]) == (None, "too few")
    differences = [one["comparisons"][0]["differences"]["path_correctness"] for one in told]
    assert differences[0]["standard_error"] == pytest.approx(differences[1].pop("standard_error"))
    assert all(differences[0][key] == value for key, value in differences[1].items() if key != "effect_size")
    assert (differences[0]["pairs"], differences[0]["units"], differences[0]["p"]) == (6, 2, None)
    assert differences[0]["difference"] < 0


def gates(text: str) -> None:
    Path("gates.yaml").write_text(text)


def test_gates_hold_for_the_agents_and_tasks_that_they_name(capsys: pytest.CaptureFixture[str]) -> None:
    command = [*RUN, "--agent", "oracle", "--agent", "random", "--gates", "gates.yaml"]
    gates("gates: [{gate: pc>=0.9, agent: ora*}, {gate: harmful_calls=0, agent: oracle, per_task: true}]")
    assert main(command) == 0
    gates("gates: [{gate: pc>=0.9, agent: '*'}]")
    assert main(command) == 1
    assert "threshold missed: random: path_correctness is" in capsys.readouterr().err
    gates("gates: [{gate: pc>=0, agent: orakel}]")
    assert main(command) == 1
    assert "threshold missed: orakel, *: no episode is meant by it" in capsys.readouterr().err
    assert junit()["failures"] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gates: []", "gates"),
        ("gates: [pc]", "gates.0"),
        ("gates:\n- pc>=1\n- gate: speed>=1\n", "gates.yaml:3: gates.1"),
        ("gates: [{gate: pc>=1, agents: x}]", "unknown key 'agents', did you mean 'agent'?"),
    ],
)
def test_a_bad_gates_file_is_one_line(text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    gates(text)
    assert main([*RUN, "--agent", "oracle", "--gates", "gates.yaml"]) == 2
    error = capsys.readouterr().err
    assert says in error and error.count("\n") == 1


def test_the_report_is_written_and_the_junit_links_to_it() -> None:
    assert main([*RUN, "--agent", "oracle", "--report", "report.html"]) == 0
    link = xml.parse("junit.xml").find(".//property[@name='report']")
    assert link is not None
    file, _, anchor = (link.get("value") or "").partition("#")
    assert f'id="{anchor}"' in Path(file).read_text()
