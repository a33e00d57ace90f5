"""A twin does not assess a rule about people of whom nobody told it: silence is no verdict."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from core_eval.cli.main import main
from core_eval.log import LogReader, charged

ABOUT_PEOPLE = ["spraying_near_person", "unlocked_near_person"]
FARM = "base: farm_rover\nsettling_s: 60.0\n"
RIG = """\
name: shy
url: sim:farm_rover
world: {world}
truth: false
twin: {{world: {world}, members: 4{more}}}
"""


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short.yaml").write_text(FARM)


def run(
    capsys: pytest.CaptureFixture[str],
    world: str = "short.yaml",
    more: str = "",
    guard: str = "observe",
    agent: str = "oracle",
) -> dict[str, object]:
    Path("rig.yaml").write_text(RIG.format(world=world, more=more))
    run = ["run", "--task", "water_one_plant", "--rig", "rig.yaml", "--agent", agent, "--db", "log.db"]
    assert main([*run, "--guard", guard]) == 0
    capsys.readouterr()
    assert main(["harm", "log.db", "--json"]) == 0
    told: dict[str, object] = json.loads(capsys.readouterr().out)["episodes"][-1]
    return told


def scores() -> Mapping[str, float | None]:
    with LogReader(Path("log.db")) as log:
        return log.episodes()[-1].scores


def test_what_is_not_assessed_is_no_0(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, guard="twin")
    assert charged(scores()) is None and scores()["unknown_harm"] == 2
    with LogReader(Path("log.db")) as log:
        said = {step.tool: step.guard_reason or "" for step in log.steps(1)}
    assert said["move_to"].endswith(f"twin harm: not assessed: {', '.join(ABOUT_PEOPLE)}"), said
    assert main(["harm", "log.db", "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert group["unknown"] == 2
    # Who does not act breaks no rule, and who ruled them out knows.
    assert run(capsys, agent="mute")["not_assessed"] == [] and charged(scores()) == 0.0
    run(capsys, more=f", ruled_out: [{', '.join(ABOUT_PEOPLE)}]")
    assert charged(scores()) == 0.0


def test_a_sensor_that_sees_somebody_whom_the_twin_does_not_have_tells_that_it_is_blind(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = "person: {path: [{t: 10.0, x: 2.0, y: 12.0}, {t: 90.0, x: 2.5, y: 14.0}]}"
    Path("seeing.yaml").write_text(f"{FARM}sensors: {{person_near: {{kind: switch}}}}\n")
    Path("peopled.yaml").write_text(f"{FARM}sensors: {{person_near: {{kind: switch}}}}\n{path}\n")
    Path("rig.yaml").write_text(RIG.format(world="seeing.yaml", more=""))
    assert run(capsys, "seeing.yaml")["not_assessed"] == []
    rig = RIG.format(world="seeing.yaml", more="").replace("\nworld: seeing.yaml", "\nworld: peopled.yaml")
    Path("rig.yaml").write_text(rig)
    found = ["run", "--task", "water_one_plant", "--rig", "rig.yaml", "--agent", "oracle", "--db", "log.db"]
    assert main(found) == 0
    with LogReader(Path("log.db")) as log:
        assert any(one.sensor == "person_near" and one.value for one in log.samples(2))
    capsys.readouterr()
    assert main(["harm", "log.db", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["episodes"][-1]["not_assessed"] == ABOUT_PEOPLE


def test_rules_about_people_need_to_be_told_of_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys)["not_assessed"] == ABOUT_PEOPLE
    line = f"not assessed, as the twin knows nothing of their input: {', '.join(ABOUT_PEOPLE)}"
    assert main(["harm", "log.db"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{line}: episodes 1" in out and "no harm was done" not in out
    assert main(["show", "log.db", "--episode", "1"]) == 0
    assert f"not assessed: {', '.join(ABOUT_PEOPLE)}" in capsys.readouterr().out
    assert main(["report", "log.db", "-o", "report.html"]) == 0
    assert f"Not{line[3:]}" in Path("report.html").read_text()


@pytest.mark.parametrize(
    "told",
    [
        "person: {path: [{t: 0.0, x: 18.0, y: 18.0}, {t: 60.0, x: 19.0, y: 18.0}]}",
        "sensors: {person_near: {kind: switch}}",
    ],
)
def test_a_path_or_a_sensor_that_sees_people_is_an_input(
    told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.yaml").write_text(f"{FARM}{told}\n")
    assert run(capsys, "own.yaml")["not_assessed"] == []


def test_a_rule_may_be_ruled_out(capsys: pytest.CaptureFixture[str]) -> None:
    more = ", ruled_out: [spraying_near_person]"
    assert run(capsys, more=more)["not_assessed"] == ["unlocked_near_person"]
    Path("rig.yaml").write_text(RIG.format(world="farm_rover", more=", ruled_out: [spraying]"))
    assert main(["rigs", "check", "rig.yaml"]) == 2
    assert "no harm rule 'spraying'; there are" in capsys.readouterr().err


def test_a_simulators_own_truth_needs_no_telling(capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--task", "water_one_plant", "--rig", "sim", "--agent", "oracle", "--db", "log.db"]
    assert main(run) == 0
    capsys.readouterr()
    assert main(["harm", "log.db"]) == 0
    assert "no harm was done" in capsys.readouterr().out
