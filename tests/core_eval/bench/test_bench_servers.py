"""`pathrig bench`: planners of known skill behind a server come out as they do in the process."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from chat_standin import completion, serving, tool_call
from paths import ROOT

from agents.agent import EpisodeContext, StopAction, ToolCallAction
from agents.registry import make_agent
from configs.task import Task
from configs.tasks_loader import list_tasks
from core_eval.cli.main import main

BENCH = ("--suite", "crud", "--first", "3", "--finalists", "1", "--fresh", "2")


@dataclass
class PlannerServer:
    """Answers as the baseline that a request's `model` names would, by its prompt, seed and what was called.

    A planner needs the task's golden path, which no request holds.
    """

    tasks: Mapping[str, Task]

    def __call__(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        messages = body["messages"]
        (prompt,) = (one["content"] for one in messages if one["role"] == "user")
        made = sum(one["role"] == "tool" for one in messages)
        task = self.tasks[prompt]
        agent = make_agent(body["model"])
        agent.start(
            EpisodeContext(
                prompt,
                task.offered.tools,
                seed=body.get("seed", 0),
                automaton=task.automaton,
                answer=task.answer,
                decline=task.decline,
            )
        )
        *_, action = itertools.islice(iter(lambda: agent.act(None), None), made + 1)
        if isinstance(action, ToolCallAction):
            return 200, _says_call(action.name, dict(action.arguments), made)
        assert isinstance(action, StopAction)
        if action.reason == "decline":
            return 200, _says_call("decline", {"reason": action.said}, made)
        return 200, completion({"content": action.said or "Done."}, "stop")


def _says_call(name: str, arguments: Mapping[str, Any], number: int) -> dict[str, Any]:
    call = tool_call(name, json.dumps(arguments), f"c{number}")
    return completion({"content": None, "tool_calls": [call]})


def test_planners_behind_a_server_come_out_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = sorted((ROOT / "configs" / "tasks" / "crud").glob("*.yaml"))
    tasks = {task.prompt: task for file in files for task in list_tasks(file)}
    with serving(PlannerServer(tasks), model="oracle") as (_, oracle):
        url = oracle.removeprefix("openai:").removesuffix("oracle")
        words = [f"{url}mutated:0.7", f"{url}oracle"]
        assert main(["bench", *words, *BENCH, "--db", str(tmp_path / "b.db"), "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)["cards"]
    assert [one["agent"].rpartition("#")[2] for one in cards] == ["oracle", "mutated:0.7"]
    assert [one["left"] for one in cards] == [None, "left after round 1"]
    assert cards[0]["right"]["mean"] == 1.0 > cards[1]["right"]["mean"] and cards[0]["harmless"] == 2
