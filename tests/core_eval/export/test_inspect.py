"""Inspect's logs: the JSON against the log, and the whole read by `inspect_ai.log.read_eval_log`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exported_log import HOSTILE, empty_log, export, exported_log

from core_eval.log import LogReader


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return exported_log(tmp_path / "log.db")


def logs(folder: Path) -> list[Path]:
    """The files of the fixture's two groups: two episodes of a model, one of another agent."""
    found = sorted(folder.iterdir(), key=lambda path: "random" in path.name)
    assert len(found) == 2
    return found


def test_a_log_per_run_task_and_agent(db: Path, tmp_path: Path) -> None:
    first, second = (
        json.loads(path.read_text("utf-8")) for path in logs(export(db, "inspect", tmp_path / "o"))
    )
    assert (first["status"], second["status"]) == ("cancelled", "success")
    assert [(sample["id"], sample["epoch"]) for sample in first["samples"]] == [
        ("water_one_plant", 1),
        ("water_one_plant", 2),
    ]
    assert first["results"]["scores"][0]["metrics"]["mean"]["value"] == 0.1 + 0.2
    assert first["results"]["scores"][0]["unscored_samples"] == 1
    assert second["samples"][0]["limit"] == {"type": "turn", "limit": 40}


def test_an_empty_log_gives_no_file(tmp_path: Path) -> None:
    assert list(export(empty_log(tmp_path / "empty.db"), "inspect", tmp_path / "out").iterdir()) == []


@pytest.mark.interop
def test_inspect_reads_it(db: Path, tmp_path: Path) -> None:
    inspect_log: Any = pytest.importorskip("inspect_ai.log")
    first, second = (inspect_log.read_eval_log(str(p)) for p in logs(export(db, "inspect", tmp_path / "out")))
    assert (first.eval.model, second.eval.model) == ("small-1", "random")
    assert (first.eval.task, first.eval.config.epochs) == ("water_one_plant", 2)
    whole, cut = first.samples
    with LogReader(db) as log:
        steps, turns = log.steps(1), log.turns(1)
    assert whole.messages[0].text == log_prompt(db)
    asked, answered, unread, told, done = whole.messages[1:]
    (call,) = asked.tool_calls
    assert (call.id, call.function, call.arguments) == ("id-0", "water_plant", steps[0].arguments)
    assert [asked.content, unread.content, done.content] == [turn.text for turn in turns.values()]
    assert unread.content == HOSTILE and unread.tool_calls is None
    assert (answered.role, answered.tool_call_id, json.loads(answered.content)) == (
        "tool",
        "id-0",
        {"liters": 1.0},
    )
    assert (told.role, told.content) == ("user", "unreadable: No call.")
    assert whole.scores["path_correctness"].value == 0.1 + 0.2
    assert whole.metadata["scores"] == {"path_correctness": 0.1 + 0.2, "efficiency": None}
    usage = whole.model_usage["small-1"]
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (20, 5, 9)
    assert whole.metadata["harm"][0]["verdict"] == "unobserved"
    assert cut.messages[-1].error.message == "no result"
    assert second.samples[0].limit.type == "turn"


@pytest.mark.interop
def test_inspect_lists_the_folder(db: Path, tmp_path: Path) -> None:
    inspect_log: Any = pytest.importorskip("inspect_ai.log")
    out = export(db, "inspect", tmp_path / "out")
    assert len(inspect_log.list_eval_logs(str(out))) == 2
    for info in inspect_log.list_eval_logs(str(out)):
        # The head alone, as `inspect view` reads it for its list.
        assert inspect_log.read_eval_log(info, header_only=True).eval.task == "water_one_plant"


def log_prompt(db: Path) -> str:
    with LogReader(db) as log:
        return log.episode(1).definition.prompt
