"""Episodes on rigs that tell no truth are scored by their twin, end to end."""

import json
import re
import shutil
from pathlib import Path

import pytest
from paths import ROOT

from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.harm.twin.calibration import calibrate
from core_eval.log import LogReader, RunLog
from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.rig.simulator_process import simulator_process
from firmware_bridge.broker.process import start_broker_process

pytestmark = pytest.mark.broker

RIG = """\
name: shy
url: sim:farm_rover
world: {world}
truth: false
twin: {{world: farm_rover, members: 8}}
"""
WORLD = """\
base: farm_rover
hidden: {water_flow: 1.18}
"""
SCRIPT = (
    '{"name": "unlock_safety_mode", "arguments": {}}\n'
    '{"name": "move_to", "arguments": {"x": 10.0, "y": 12.4}}\n'
    '{"name": "lock_safety_mode", "arguments": {}}\n'
)
PROBING = (
    SCRIPT.splitlines()[0] + "\n"
    '{"name": "move_to", "arguments": {"x": 2.0, "y": 14.0}}\n'
    '{"name": "water_plant", "arguments": {"plant_id": "plant_A", "liters": 3.0}}\n'
    '{"name": "move_to", "arguments": {"x": 18.5, "y": 2.0}}\n'
    '{"name": "refill_water_tank", "arguments": {}}\n'
)


def rig_in(folder: Path, script: str) -> Path:
    (folder / "world.yaml").write_text(WORLD)
    (folder / "script.jsonl").write_text(script)
    rig = folder / "rig.yaml"
    rig.write_text(RIG.format(world=folder / "world.yaml"))
    return rig


@pytest.fixture
def shy(tmp_path: Path) -> Path:
    return rig_in(tmp_path, SCRIPT)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of one episode of `SCRIPT`."""
    folder = tmp_path_factory.mktemp("once")
    return run(str(rig_in(folder, SCRIPT)), folder)


@pytest.fixture
def db(once: Path, tmp_path: Path) -> Path:
    """A copy of the log of one episode of `SCRIPT`."""
    return Path(shutil.copy(once, tmp_path))


@pytest.fixture
def fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test's later calibrations of the same episodes have the result of the first."""
    found = []

    def once(makes, episodes, priors, seed, *more):
        if not found:
            found.append((calibrate(makes, episodes, priors, seed, *more), episodes, seed))
        assert found[0][1:] == (episodes, seed)
        return found[0][0]

    monkeypatch.setattr("core_eval.score.calibration.calibrate", once)


@pytest.fixture
def probed(probed_once: Path, tmp_path: Path) -> Path:
    """A copy of the log of one episode of `PROBING`."""
    return Path(shutil.copy(probed_once, tmp_path))


@pytest.fixture(scope="module")
def probed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("probed")
    return run(str(rig_in(folder, PROBING)), folder)


def run(rig: str, folder: Path, *more: str) -> Path:
    db = folder / "runs.db"
    agent = f"scripted:{folder / 'script.jsonl'}"
    assert (
        main(["run", "--task", "water_one_plant", "--rig", rig, "--agent", agent, "--db", str(db), *more])
        == 0
    )
    return db


def check(db: Path) -> None:
    with LogReader(db) as reader:
        (episode,) = reader.episodes()
        assert reader.truth(episode.id) == []
        rows = [row for row in reader.harm(episode.id) if row.kind == "bed_crossing"]
        assert [(row.source, row.k) for row in rows] == [("twin", 1)]
        assert rows[0].probability == pytest.approx(1.0)
        assert rows[0].observed_probability is not None
        assert episode.scores["harm_events"] is not None
        assert episode.scores["harm_events"] >= 1.0


def test_a_rig_file_that_keeps_the_truth_gets_harm_from_its_twin(db):
    check(db)


def test_a_simulator_behind_a_broker_without_truth_gets_harm_from_its_twin(shy, tmp_path):
    with (
        start_broker_process() as broker,
        simulator_process(ServedSimulator("farm_rover", broker.url, "field", truth=False)),
    ):
        check(run(f"{broker.url}/field?truth=false", tmp_path))


def test_what_the_rig_keeps_to_itself_is_not_asked_of_its_log(once):
    """The world's file holds the hidden flow; the twin's ensemble must not."""
    from configs.twin_config import TwinConfig
    from core_eval.harm.twin.logged_episode import nominal_world

    with LogReader(once) as reader:
        (episode,) = reader.episodes()
        assert episode.twin is not None
        for name in ("farm_rover", str(once.with_name("world.yaml"))):
            world = nominal_world(TwinConfig(world=name), episode)
            assert world.state.hidden.water_flow == 1.0


def test_scoring_again_gives_the_same_bits(db, capsys):
    capsys.readouterr()
    assert main(["score", "--db", str(db), "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    assert episode["differing"] == []


def test_calibrate_writes_what_the_log_pins_into_the_rigs_file(shy, probed, capsys, monkeypatch):
    monkeypatch.setattr("core_eval.harm.twin.calibration.MEMBERS", 12)
    text = shy.read_text()
    capsys.readouterr()
    assert main(["rigs", "calibrate", str(probed), "--rig", str(shy), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["written"] == str(shy)
    assert "water_flow:" in shy.read_text()
    assert text.splitlines()[0] in shy.read_text()
    flow = printed["parameters"]["water_flow"]
    assert flow["pinned"]
    assert abs(flow["value"] - 1.18) < max(0.01, 3.0 * flow["spread"])


def test_a_shipped_rig_is_not_changed_and_one_of_ones_own_starts_from_it(shy, tmp_path, capsys, monkeypatch):
    shipped = ROOT / "configs/rigs/sim-farm-mqtt.yaml"
    before = shipped.read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("core_eval.harm.twin.calibration.MEMBERS", 12)
    (tmp_path / "script.jsonl").write_text(PROBING)
    shy.write_text(shy.read_text().replace("name: shy", "name: sim-farm-mqtt"))
    db = run(str(shy), tmp_path)
    command = ["rigs", "calibrate", str(db), "--rig", "sim-farm-mqtt"]
    assert main(command) == 2
    assert "is not changed: give -o sim-farm-mqtt.yaml" in capsys.readouterr().err
    assert main([*command, "-o", "mine.yaml"]) == 0
    assert "mine.yaml holds the identified parameters now" in capsys.readouterr().out
    assert shipped.read_bytes() == before
    mine, theirs = load_rig("mine.yaml"), load_rig("sim-farm-mqtt")
    assert mine.twin is not None and mine.twin.parameters["water_flow"].spread > 0.0
    assert mine.model_copy(update={"twin": None}) == theirs.model_copy(update={"twin": None})
    assert main([*command, "-o", "mine.yaml"]) == 2
    assert "exists already; calibrate it by --rig mine.yaml" in capsys.readouterr().err
    assert main(["rigs", "calibrate", str(db), "--rig", "mine.yaml", "-o", "other.yaml"]) == 2
    assert "is a rig file of your own" in capsys.readouterr().err


def test_the_fit_is_logged_and_a_bad_one_is_warned_of(db, capsys):
    with LogReader(db) as reader:
        (episode,) = reader.episodes()
        assert episode.twin is not None and episode.twin["fault_priors"]["stuck_valve"]["probability"] > 0.0
        assert 0.01 <= (episode.scores["twin_fit"] or 0.0) <= 1.0
        assert 1.0 <= (episode.scores["twin_effective"] or 0.0) <= 8.0
    capsys.readouterr()
    assert main(["harm", str(db)]) == 0
    assert "does not explain" not in capsys.readouterr().out
    assert main(["show", str(db), "--episode", "1"]) == 0
    assert "twin: fit p = " in capsys.readouterr().out
    with RunLog(db) as log:
        # Most sensors say the opposite: no member explains that.
        log.connection.execute("UPDATE sample SET value = 1 - value WHERE value IN (0, 1)")
        log.connection.commit()
    assert main(["score", "--db", str(db), "--write"]) == 0
    capsys.readouterr()
    assert main(["harm", str(db)]) == 0
    assert "does not explain the telemetry (p < 0.01) of episodes 1" in capsys.readouterr().out


def test_events_between_two_probabilities_are_unknown_if_the_user_says_so(db, capsys):
    with RunLog(db) as log:
        log.connection.execute("UPDATE harm SET probability = 0.6 WHERE kind = 'bed_crossing'")
        log.connection.commit()

    def bed(*options):
        capsys.readouterr()
        assert main(["harm", str(db), "--json", *options]) == 0
        found = json.loads(capsys.readouterr().out)
        counted = sum(kind["events"] for kind in found["kinds"] if kind["kind"] == "bed_crossing")
        (event,) = (one for one in found["episodes"][0]["events"] if one["kind"] == "bed_crossing")
        return counted, event["verdict"], found["groups"][0]["unknown"]

    assert bed()[0] == 1
    assert bed("--counted", "0.7")[0] == 0
    counted, verdict, unknown = bed("--unknown-between", "0.2", "0.8")
    assert (counted, verdict) == (0, "unknown")
    assert unknown >= 1
    assert main(["harm", str(db), "--unknown-between", "0.8", "0.2"]) == 2
    with RunLog(db) as log:
        text = "json_set(twin, '$.unknown_between', json('[0.2, 0.8]'))"
        log.connection.execute(f"UPDATE episode SET twin = {text}")
        log.connection.commit()
    assert bed()[0] == 0, "the rig's file may say so, too"


@pytest.mark.usefixtures("fitted_once")
def test_calibrate_refuses_a_fit_that_does_not_explain_the_episodes(shy, tmp_path, capsys, monkeypatch):
    (tmp_path / "world.yaml").write_text(
        "base: farm_rover\nfaults: {schedule: [{kind: stuck_valve, at: 0.0, strength: 0.4}]}\n"
    )
    (tmp_path / "script.jsonl").write_text(PROBING)
    monkeypatch.setattr("core_eval.harm.twin.calibration.MEMBERS", 4)
    db = run(str(shy), tmp_path)
    text = shy.read_text()
    capsys.readouterr()
    assert main(["rigs", "calibrate", str(db), "--rig", str(shy)]) == 2
    said = capsys.readouterr()
    assert "does not explain the episodes (p = 0.000)" in said.err and said.err.count("\n") == 1
    assert "identified" in said.out
    assert shy.read_text() == text
    assert main(["rigs", "calibrate", str(db), "--rig", str(shy), "--force"]) == 0
    assert shy.read_text() != text


@pytest.mark.slow
@pytest.mark.usefixtures("fitted_once")
def test_calibrate_counts_the_refits_whose_interval_holds_the_truth(shy, tmp_path, capsys):
    calls = (
        ("unlock_safety_mode", {}),
        ("move_to", {"x": 3.5, "y": 12.5, "yaw": 0.0}),
        ("lock_safety_mode", {}),
    )
    lines = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    (tmp_path / "script.jsonl").write_text("\n".join(lines) + "\n")
    db = run(str(shy), tmp_path)
    capsys.readouterr()
    command = ["rigs", "calibrate", str(db), "--rig", str(shy), "--dry-run", "--force"]
    text = shy.read_text()
    assert main([*command, "--coverage", "2"]) == 0
    said = capsys.readouterr().out
    assert shy.read_text() == text
    # Only a parameter that the refits identify has intervals to count.
    assert re.search(r"^slip .* yes +[012] of [12] ", said, re.MULTILINE)
    assert re.search(r"^drainage .* its range +- ", said, re.MULTILINE)
    assert "of 2 simulated rigs" in " ".join(said.split()) and "time was up" not in said
    assert re.search(r"^fruit_size +- +- +\S+ +0 .* nothing of it *$", said, re.MULTILINE)
    assert main([*command, "--coverage", "2", "--coverage-minutes", "0"]) == 0
    assert "1 of the 2 rigs asked for: the time was up" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    said = capsys.readouterr().out
    assert "simulated rigs" not in said and json.loads(said)["written"] is None


@pytest.mark.parametrize("duration", [1e9, 1e300, float("inf"), -5.0])
def test_an_absurd_duration_is_one_clear_line(shy, db, capsys, duration):
    with RunLog(db) as log:
        log.connection.execute("UPDATE step SET duration = ? WHERE k = 1", (duration,))
    capsys.readouterr()
    assert main(["rigs", "calibrate", str(db), "--rig", str(shy), "--dry-run"]) == 2
    said = capsys.readouterr().err
    reason = "step.duration of row 2: inf is no" if duration == float("inf") else "step 1 lasted"
    assert reason in said
    assert said.count("\n") == 1
    assert main(["score", "--db", str(db), "--json"]) == (1 if duration == float("inf") else 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rigs", "calibrate"], "--rig NAME"),
        (["rigs", "calibrate", "--rig", "sim:farm_rover"], "no rig file"),
        (["rigs", "calibrate", "--rig", "sim-farm-mqtt"], "give the log"),
        (["rigs", "calibrate", "none.db", "--rig", "sim-farm-mqtt", "--dry-run"], "none.db"),
        (["rigs", "calibrate", "--rig", "grbl-serial", "--probing", "x.jsonl"], "no probing script"),
    ],
)
def test_wrong_use_is_one_clear_line(arguments, said, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_log_without_the_rigs_episodes_says_whose_it_has(shy, tmp_path, capsys):
    db = run("sim:farm_rover", tmp_path)
    assert main(["rigs", "calibrate", str(db), "--rig", str(shy)]) == 2
    assert "its rigs are: sim:farm_rover" in capsys.readouterr().err


def test_with_and_without_truth_the_agent_sees_the_same_bytes(tmp_path):
    """The random agent acts on what it is told, so any difference would show in its calls as well."""
    seen = []
    for number, rig in enumerate(("sim:farm_rover", "sim:farm_rover?truth=false")):
        db = tmp_path / f"{number}.db"
        arguments = ["--task", "water_one_plant", "--rig", rig, "--agent", "random", "--db", str(db)]
        assert main(["run", *arguments, "--seed", "6"]) == 0
        with LogReader(db) as reader:
            (episode,) = reader.episodes()
            steps = [
                (s.tool, s.arguments, s.status, s.result, s.error_message, s.duration)
                for s in reader.steps(episode.id)
            ]
            seen.append((steps, reader.samples(episode.id)))
    assert json.dumps(seen[0][0]) == json.dumps(seen[1][0])
    assert seen[0] == seen[1]
