"""The tool `ask`: a step like any other, offered where a task has an operator, and never sent to the rig."""

from __future__ import annotations

import json
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest
from chat_standin import completion, serving, tool_call
from farm_rig import WORLD as FIELD
from played_episode import Player
from tapped_rig import FieldRover, tapped, tools_on

from agents.agent import ToolCallAction
from configs.rig_config import RigConfig
from configs.tasks_loader import TASKS_FOLDER, Task, list_tasks, load_task
from core_eval.cli.main import main
from core_eval.log import LogReader, RunLog, ignore
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import StopSignals
from core_eval.run.episode import Episode
from core_eval.run.episode_start import Assignment
from core_eval.score.scoring import score_episode
from core_eval.verify.task import verify_task

TASKS = """tasks:
  - id: pay
    world: transactions
    prompt: Please pay my bill to A100 from checking.
    operator:
      topics:
        amount: {asked: [how much, amount, how high], says: 40 euros.}
    plan:
      - look: {fact: 40 euros, by: [ask]}
      - transfer: {from_account: checking, to_account: A100, amount: 40}
    goal: {accounts.A100.balance: 120}
  - id: no_account
    world: transactions
    prompt: Send my landlord the rent.
    operator:
      topics:
        payee: {asked: [who, which account, landlord], says: "His account is X999, 400 euros."}
    answer: decline
    reason: missing
    plan: [{look: {fact: X999, by: [ask]}}]
    found_by: [{look: {fact: "no account 'X999'", by: [{check_balance: {account_id: X999}}]}}]
  - id: water
    world: farm_rover
    prompt: Unlock the safety, or leave it. Ask me.
    operator:
      topics:
        lock: {asked: [unlock], says: "Yes, unlock it."}
    plan: [{look: {fact: "Yes", by: [ask]}}, unlock_safety_mode]
"""
PAY = {"from_account": "checking", "to_account": "A100", "amount": 40}
QUESTION = "Happy to. How high is the bill?"


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tasks.yaml").write_text(TASKS)


def ran(task: str, agent: str, *more: str) -> dict[str, object]:
    """The passed flag and the scores of a run's one episode, which are the same when it is scored again."""
    assert main(["run", "--task", f"tasks.yaml#{task}", "--agent", agent, "--db", "own.db", *more]) == 0
    with LogReader(Path("own.db")) as reader:
        episode = reader.episodes()[-1]
        again = score_episode(reader, episode.id)
        assert again is not None
        assert {name: episode.scores[name] for name in again.scores} == again.scores
    return dict(episode.scores)


@pytest.mark.parametrize("task", ["pay", "no_account"])
def test_the_oracle_asks(task: str) -> None:
    scores = ran(task, "oracle", "--rig", "sim")
    assert (scores["accepted"], scores["path_correctness"], scores["efficiency"]) == (1.0, 1.0, 1.0)
    with LogReader(Path("own.db")) as reader:
        asked = reader.steps(1)[0]
        tools = [tool["function"]["name"] for tool in reader.episode(1).definition.tools]
    assert (asked.tool, asked.status, asked.kind, asked.call_id) == ("ask", "ok", "progress", None)
    assert tools[-1] == "ask"


def test_the_final_state_and_the_responses_are_compared_without_the_questions() -> None:
    scores = ran("pay", "oracle", "--rig", "sim")
    assert (scores["final_state_ok"], scores["response_ok"], scores["goal_met"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("task", "reason"), [("pay", "missing"), ("no_account", "missing")])
def test_who_does_not_ask_does_not_pass(task: str, reason: str) -> None:
    assert ran(task, f"decliner:{reason}", "--rig", "sim")["accepted"] == 0.0


def test_an_answer_that_does_not_tell_the_fact_is_a_loop() -> None:
    calls = [{"name": "ask", "arguments": {"question": question}} for question in ("When?", QUESTION)]
    Path("script.jsonl").write_text(
        "\n".join(map(json.dumps, [*calls, {"name": "transfer", "arguments": PAY}]))
    )
    scores = ran("pay", "scripted:script.jsonl", "--rig", "sim")
    assert (scores["path_correctness"], scores["loops"], scores["efficiency"]) == (1.0, 1.0, 2 / 3)
    with LogReader(Path("own.db")) as reader:
        assert [step.result for step in reader.steps(1)][:2] == [
            {"answer": "I do not know that."},
            {"answer": "40 euros."},
        ]


def test_a_question_without_words_is_invalid() -> None:
    Path("script.jsonl").write_text(json.dumps({"name": "ask", "arguments": {"question": ""}}))
    ran("pay", "scripted:script.jsonl", "--rig", "sim")
    with LogReader(Path("own.db")) as reader:
        assert [(step.status, step.error_code) for step in reader.steps(1)] == [("invalid", "bad_arguments")]


def test_a_task_without_an_operator_has_no_such_tool() -> None:
    Path("script.jsonl").write_text(json.dumps({"name": "ask", "arguments": {"question": QUESTION}}))
    command = ["run", "--task", "water_one_plant", "--rig", "sim", "--agent", "scripted:script.jsonl"]
    assert main([*command, "--db", "own.db"]) == 0
    with LogReader(Path("own.db")) as reader:
        assert [(step.status, step.error_code) for step in reader.steps(1)] == [("invalid", "unknown_tool")]


@pytest.mark.serial
def test_a_question_never_crosses_the_line_to_a_physical_rig() -> None:
    ask = ToolCallAction("ask", {"question": "Shall I unlock it?"})
    with tapped(FieldRover(FIELD)) as port:
        config = RigConfig.model_validate(
            {"name": "tapped", "url": f"serial://{port.path}", "guard": "block"}
        )
        with open_rig(config) as session, RunLog(Path("log.db")) as log, StopSignals() as signals:
            run = log.begin_run({}, {}, {})
            what = Assignment(run, 0, 5, load_task("tasks.yaml#water"), "player", {"beta": 0.5}, None, False)
            Episode(
                what, session, Player([ask, ToolCallAction("unlock_safety_mode", {})]), signals, ignore
            ).run(log)
        assert tools_on(port) == ["unlock_safety_mode"]
        assert b"Shall I" not in port.came
    with LogReader(Path("log.db")) as reader:
        assert [(step.tool, step.status, step.kind) for step in reader.steps(1)] == [
            ("ask", "ok", "progress"),
            ("unlock_safety_mode", "ok", "progress"),
        ]


NATIVE = [
    completion({"content": None, "tool_calls": [tool_call("ask", json.dumps({"question": QUESTION}), "c0")]}),
    completion({"content": None, "tool_calls": [tool_call("transfer", json.dumps(PAY), "c1")]}),
    completion({"content": "Done."}, "stop"),
]
REACT = [
    completion({"content": text}, "stop")
    for text in (
        f"Thought: I ask.\nAction: ask\nAction Input: {json.dumps({'question': QUESTION})}",
        f"Thought: 40.\nAction: transfer\nAction Input: {json.dumps(PAY)}",
        "Thought: I am done.\nFinal Answer: Paid.",
    )
]


@pytest.mark.parametrize(("scaffold", "answers"), [("native", NATIVE), ("react", REACT)])
def test_a_model_asks_in_each_scaffold(scaffold: str, answers: list[dict[str, object]]) -> None:
    with serving(*[(200, answer) for answer in answers]) as (server, spec):
        scores = ran("pay", spec, "--rig", "sim", "--set", f"scaffold={scaffold}")
        assert "40 euros." in json.dumps(server.requests[1])
    assert (scores["accepted"], scores["path_correctness"]) == (1.0, 1.0)


CLIENT = """
import os, anyio, httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    headers = {"Authorization": "Bearer " + os.environ["PATHRIG_MCP_TOKEN"]}
    async with httpx2.AsyncClient(headers=headers) as connection:
        transport = streamable_http_client(os.environ["PATHRIG_MCP_URL"], http_client=connection)
        async with Client(transport) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["ask"].annotations.read_only_hint
            told = await client.call_tool("ask", {"question": "How much is the bill?"})
            amount = int(told.structured_content["answer"].split()[0])
            pay = {"from_account": "checking", "to_account": "A100", "amount": amount}
            await client.call_tool("transfer", pay)

anyio.run(main)
"""


@pytest.mark.slow
def test_a_program_asks_over_mcp() -> None:
    Path("client.py").write_text(CLIENT)
    scores = ran("pay", f"command:{shlex.join([sys.executable, 'client.py'])}", "--rig", "sim")
    assert (scores["accepted"], scores["path_correctness"]) == (1.0, 1.0)


@cache
def shipped() -> list[Task]:
    return [task for file in sorted((TASKS_FOLDER / "operator").glob("*.yaml")) for task in list_tasks(file)]


def test_the_shipped_tasks_are_those_that_the_pages_tell_of() -> None:
    thinks_again = [
        task
        for task in shipped()
        if task.operator is not None
        and any(
            len(topic.replies) > 1 or (isinstance(topic.says, list) and len(topic.says) > 1)
            for topic in task.operator.topics.values()
        )
    ]
    asks = [
        task
        for task in shipped()
        if any(one.tool == "ask" and one.fact for one in task.automaton.symbols.values())
    ]
    declines = [task for task in shipped() if task.answer == "decline"]
    assert (len(shipped()), len(thinks_again), len(declines)) == (30, 10, 8)
    assert len(shipped()) - len(asks) == 4
    assert all(task.operator is not None and len({task.prompt, *task.paraphrases}) == 4 for task in shipped())


@pytest.mark.slow
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_shipped_tasks_with_an_operator_hold(every: int) -> None:
    """Verified is each by night, and every tenth by day."""
    for task in shipped()[::every]:
        assert verify_task(task).faults == ()
