"""`pathrig import`: the log that it writes, what it refuses, and what it tells."""

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import foreign_traces as files
import pytest
from exported_log import export, exported_log

from configs.tasks_loader import TASKS_FOLDER
from core_eval.cli import import_log
from core_eval.cli.main import main
from core_eval.log import LogReader

TASKS = """
tasks:
  - id: transactions_1
    world: transactions
    prompt: Pay.
    plan:
      - transfer: {payer: A100, payee: A200, amount: 5}
"""
RELEASED = TASKS_FOLDER / "transactions" / "transactions.yaml"
PAID = {"name": "transfer", "arguments": {"payer": "A100", "payee": "A200", "amount": 5}}
PATHS = (
    "path_correctness", "pc_ktc", "prefix_criticality", "harmful_calls", "harmful_call_rate", "efficiency",
    "path_correctness_hlr", "accepted", "off_path", "refused_writes", "invalid_calls", "faults", "loops",
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_episodes_have_what_the_file_has_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    record = files.chat(
        files.asks(files.call("a", "book", {"n": 1}), files.call("b", "look", {}), content="Both."),
        files.answer("a", "Error: full"),
        files.answer("b", "fine"),
        {"role": "user", "content": "And now?"},
        reward=0.25,
    )
    files.write_lines(Path("c.jsonl"), record)
    assert main(["import", "c.jsonl", "-o", "c.db"]) == 0
    assert "1 of 1 episodes have no task to be scored by" in capsys.readouterr().out
    with LogReader(Path("c.db")) as log:
        (episode,) = log.episodes()
        steps, (said, heard) = log.steps(1), log.messages(1)[-2:]
        assert log.automaton(episode) is None
    assert episode.imported == {"file": "c.jsonl", "format": "openai", "record": 1, "id": "1", "timed": False}
    assert (episode.reward, episode.ended, episode.wall_seconds) == (0.25, None, None)
    assert (said.text, said.k, heard.text, heard.k) == ("Both.", 0, "And now?", 2)
    assert [(s.tool, s.status, s.status_from, s.call_group, s.t_result) for s in steps] == [
        ("book", "rejected", 'text "Error"', 1, None),
        ("look", "ok", "answered", 1, None),
    ]
    scores = dict(episode.scores)
    assert scores.pop("steps") == 2 and scores.pop("reward") == 0.25
    assert set(scores.values()) == {None}, "nothing is made up"
    for verb in (["show", "c.db"], ["show", "c.db", "--episode", "1"], ["report", "c.db", "-o", "c.html"]):
        assert main(verb) == 0
    shown = capsys.readouterr().out
    assert 'by text "Error": Error: full' in shown and "user: And now?" in shown
    assert "whether 1 episode passed is not known" in shown and "calls and statuses only" in shown
    assert main(["score", "--db", "c.db"]) == 0


def test_a_task_scores_its_traces_also_without_an_s(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tasks.yaml").write_text(TASKS)
    other = {**PAID, "arguments": {**PAID["arguments"], "amount": 7}}
    records = [
        {"prompt_id": ident, "calls": calls}
        for ident, calls in (("transactions_1", [PAID]), ("transaction_1", [other]), ("x_1", [PAID]))
    ]
    Path("runs.json").write_text(json.dumps(records))
    assert main(["import", "runs.json", "--tasks", "tasks.yaml", "-o", "r.db"]) == 0
    told = capsys.readouterr().out
    assert "1 traces name their task with or without an s" in told and "1 of 3 episodes have no task" in told
    with LogReader(Path("r.db")) as log:
        rows = log.episodes()
    assert [row.scores.get("accepted") for row in rows] == [1.0, 0.0, None]
    assert [row.task for row in rows] == ["transactions_1", "transactions_1", "x_1"]
    assert main(["compare", "r.db", "r.db"]) == 0
    assert main(["score", "--db", "r.db"]) == 0
    assert "other values" not in capsys.readouterr().err


def test_a_join_that_does_not_fit_stops_and_names_both(capsys: pytest.CaptureFixture[str]) -> None:
    right = [files.simulation(n, str(n), str(n), f"user_of_{n}") for n in range(3)]
    wrong = [{**one, "task_id": str(2 - n)} for n, one in enumerate(right)]
    Path("right.json").write_text(json.dumps(files.tau2(right)))
    Path("wrong.json").write_text(json.dumps(files.tau2(wrong)))
    assert main(["import", "right.json", "-o", "a.db"]) == 0
    capsys.readouterr()
    assert main(["import", "wrong.json", "-o", "b.db"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--join task_id: 33 %; --join reward_info: 100 % (mean of 3)" in line
    assert not Path("b.db").exists()
    assert main(["import", "wrong.json", "--join", "reward_info", "-o", "b.db"]) == 0
    for db in ("a.db", "b.db"):
        with LogReader(Path(db)) as log:
            rows = log.episodes()
        assert [row.task for row in rows] == ["0", "1", "2"]
        assert [row.definition.gold["calls"][0]["arguments"]["user_id"][-1] for row in rows] == [
            "0",
            "1",
            "2",
        ]
    assert main(["import", "wrong.json", "--join", "task_id", "-o", "c.db"]) == 0, "as the user says"
    assert main(["import", "wrong.json", "--join", "id", "-o", "c.db"]) == 2


def test_tasks_of_others_are_not_joined(capsys: pytest.CaptureFixture[str]) -> None:
    plan = TASKS.replace("A100", "savings-of-anna").replace("A200", "rent-account")
    Path("tasks.yaml").write_text(plan)
    files.write_lines(Path("t.jsonl"), {"trace": 1, "task": "transactions_1", "calls": [PAID]})
    given = ["import", "t.jsonl", "--tasks", "tasks.yaml", "-o", "t.db"]
    assert main(given) == 2
    assert (
        "traces and --tasks do not fit: of what a task names, its traces have 0%" in capsys.readouterr().err
    )
    assert main([*given, "--join", "task_id"]) == 0


def test_broken_records_are_named_skipped_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    good = json.dumps(files.chat(files.asks(files.call("a", "look", {})), files.answer("a", "ok")))
    lines = [good, '{"messages": [', '{"messages": [{"role": "bard"}]}', "[]", '{"id": 1}', good]
    Path("c.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    assert main(["import", "c.jsonl.gz", "-o", "c.db", "--json"]) == 1
    captured = capsys.readouterr()
    told = captured.err.splitlines()
    assert [line.split(": ")[1].split(", ")[1] for line in told] == [
        "record 2",
        "record 3",
        "record 4",
        "record 5",
    ]
    assert "messages[0]: 'role' must be one of" in told[1] and all("skipped" in line for line in told)
    facts = json.loads(captured.out)
    assert (facts["episodes"], facts["broken"]) == (2, 4)
    whole = json.dumps(files.tau2([files.simulation(n, "1", "1", "user_of_1") for n in range(5)]))
    Path("cut.json").write_text(whole[: whole.index('"s3"') + 40])
    assert main(["import", "cut.json", "-o", "d.db"]) == 1
    assert "record 4: from here on the file cannot be read: no JSON" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n", "is a Git LFS pointer"),
        (b"", "it is empty"),
        (b"hello", "no JSON: Expecting value at character 0"),
        (b"[1, 2]", "it holds a number where a record must be an object"),
        (b'{"a": 1}', "no known format has these keys: a; name it by --format"),
        (b"PK\x03\x04 no zip", "it is a broken zip file"),
        (b"\xff\xfe\x00", "broken"),
        (b"\x1f\x8b\x08 no gzip", "gzip"),
        (b"[" * 5000, "nested deeper than 100 levels"),
    ],
)
def test_a_file_that_is_none_gets_one_line(
    capsys: pytest.CaptureFixture[str], content: bytes, fault: str
) -> None:
    Path("x.json").write_bytes(content)
    assert main(["import", "x.json", "-o", "x.db"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pathrig: x.json: ") and fault in line
    assert not Path("x.db").exists()


def test_what_cannot_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    files.write_lines(Path("c.jsonl"), files.chat())
    for given, fault in (
        (["none.json"], "none.json: No such file"),
        (["c.jsonl", "--format", "vscode"], "--format vscode: there are auto, core, inspect, openai"),
        (["c.jsonl", "--join", "reward_info"], "--join reward_info: openai has task_id"),
        (["c.jsonl", "--tasks", str(RELEASED)], "its tasks (None) are not in --tasks"),
    ):
        assert main(["import", *given, "-o", "x.db"]) == 2
        assert fault in capsys.readouterr().err


@pytest.mark.parametrize("form", ["openai", "otel", "inspect"])
def test_hostile_text_and_gaps_come_back(form: str) -> None:
    db = exported_log(Path("log.db"))
    written = export(db, form, Path("out"))
    found = [
        [(call.name, call.arguments, call.status) for call in trace.calls]
        for path in (sorted(written.iterdir()) if written.is_dir() else [written])
        for trace in files.read(path)
    ]
    with LogReader(db) as log:
        steps = [
            [(step.tool, step.arguments or {}, step.status) for step in log.steps(ident)]
            for ident in (1, 2, 3)
        ]
    assert sorted(found, key=len) == sorted(steps, key=len)


def test_what_goes_out_comes_back_with_equal_scores(capsys: pytest.CaptureFixture[str]) -> None:
    agents = [word for agent in ("oracle", "random", "decliner") for word in ("--agent", agent)]
    run = [
        "run",
        "--task",
        "withdraw_from_frozen_account",
        "--task",
        "fill_up_rent",
        "--rig",
        "sim:transactions",
    ]
    assert main([*run, *agents, "--db", "a.db"]) == 0

    def paths(db: str) -> list[tuple[Any, ...]]:
        with LogReader(Path(db)) as log:
            return sorted(
                (row.task, row.agent, *(row.scores.get(name) for name in PATHS)) for row in log.episodes()
            )

    mine = paths("a.db")
    assert len({row[2:] for row in mine}) > 3
    for form in ("jsonl", "openai", "otel", "inspect"):
        written = export(Path("a.db"), form, Path(f"x.{form}"))
        given = sorted(map(str, written.iterdir())) if written.is_dir() else [str(written)]
        assert main(["import", *given, "--tasks", str(RELEASED), "-o", f"{form}.db"]) == 0
        assert paths(f"{form}.db") == mine, form
    # An export of this kit has its tasks with it.
    assert main(["import", "x.jsonl", "-o", "own.db"]) == 0
    assert paths("own.db") == mine
    capsys.readouterr()


def test_an_import_that_was_stopped_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = files.chat(files.asks(files.call("a", "book", {"n": 1})), files.answer("a", "fine"), reward=1.0)
    files.write_lines(Path("c.jsonl"), *[record] * 5)
    monkeypatch.setattr(import_log, "TOGETHER", 2)
    # Stopped at the fourth record, of which the third is undone; then at the third of four scorings.
    for name, calls in (("add_trace", 3), ("write_score", 2)):
        with monkeypatch.context() as patched:
            patched.setattr(import_log, name, stopped_after(calls, getattr(import_log, name)))
            assert main(["import", "c.jsonl", "-o", "c.db"]) == 130
    capsys.readouterr()
    assert main(["import", "c.jsonl", "-o", "c.db"]) == 0
    assert "goes on with run 1, which has 5 episodes" in capsys.readouterr().err
    with LogReader(Path("c.db")) as reader:
        assert [(one.imported or {})["record"] for one in reader.episodes()] == [1, 2, 3, 4, 5]
        assert all("steps" in one.scores for one in reader.episodes())
        assert not reader.unfinished_runs()
    with closing(sqlite3.connect("c.db")) as log:
        assert log.execute("SELECT count(*) FROM scoring").fetchone() == (5,)
    # One that ended is not gone on with.
    assert main(["import", "c.jsonl", "-o", "c.db"]) == 0
    with LogReader(Path("c.db")) as reader:
        assert len(reader.runs()) == 2


def stopped_after(calls: int, function: Callable[..., Any]) -> Callable[..., Any]:
    left = iter(range(calls))

    def called(*given: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return function(*given)

    return called
