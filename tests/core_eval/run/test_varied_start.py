"""`run --vary`: one drawn initial state a task and seed, from which the oracle passes without harm."""

import json
from pathlib import Path

import pytest
from bench_rig import BenchRover, on_a_pty
from paths import ROOT

from configs.tasks_loader import load_task
from core_eval.cli.main import main
from core_eval.log import EpisodeRow, LogReader, RunLog

pytestmark = [pytest.mark.broker, pytest.mark.serial]

RUN = ["run", "--task", "water_one_plant", "--db", "log.db", "--vary"]
SIM = [*RUN, "--rig", "sim:farm_rover"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(tmp_path)


def episodes(path: str = "log.db") -> list[EpisodeRow]:
    with LogReader(Path(path)) as reader:
        return reader.episodes()


def test_seeds_differ_and_agents_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SIM, "--agent", "oracle", "--agent", "mutated", "--episodes", "4", "--json"]) == 0
    rows = episodes()
    by_agent = {
        name: {row.seed: row.init for row in rows if row.agent == name} for name in ("oracle", "mutated")
    }
    assert by_agent["oracle"] == by_agent["mutated"]
    starts = [json.dumps(init, sort_keys=True) for init in by_agent["oracle"].values()]
    assert len(set(starts)) == 4
    first = by_agent["oracle"][0]
    assert {"pose", "battery", "plants"} <= first.keys() and first["pose"]["x"] != 5.0
    oracle = [row for row in rows if row.agent == "oracle"]
    assert all(row.scores["path_correctness"] == 1.0 and row.scores["harm_events"] == 0 for row in oracle)
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["agents"]["oracle"]["distinct"] == 4
    (compared,) = summary["comparisons"]
    assert compared["pairs"] == 4


def test_the_simulator_starts_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SIM, "--agent", "oracle", "--seed", "3"]) == 0
    (row,) = episodes()
    with LogReader(Path("log.db")) as reader:
        begun = reader.truth(row.id)[0].state
    assert begun["pose"]["x"] == pytest.approx(row.init["pose"]["x"])
    assert begun["battery"] == pytest.approx(row.init["battery"])


def test_the_users_own_init_and_the_tasks_are_the_middle() -> None:
    Path("init.json").write_text('{"battery": 0.5, "plants": {"plant_C": null}}')
    command = ["run", "--task", "inspect_and_water", "--db", "log.db", "--vary", "--rig", "sim:farm_rover"]
    assert main([*command, "--agent", "oracle", "--init", "init.json"]) == 0
    (row,) = episodes()
    assert 0.3 <= row.init["battery"] <= 0.7
    assert row.init["plants"]["plant_C"] is None
    own = load_task("inspect_and_water").init["plants"]["plant_A"]["moisture"]
    assert abs(row.init["plants"]["plant_A"]["moisture"] - own) <= 0.02


def test_a_resumed_run_draws_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SIM, "--agent", "oracle", "--episodes", "4"]) == 0
    before = [row.init for row in episodes()]
    with RunLog(Path("log.db")) as log:
        log.connection.execute("DELETE FROM episode WHERE id > 2")
        log.connection.execute("UPDATE run SET ended = NULL")
    assert main(["run", "--resume", "--db", "log.db"]) == 0
    assert [row.init for row in episodes()] == before
    assert main(["run", "--resume", "--db", "log.db", "--vary"]) == 2
    assert (
        "leave out --task, --suite, --agent, --set, --init, --vary, --hazards and --rules"
        in capsys.readouterr().err
    )


def own_world(moisture: str) -> str:
    Path("own.yaml").write_text(
        f"base: farm_rover\nvary:\n  plants.plant_B.moisture: {{one_of: {moisture}}}\n"
        "  plants.*.moisture: null\n"
    )
    return "sim:own.yaml"


def test_a_state_from_which_the_oracle_does_harm_is_drawn_again() -> None:
    # 4.5 litres more are too much for soil at 0.40.
    assert main([*RUN, "--rig", own_world("[0.12, 0.40]"), "--agent", "oracle", "--episodes", "8"]) == 0
    rows = episodes()
    assert {row.init["plants"]["plant_B"]["moisture"] for row in rows} == {0.12}
    assert all(row.scores["harm_events"] == 0 for row in rows)


def test_where_no_state_will_do_there_is_one_clear_line_and_no_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*RUN, "--rig", own_world("[0.40]"), "--agent", "oracle"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "from none of 20 states drawn for task water_one_plant, seed 0, does the oracle pass" in said
    assert "narrow `vary` of world own" in said
    with LogReader(Path("log.db")) as reader:
        assert reader.runs() == []


def test_hardware_has_no_state_to_draw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--rig", "farmbot-serial", "--agent", "oracle"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "is hardware" in said and "leave out --vary" in said
    rover = BenchRover()
    with on_a_pty(rover) as url:
        assert main([*RUN, "--rig", url, "--agent", "oracle"]) == 3
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith("pathrig: ") and "leave out --init and --vary" in said
    assert rover.calls == []


@pytest.mark.parametrize(
    ("rig", "task"), [("sim-farm-mqtt", "water_one_plant"), ("sim-arm-serial", "box_to_left_bin")]
)
def test_it_works_over_mqtt_and_serial(rig: str, task: str) -> None:
    command = ["run", "--task", task, "--rig", rig, "--agent", "oracle", "--db", "log.db", "--vary"]
    assert main([*command, "--episodes", "2"]) == 0
    first, second = episodes()
    assert first.init != second.init and first.fingerprint != second.fingerprint
    assert [row.scores["path_correctness"] for row in (first, second)] == [1.0, 1.0]
