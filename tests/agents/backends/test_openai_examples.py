"""Example conversations before the task, as servers of chat completions take them."""

from __future__ import annotations

import json

import pytest
from chat_standin import DONE, completion, serving, started, tool_call

from agents.agent import Observation
from devices.outcome import Outcome

KEYS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def fault(body):
    """What OpenAI's API refuses in the messages of a request; None if they are as it takes them."""
    waiting = []
    for message in body["messages"]:
        role = message["role"]
        if not message.keys() <= KEYS[role] or not isinstance(message["content"], str):
            return f"{role}: {message}"
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                return f"a result without a call: {message}"
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return f"calls without a result: {waiting}"
        seen = set()
        for call in message.get("tool_calls", ()):
            function = call["function"]
            if call.keys() != {"id", "type", "function"} or call["type"] != "function":
                return f"no call: {call}"
            if function.keys() != {"name", "arguments"} or not isinstance(function["arguments"], str):
                return f"arguments are no text: {call}"
            if not isinstance(json.loads(function["arguments"]), dict) or call["id"] in seen:
                return f"no object, or an id that stands twice: {call}"
            seen.add(call["id"])
            waiting.append(call["id"])
    return f"calls without a result: {waiting}" if waiting else None


def strict(answer):
    def checked(body):
        wrong = fault(body)
        return (200, answer) if wrong is None else (400, {"error": {"message": wrong}})

    return checked


@pytest.fixture
def examples(tmp_path):
    lines = [
        {
            "prompt": "Unlock, and read the charge.",
            "steps": [
                {"tool": "unlock_safety_mode", "result": {"unlocked": True}},
                {"tool": "move_to", "arguments": {"x": 1.5, "y": 2}, "result": {"x": 1.5, "y": 2.0}},
            ],
            "answer": "It is open.",
        },
        {"prompt": "Say hello."},
    ]
    path = tmp_path / "examples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_stand_in_refuses_what_openai_does():
    call = tool_call("move_to", '{"x": 1}', "a")
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "content": "{}", "tool_call_id": "a"}
    assert fault({"messages": [asked, result]}) is None
    as_object = {**call, "function": {"name": "move_to", "arguments": {"x": 1}}}
    for messages in (
        [{**asked, "tool_calls": [as_object]}, result],
        [asked, {**result, "tool_call_id": "b"}],
        [asked, {"role": "tool", "content": "{}"}],
        [asked],
        [{**asked, "tool_calls": [{"type": "function", "function": call["function"]}]}, result],
        [{**result, "name": "move_to"}],
    ):
        assert fault({"messages": messages}) is not None


@pytest.mark.parametrize("scaffold", ["native", "react"])
def test_examples_are_calls_of_the_protocol(examples, scaffold):
    words = {"content": "Action: move_home\nAction Input: {}"}
    called = words if scaffold == "react" else {"content": None, "tool_calls": [tool_call("move_home", "{}")]}
    with serving(strict(completion(called)), strict(DONE)) as (server, spec):
        agent = started(f"{spec}?scaffold={scaffold}&examples_file={examples}")
        action = agent.act(None)
        assert agent.act(Observation(action, Outcome("ok", {"x": 5.0}))).reason == "done"
    for _, _, body in server.requests:
        assert fault(body) is None
    messages = server.requests[0][2]["messages"]
    assert messages[-1] == {"role": "user", "content": "Go."}
    roles = [message["role"] for message in messages]
    if scaffold == "react":
        assert roles == ["system", *("user", "assistant") * 3, "user", "assistant", "user"]
        return
    assert roles == ["system", "user", *("assistant", "tool") * 2, "assistant", "user", "assistant", "user"]
    assert messages[4]["tool_calls"][0]["function"] == {
        "name": "move_to",
        "arguments": '{"x": 1.5, "y": 2}',
    }


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_a_reasoning_effort_is_in_each_request(level):
    with serving((200, DONE)) as (server, spec):
        agent = started(f"{spec}?reasoning_effort={level}")
        agent.act(None)
        started(spec).act(None)
    told, untold = (body for _, _, body in server.requests)
    assert told["reasoning_effort"] == agent.options["reasoning_effort"] == level
    assert "reasoning_effort" not in untold
