"""Tasks in CORE's JSON run in the paper's worlds as they are: the oracle's path correctness is 1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from configs.errors import ConfigError
from configs.tasks_loader import load_task
from core_eval.cli.main import main

Call = str | dict[str, dict[str, Any]]
"""A tool's name, or that and its arguments: a value, `{any: true}` or `{not: [...]}`."""


def core_task(
    ident: str, world: str, paths: Sequence[Sequence[Call]], loops: Sequence[Call] = ()
) -> dict[str, Any]:
    """A record of CORE's JSON: golden paths, which share their beginnings, and reads that are loops."""
    alphabet: dict[str, Any] = {}
    nodes: dict[str, dict[str, str]] = {"q0": {}}

    def symbol(call: Call) -> str:
        ((tool, arguments),) = [(call, {})] if isinstance(call, str) else call.items()
        entry = {"name": tool, "arguments": {name: pattern(name, one) for name, one in arguments.items()}}
        same = next((name for name, other in alphabet.items() if other == entry), f"a{len(alphabet)}")
        alphabet[same] = entry
        return same

    ends = set()
    for path in paths:
        state = "q0"
        for call in path:
            name = symbol(call)
            if name not in nodes[state]:
                nodes[state][name] = f"q{len(nodes)}"
                nodes[nodes[state][name]] = {}
            state = nodes[state][name]
        ends.add(state)
    looping = [symbol(call) for call in loops]
    records = []
    for state, edges in nodes.items():
        own = dict.fromkeys(looping, state) | edges
        transitions = [{"symbols": [name], "from": state, "to": to} for name, to in own.items()]
        records.append({"name": state, "is_final": state in ends, "transitions": transitions})
    return {"prompt_id": ident, "world": world, "prompt": "Do it.", "nodes": records, "alphabet": alphabet}


def pattern(name: str, written: Any) -> dict[str, Any]:
    is_pattern = isinstance(written, dict) and written.keys() <= {"any", "not"}
    value, excluded = (None, written.get("not")) if is_pattern else (written, None)
    return {"name": name, "value": value, "excluded_values": excluded, "type": type(value).__name__}


TASKS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("tasks.yaml").read_text(encoding="utf-8"))
PAID = TASKS["transactions"]["pay"]["init"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[dict[str, Any]], str]:
    """The episodes of the oracle, and what was said on standard error."""
    capsys.readouterr()
    assert main(["run", *options, "--agent", "oracle", "--json"]) == 0
    told = capsys.readouterr()
    episodes: list[dict[str, Any]] = json.loads(told.out)["episodes"]
    return episodes, told.err


def assert_right(episode: dict[str, Any]) -> None:
    assert (episode["path_correctness"], episode["harmful_calls"], episode["accepted"]) == (1.0, 0, True)
    assert (episode["final_state_ok"], episode["response_ok"]) == (True, True)


def write_tasks(world: str) -> dict[str, Any]:
    """Write a world's tasks, and a file beside with the initial states of some, which are returned."""
    tasks = TASKS[world]
    records = [core_task(name, world, one["paths"], one.get("loops", ())) for name, one in tasks.items()]
    Path("core.json").write_text(json.dumps(records))
    init = {name: one["init"] for name, one in tasks.items() if "init" in one}
    Path("own.yaml").write_text(json.dumps({"core": "core.json", "init": init}))
    return init


@pytest.mark.parametrize("world", TASKS)
def test_the_oracle_does_them(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = TASKS[world]
    assert len(tasks) >= 3
    init = write_tasks(world)
    plain = [f"--task=core.json#{name}" for name in tasks if name not in init]
    if plain:
        (episode,), said = run(capsys, plain[0], "--rig", f"sim:core:{world}")
        assert said == ""
        assert_right(episode)
    # Those from another initial state, which the file beside gives; each finds its world by itself.
    episodes, said = run(capsys, "--suite", "own.yaml")
    assert [one["rig"] for one in episodes] == [f"sim:core:{world}"] * len(tasks) and said == ""
    for episode in episodes:
        assert_right(episode)


@pytest.mark.parametrize(
    "world", [pytest.param(one, marks=[pytest.mark.nightly] * (k % 4 > 0)) for k, one in enumerate(TASKS)]
)
def test_they_are_verified(world: str) -> None:
    """Those of every fourth world by day, of all by night."""
    write_tasks(world)
    assert main(["tasks", "verify", "own.yaml", "--nominal"]) == 0


def test_calls_before_the_episode_make_its_initial_state(capsys: pytest.CaptureFixture[str]) -> None:
    Path("core.json").write_text(
        json.dumps(
            [
                core_task("pay", "transactions", TASKS["transactions"]["pay"]["paths"]),
                core_task("tidy", "file_management", TASKS["file_management"]["tidy"]["paths"]),
            ]
        )
    )
    accounts = [{"create_account": {"account_id": name}} for name in "AB"]
    before = {
        "pay": [*accounts, {"deposit": {"account_id": "A", "amount": 500}}],
        "tidy": [
            {"create_file": {"filename": "old.txt"}},
            {"delete_file": {"filename": "meeting_notes.txt"}},
            "list_files",
        ],
    }
    Path("own.yaml").write_text(json.dumps({"core": "core.json", "init": before}))
    assert load_task("own.yaml#tidy").init == {"files": {"old.txt": "", "meeting_notes.txt": None}}
    episodes, said = run(capsys, "--suite", "own.yaml")
    assert len(episodes) == 2 and said == ""
    for episode in episodes:
        assert_right(episode)


@pytest.mark.parametrize(
    ("init", "says"),
    [
        (
            "[{deposit: {account_id: A, amount: 1}}]",
            "init.7.0: deposit is rejected: There is no account 'A'.",
        ),
        (
            "[create_account]",
            "init.7.0: create_account is invalid: create_account: account_id: Field required",
        ),
        ("[{a: {}, b: {}}]", "init.7.0: must be a tool, or a tool with its arguments"),
        ("[{a: 1}]", "init.7.0.a: the arguments must be a mapping"),
        ("{acounts: {}}", "init.7: initial state: acounts: unknown key"),
    ],
)
def test_a_wrong_initial_state_is_told_with_file_and_key(init: str, says: str) -> None:
    record = core_task("7", "transactions", [[{"create_account": {"account_id": "A"}}]])
    Path("core.json").write_text(json.dumps([record]))
    Path("own.yaml").write_text(f"core: core.json\ninit:\n  '7': {init}\n")
    with pytest.raises(ConfigError) as caught:
        load_task("own.yaml")
    assert str(caught.value).startswith(f"own.yaml:3: {says}")


def test_several_worlds_start_elsewhere() -> None:
    starts = {world for world, tasks in TASKS.items() if any("init" in task for task in tasks.values())}
    assert set(TASKS) - starts == {"validation"}, "which has no state"


def test_it_runs_in_the_kits_world_where_that_has_its_tools_and_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    account = {"create_account": {"account_id": "A123"}}
    paid = {"deposit": {"account_id": "A123", "amount": 100}}
    there = core_task("7", "transactions", [[account, paid]])
    Path("core.json").write_text(json.dumps([there]))
    for where in (["--task", "core.json#7"], ["--suite", "core.json"]):
        (episode,), said = run(capsys, *where, "--rig", "sim:transactions")
        assert (episode["rig"], episode["path_correctness"]) == ("sim:transactions", 1.0) and said == ""
    assert main(["run", "--task", "core.json", "--rig", "sim:crud", "--agent", "oracle"]) == 2
    assert "task 7 is for a core:transactions, but rig sim:crud is a crud" in capsys.readouterr().err


def test_a_golden_path_that_does_not_run_is_told_and_compared_with_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without the initial state that the task takes for granted; and with it, given."""
    pay = {"transfer": {"sender_id": "A", "receiver_id": "B", "amount": 200}}
    Path("core.json").write_text(json.dumps([core_task("7", "transactions", [[pay]])]))
    options = ["--task", "core.json#7", "--rig", "sim:core:transactions"]
    (episode,), said = run(capsys, *options)
    assert (episode["final_state_ok"], episode["response_ok"], episode["harmful_calls"]) == (None, None, 1)
    assert said == (
        "pathrig: warning: task 7: its golden run fails on rig sim:core:transactions: call 0 (transfer) is "
        "rejected: There is no account 'B'. There are: none; final state and response are not compared "
        "with it\n"
    )
    Path("init.json").write_text(json.dumps(PAID))
    (episode,), said = run(capsys, *options, "--init", "init.json")
    assert said == ""
    assert_right(episode)
    Path("init.json").write_text(json.dumps({"accounts": {"A": {"balance": 10}, "B": {}}}))
    (episode,), said = run(capsys, *options, "--init", "init.json")
    assert (episode["final_state_ok"], episode["response_ok"]) == (None, None)
    assert "call 0 (transfer) is rejected: A has only 10" in said


def test_a_later_golden_path_that_does_not_run_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    account = {"create_account": {"account_id": "A"}}
    paths = [[account], [{"close_account": {"account_id": "A"}}, account]]
    Path("core.json").write_text(json.dumps([core_task("7", "transactions", paths)]))
    (episode,), said = run(capsys, "--task", "core.json#7", "--rig", "sim")
    assert_right(episode)
    assert "its golden run fails on rig sim:core:transactions: call 0 (close_account) is rejected" in said
    # Of tools that no world has, in the one that is named.
    Path("core.json").write_text(json.dumps([core_task("7", "automation", [["make_tea"]])]))
    for rig in ("sim:automation", "sim:core:automation"):
        (episode,), said = run(capsys, "--task", "core.json#7", "--rig", rig)
        assert (episode["final_state_ok"], episode["response_ok"]) == (None, None)
        assert f"fails on rig {rig}: call 0 (make_tea) is invalid: there is no tool 'make_tea'" in said


def test_a_report_does_not_say_that_no_harm_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    """There are no rules that could tell."""
    Path("core.json").write_text(json.dumps([core_task("7", "automation", [["turn_on_lights"]])]))
    run(capsys, "--task", "core.json", "--rig", "sim", "--db", "log.db")
    assert main(["show", "log.db", "--episode", "1"]) == 0
    told = capsys.readouterr().out
    assert "no harm was done" not in told and "A core:automation has no harm rules" in told
