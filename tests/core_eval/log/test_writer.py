import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest
from episode_start import START
from paths import ROOT, SUPPORT

from core_eval.log import (
    Definition,
    EpisodeLog,
    HarmRow,
    Intent,
    LogReader,
    MachineCost,
    PromptRow,
    RunLog,
    Turn,
    Verdict,
)
from core_eval.log.liveness import ProcessIdentity
from devices.harm import HarmEvent
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Sample, Truth

pytestmark = pytest.mark.broker

EVIDENCE = {"sensor": "none", "t": 1.0, "value": "wet", "counterfactual": "dry", "counterfactual_t": None}
WRITE_AND_HANG = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from episode_start import START
    from core_eval.log import Intent, RunLog, Turn

    log = RunLog(Path(sys.argv[1]))
    episode = log.begin_episode(log.begin_run({}, {}, {}), START)
    for k in range(3):
        episode.intent(Intent(k, "move_home", {}, call_id=f"c{k}"), Turn("go", 10, 5, 2, 0.1))
    print("ready", flush=True)
    time.sleep(60)
    """
)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        run = log.begin_run({"task": ["farm/one"]}, {"pathrig": "0.1.0"}, {"machine": "x"})
        episode = log.begin_episode(run, START)
        step = episode.intent(
            Intent(0, "water_plant", {"plant_id": "plant_A", "liters": 0.1}, "id-1", "allow"),
            Turn("<tool_call>", 100, 60, 20, 0.25),
        )
        episode.sample(Sample("moisture.plant_A", True, 1.5))
        episode.truth(
            Truth(2.0, "id-1", {"moisture": 0.1}, (HarmEvent("over", "plant_A", 0, 1.0, 2.0, 0.5, 0.25),))
        )
        episode.rig_status("device", "online", {"fw": "sim 1"})
        episode.result(
            step,
            Outcome("ok", {"liters": 0.1}, t=45.0, duration=45.0),
            Verdict("harmful", None, "q0", "q0", "off_path"),
        )
        log.write_scores(
            episode.id,
            {"path_correctness": 0.1 + 0.2, "efficiency": None},
            [HarmRow("over", "plant_A", False, 1.0, 2.0, 0.5, 0.25, EVIDENCE, step.id)],
        )
        episode.end("completed", "done")
        log.end_run(run)
    with LogReader(path) as reader:
        (row,) = reader.episodes()
        assert (row.status, row.stop_reason, row.seed, row.init) == ("completed", "done", 7, {"locked": True})
        assert row.definition == START.definition
        assert row.scores == {"path_correctness": 0.1 + 0.2, "efficiency": None}
        (logged,) = reader.steps(row.id)
        assert logged.arguments == {"plant_id": "plant_A", "liters": 0.1}
        assert logged.result == {"liters": 0.1}
        assert logged.turn == Turn("<tool_call>", 100, 60, 20, 0.25)
        assert logged.t_result is not None and logged.t_intent <= logged.t_result
        assert [(s.sensor, s.value, s.t) for s in reader.samples(row.id)] == [("moisture.plant_A", 1, 1.5)]
        (truth,) = reader.truth(row.id)
        assert truth.events[0]["exposure"] == 0.25
        (harm,) = reader.harm(row.id)
        assert (harm.observed, harm.k, harm.evidence) == (False, 0, EVIDENCE)
        told = reader.connection.execute("SELECT tool, status, kind, harm FROM story WHERE episode_id = 1")
        assert told.fetchall() == [("water_plant", "ok", "harmful", "over plant_A (unobserved)")]
        assert reader.unfinished_runs() == []


def test_a_turns_reasoning_and_times_and_the_first_prompt_come_out(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    turn = Turn("<think>Hm.</think>Done.", 9, 3, 5, 2.0, "Hm.", 0.5, 1.5, 0.75)
    prompt = PromptRow(
        [{"role": "system", "content": "Be exact."}], [{"type": "function"}], "<|im_start|>system"
    )
    with RunLog(path) as log:
        run = log.begin_run({}, {}, {})
        for _ in range(2):
            episode = log.begin_episode(run, START)
            episode.prompt(prompt)
            episode.turn(0, turn)
            episode.machine_cost(MachineCost(load_seconds=1.5))
        log.begin_episode(run, START)
    with LogReader(path) as reader:
        assert reader.turns(2) == {0: turn}
        assert reader.machine_cost(2) == MachineCost(load_seconds=1.5)
        assert [reader.prompt(episode) for episode in (1, 2, 3)] == [prompt, prompt, None]
        assert reader.connection.execute("SELECT count(*) FROM prompt").fetchone() == (1,)


def test_a_step_is_told_by_the_columns_of_its_row(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        intent = Intent(3, "water_plant", {"liters": 0.1}, "id-3", "block", "not there")
        step = episode.intent(intent, Turn("go", 10, 5, 2, 0.5))
        outcome = Outcome("rejected", {"liters": 0.0}, "too_far", "Drive there first.", t=45.0, duration=2.5)
        before = time.time()
        episode.result(step, outcome, Verdict("harmful", "water", "q1", "q2", "off_path"))
        log.connection.row_factory = sqlite3.Row
        row = dict(log.connection.execute("SELECT * FROM step").fetchone())
        turn = dict(log.connection.execute("SELECT * FROM turn").fetchone())
    assert row.pop("t_intent") <= before <= row.pop("t_result")
    assert row == {
        "id": step.id, "episode_id": episode.id, "k": 3, "tool": "water_plant", "arguments": '{"liters":0.1}',
        "call_id": "id-3", "guard_action": "block", "guard_reason": "not there",
        "status": "rejected", "kind": "harmful", "symbol": "water", "state_before": "q1", "state_after": "q2",
        "result": '{"liters":0.0}', "error_code": "too_far", "error_message": "Drive there first.",
        "t_device": 45.0, "duration": 2.5, "class": "off_path", "status_from": None, "call_group": None,
    }  # fmt: skip
    assert turn == {
        "episode_id": episode.id, "k": 3, "text": "go",
        "input_tokens": 10, "cached_tokens": 5, "output_tokens": 2, "seconds": 0.5,
            "reasoning": "", "prompt_seconds": None, "writing_seconds": None, "first_token_seconds": None,
    }  # fmt: skip


def test_an_episode_is_told_by_the_columns_of_its_row(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        run = log.begin_run({}, {}, {})
        episode = log.begin_episode(run, replace(START, twin={"members": 8}))
        episode.started_on("robotic_arm", True, "block")
        episode.machine_cost(MachineCost(1e6, 2.5, "rapl"))
        episode.end("error", "RigError", "it burns", StopOutcome.SENT)
        log.end_run(run)
        log.connection.row_factory = sqlite3.Row
        row = dict(log.connection.execute("SELECT * FROM episode").fetchone())
        cost = dict(log.connection.execute("SELECT * FROM machine_cost").fetchone())
        created, ended = tuple(log.connection.execute("SELECT created, ended FROM run").fetchone())
    me = ProcessIdentity.of(os.getpid())
    assert created <= row.pop("started") <= row.pop("ended") <= ended <= created + 60.0
    assert 0.0 <= row.pop("seconds") < 60.0
    assert len(row.pop("fingerprint")) == 64
    assert row == {
        "id": episode.id, "run_id": run, "number": 0, "task": "farm/one", "world": "farm_rover",
        "rig": "sim-farm-mqtt", "device": "robotic_arm", "simulated": 1, "agent": "scripted",
        "scaffold": "none", "seed": 7, "status": "error", "stop_reason": "RigError", "error": "it burns",
        "definition_id": 1, "init": '{"locked":true}', "limits": '{"steps":40}', "guard": "block",
        "scoring": '{"beta":0.5}', "agent_info": '{"model":"none"}', "twin": '{"members":8}', "stop": "sent",
        "pid": me.pid, "process_start": me.start, "boot_id": me.boot_id,
        "prompt_id": None, "calls_made": 0, "left_record": None, "said": None, "template": None,
            "hazards": None, "imported": None, "reward": None,
    }  # fmt: skip
    assert cost == {
        "episode_id": episode.id,
        "peak_memory": 1e6,
        "energy": 2.5,
        "meter": "rapl",
        "load_seconds": None,
    }


def test_what_an_episode_does_not_have_is_null(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        bare = replace(START, guard="block", definition=Definition("Go.", "{}", None, [], None))
        log.begin_episode(log.begin_run({}, {}, {}), bare)
        definition = log.connection.execute("SELECT goal, world_state, answer FROM definition").fetchone()
        begun = log.connection.execute("SELECT guard, device, ended, stop, twin FROM episode").fetchone()
    assert tuple(definition) == (None, None, None)
    assert tuple(begun) == ("block", "farm_rover", None, None, None), "as it was begun"


def test_equal_definitions_are_kept_once(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        run = log.begin_run({}, {}, {})
        for _ in range(3):
            log.begin_episode(run, START).end("completed")
        assert log.connection.execute("SELECT count(*) FROM definition").fetchone() == (1,)


def test_text_that_no_encoding_holds_is_logged_all_the_same(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        step = episode.intent(
            Intent(0, "\ud800", {"x": float("nan"), "y": "\udfff", "z": [float("inf")]}),
            Turn("bad \ud800 text"),
        )
        episode.result(
            step, Outcome("invalid", message="\ud800"), Verdict("harmful", None, "q0", "q0", "off_path")
        )
        (row,) = log.connection.execute("SELECT arguments FROM step").fetchone()
    assert row == '{"x":null,"y":"\\udfff","z":[null]}'


def test_a_running_episode_of_a_live_process_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with RunLog(path) as log:
        log.begin_episode(log.begin_run({}, {}, {}), START)
        with LogReader(path) as reader:
            assert reader.episodes()[0].status == "running"


def test_kill_9_loses_nothing_and_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE_AND_HANG, str(path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{SUPPORT}{os.pathsep}{ROOT}"},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    with LogReader(path) as reader:
        assert reader.episodes()[0].status == "running"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with LogReader(path) as reader:
        (row,) = reader.episodes()
        assert row.status == "aborted"
        steps = reader.steps(row.id)
        assert [step.call_id for step in steps] == ["c0", "c1", "c2"]
        assert all(step.t_result is None for step in steps)
        assert row.ended == steps[-1].t_intent
        assert len(reader.unfinished_runs()) == 1


def an_episode(path: Path) -> tuple[RunLog, EpisodeLog, sqlite3.Connection]:
    """A log being written, an episode of it, and a second connection that sees what is committed."""
    log = RunLog(path)
    return log, log.begin_episode(log.begin_run({}, {}, {}), START), sqlite3.connect(path)


def count(connection: sqlite3.Connection, table: str) -> int:
    (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.rollback()
    return int(rows)


DONE = Outcome("ok", {"liters": 0.1}, t=45.0, duration=45.0)
PROGRESS = Verdict("progress", "a", "q0", "q1", "progress")


def test_a_call_is_two_transactions_and_its_result_brings_its_rows(tmp_path: Path) -> None:
    log, episode, other = an_episode(tmp_path / "log.db")
    episode.rig_status("device", "online", {"fw": "sim 1"})
    said: list[str] = []
    log.connection.set_trace_callback(said.append)
    step = episode.intent(Intent(0, "water_plant", {}, "id-1"), Turn("go"))
    assert said.count("COMMIT") == 1 and (count(other, "step"), count(other, "turn")) == (1, 1)
    said.clear()
    for place in range(5):
        episode.sample(Sample("tank_low", False, float(place)))
    episode.truth(Truth(2.0, "id-1", {"moisture": 0.1}))
    episode.rig_status("device", "online", {"fw": "sim 1"})
    assert said == [], "no transaction of their own"
    episode.result(step, DONE, PROGRESS)
    assert said.count("COMMIT") == 1
    assert (count(other, "sample"), count(other, "truth_row"), count(other, "rig_status")) == (5, 1, 2)
    log.close()
    other.close()


def test_news_of_the_rig_and_the_state_after_init_wait_for_nothing(tmp_path: Path) -> None:
    log, episode, other = an_episode(tmp_path / "log.db")
    episode.sample(Sample("tank_low", False, 0.0))
    episode.truth(Truth(0.0, None, {"moisture": 0.1}))
    assert (count(other, "sample"), count(other, "truth_row")) == (1, 1)
    for state in ("online", "estop", "online"):
        episode.rig_status("device", state, {"fw": "sim 1"})
    assert count(other, "rig_status") == 3
    episode.sample(Sample("tank_low", True, 1.0))
    episode.intent(Intent(0, "water_plant", {}, "id-1"), Turn("go"))
    assert count(other, "sample") == 2, "what came before a call is on file before it"
    log.close()
    other.close()


def test_what_comes_last_is_on_file_at_the_end(tmp_path: Path) -> None:
    log, episode, other = an_episode(tmp_path / "log.db")
    step = episode.intent(Intent(0, "water_plant", {}, "id-1"), Turn("go"))
    episode.result(step, DONE, PROGRESS)
    episode.sample(Sample("tank_low", False, 46.0))
    episode.truth(Truth(46.0, "id-1", {"moisture": 0.2}))
    assert (count(other, "sample"), count(other, "truth_row")) == (0, 0)
    episode.end("completed", "done")
    assert (count(other, "sample"), count(other, "truth_row")) == (1, 1)
    log.close()
    other.close()


def test_an_intent_and_its_turn_are_on_file_together_or_not_at_all(tmp_path: Path) -> None:
    log, episode, other = an_episode(tmp_path / "log.db")
    log.connection.execute("INSERT INTO step (episode_id, k, t_intent) VALUES (?, 0, 1.0)", (episode.id,))
    with pytest.raises(sqlite3.IntegrityError):
        episode.intent(Intent(0, "water_plant", {}, "id-1"), Turn("go"))
    assert count(other, "turn") == 0
    log.close()
    other.close()


def test_rows_of_a_transaction_that_failed_come_with_the_next(tmp_path: Path) -> None:
    log, episode, other = an_episode(tmp_path / "log.db")
    step = episode.intent(Intent(0, "water_plant", {}, "id-1"), Turn("go"))
    episode.sample(Sample("tank_low", False, 1.0))
    states = [{"moisture": 0.1, "pond": None}, {"moisture": 0.2, "pond": None}, {"moisture": 0.2, "pond": 1}]
    episode.truth(Truth(2.0, "id-1", states[0]))
    episode.truth(Truth(3.0, "id-1", states[1]))
    with pytest.raises(sqlite3.IntegrityError):
        episode.result(step, Outcome("no such status"), PROGRESS)  # type: ignore[arg-type]
    assert (count(other, "sample"), count(other, "truth_row")) == (0, 0)
    episode.truth(Truth(4.0, "id-1", states[2]))
    episode.end("error")
    with LogReader(tmp_path / "log.db") as reader:
        assert [row.state for row in reader.truth(episode.id)] == states
        assert len(reader.samples(episode.id)) == 1
    log.close()
    other.close()


def test_samples_of_an_idle_rig_are_on_file_within_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("core_eval.log.pending_rows.time.monotonic", lambda: now)
    log, episode, other = an_episode(tmp_path / "log.db")
    for place in range(3):
        episode.sample(Sample("tank_low", False, float(place)))
    assert count(other, "sample") == 0
    now += 0.51
    episode.sample(Sample("tank_low", False, 3.0))
    assert count(other, "sample") == 4
    for place in range(63):
        episode.sample(Sample("tank_low", False, float(place)))
    assert count(other, "sample") == 4
    episode.sample(Sample("tank_low", False, 63.0))
    assert count(other, "sample") == 68, "nor do more than 64 wait"
    log.close()
    other.close()


def test_a_process_id_that_is_used_again_is_another_process() -> None:
    me = ProcessIdentity.of(os.getpid())
    assert me.alive()
    assert not ProcessIdentity(me.pid, "1", me.boot_id).alive()
    assert not ProcessIdentity(me.pid, me.start, "another boot").alive()


def test_bad_values_are_refused_by_the_tables(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        with pytest.raises(sqlite3.IntegrityError):
            log.connection.execute("UPDATE episode SET status = 'fine'")
        with pytest.raises(sqlite3.IntegrityError):
            log.connection.execute("INSERT INTO score VALUES (999, 'x', 1.0, 999)")
        with pytest.raises(sqlite3.IntegrityError):
            log.connection.execute("INSERT INTO score VALUES (?, 'x', 'text', 1)", (episode.id,))


def test_what_a_twin_tells_of_harm_comes_back(tmp_path: Path) -> None:
    told = HarmRow(
        "over", "plant_A", False, 1.0, 2.0, 0.5, 0.25, None, None,
        source="twin", probability=0.75, probability_error=0.0625, observed_probability=0.125,
        remedy="clamp_dose",
        hidden_at_end=True, peak=1.5, limit_value=1.0, t_record=1.75, trend="rising",
    )  # fmt: skip
    with RunLog(tmp_path / "log.db") as log:
        twin = {"world": "farm_rover", "parameters": {"slip": {"value": 0.05, "spread": 0.01}}, "members": 8}
        episode = log.begin_episode(log.begin_run({}, {}, {}), replace(START, twin=twin))
        log.write_scores(episode.id, {}, [told, replace(told, hidden_at_end=None, t_start=1.5)])
        for wrong in (
            {"source": "guess"},
            {"probability": 1.5},
            {"observed_probability": -0.5},
            {"probability_error": 1.5},
            {"verdict": "seen"},
            {"trend": "up"},
        ):
            with pytest.raises(sqlite3.IntegrityError):
                log.write_scores(episode.id, {}, [replace(told, **wrong)])
    with LogReader(tmp_path / "log.db") as reader:
        assert reader.episode(episode.id).twin == twin
        assert reader.harm(episode.id) == [told, replace(told, hidden_at_end=None, t_start=1.5)]


def test_what_the_host_did_after_an_episode_stands_among_the_statuses_of_its_rig(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.db") as log:
        episode = log.begin_episode(log.begin_run({}, {}, {}), START)
        episode.end("completed")
        log.note(episode.id, "way home", {"calls": 2})
        log.note(episode.id, "left", None)
        rows = log.connection.execute("SELECT episode_id, source, state, detail FROM rig_status").fetchall()
    assert rows == [(episode.id, "host", "way home", '{"calls":2}'), (episode.id, "host", "left", None)]
