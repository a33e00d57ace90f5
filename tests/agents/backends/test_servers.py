"""Episodes with stand-ins that answer, and refuse, as Ollama, vLLM and llama-server do."""

from __future__ import annotations

import json

import pytest
from chat_standin import serving, started

from agents.agent import InvalidAction, Observation, StopAction, ToolCallAction
from agents.backends import chat_server
from devices.outcome import Outcome

USAGE = {"prompt_tokens": 1600, "completion_tokens": 20, "total_tokens": 1620}


def call(name, arguments, number):
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}


# What the model does, one answer a turn: thoughts, words, and calls.
TURNS = [
    ("I look first.", "", [("sense_pose", "{}")]),
    ("", "", [("move_to", '{"x": 3, "y":')]),
    ("", "", [("move_to", '{"x": 3, "y": 5}'), ("lock_safety_mode", "{}")]),
    ("Ready.", "It is done.", []),
]


LLAMA_SERVER_PAGES = {
    "/v1/models": {"data": [{"id": "m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40960}}]},
    "/props": {"default_generation_settings": {"n_ctx": 8192}},
}


class Stage:
    """A server's answers to the turns; what a request may not be is an error, as there."""

    def __init__(self, shape):
        self.shape, self.turn, self.tokens = shape, 0, 1600

    def __call__(self, body):
        fault = conversation_fault(body["messages"])
        if fault is not None:
            return self.shape.refusal, {"error": {"message": fault}}
        thoughts, words, calls = TURNS[self.turn]
        self.turn += 1
        self.tokens += 200
        made = [call(name, arguments, 10 * self.turn + n) for n, (name, arguments) in enumerate(calls)]
        return 200, self.shape.answer(thoughts, words, made, {**USAGE, "prompt_tokens": self.tokens})


def conversation_fault(messages):
    """Return why servers refuse a conversation, None if they do not."""
    waiting = []
    for message in messages:
        if message["role"] != "tool" and waiting:
            return f"no response to {waiting}"
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return "a tool message must follow a call with its tool_call_id"
            waiting.remove(message["tool_call_id"])
        for made in message.get("tool_calls") or ():
            try:
                if not isinstance(json.loads(made["function"]["arguments"]), dict):
                    return "arguments are no object"
            except ValueError:
                return "Failed to parse tool call arguments as JSON"
            waiting.append(made["id"])
    return f"no response to {waiting}" if waiting else None


class VLLM:
    """Without a parser for the model: calls stand in the words; thoughts by --reasoning-parser."""

    refusal, pages = 400, {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 8192}]}}

    @staticmethod
    def answer(thoughts, words, calls, usage):
        functions = [one["function"] for one in calls]
        marked = [
            f'<tool_call>\n{{"name": "{one["name"]}", "arguments": {one["arguments"]}}}\n</tool_call>'
            for one in functions
        ]
        message = {
            "role": "assistant",
            "reasoning_content": thoughts or None,
            "content": words + "\n".join(marked),
            "tool_calls": [],
            "refusal": None,
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": "stop",
            "stop_reason": None,
        }
        usage = {**usage, "prompt_tokens_details": None}
        return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": usage}


class Ollama:
    """Calls with an index beside their id, thoughts as `reasoning`."""

    refusal, pages = 400, {"/v1/models": {"data": [{"id": "m", "object": "model", "owned_by": "library"}]}}

    @staticmethod
    def answer(thoughts, words, calls, usage):
        message = {"role": "assistant", "content": words}
        if thoughts:
            message["reasoning"] = thoughts
        if calls:
            message["tool_calls"] = [{**one, "index": n} for n, one in enumerate(calls)]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        system = {"system_fingerprint": "fp_ollama", "object": "chat.completion"}
        return {**system, "choices": [choice], "usage": usage}


class LlamaServer:
    """Content null beside calls, its cache and times in `timings`."""

    # A template that fails is an error of the server.
    refusal, pages = 500, LLAMA_SERVER_PAGES

    @staticmethod
    def answer(thoughts, words, calls, usage):
        message = {"role": "assistant", "content": words or None}
        if thoughts:
            message["reasoning_content"] = thoughts
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        cached = usage["prompt_tokens"] - 90
        times = {
            "cache_n": cached,
            "prompt_n": 90,
            "prompt_ms": 45.0,
            "predicted_n": 20,
            "predicted_ms": 400.0,
        }
        return {"choices": [choice], "object": "chat.completion", "usage": usage, "timings": times}


@pytest.mark.parametrize("shape", [VLLM, Ollama, LlamaServer])
def test_an_episode(shape, monkeypatch):
    monkeypatch.setattr(chat_server, "BACK_OFF_SECONDS", 0.01)
    loading = (503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
    with serving(*[loading] * 6, Stage(shape), pages=shape.pages, model="m") as (server, spec):
        agent = started(spec)
        look = agent.act(None)
        assert (type(look), look.name, look.usage.reasoning) == (
            ToolCallAction,
            "sense_pose",
            "I look first.",
        )
        assert len(server.requests) == 7 and server.requests[-1][2]["max_tokens"] == 4096
        broken = agent.act(Observation(look, Outcome("ok", {"x": 5.0})))
        assert isinstance(broken, InvalidAction)
        move = agent.act(None)
        assert (move.name, move.arguments) == ("move_to", {"x": 3, "y": 5})
        last = agent.act(Observation(move, Outcome("rejected", code="locked", message="unlock first")))
        assert (type(last), last.reason) == (StopAction, "done")
        assert "It is done." in last.usage.text
        results = [message for message in server.requests[-1][2]["messages"] if message["role"] == "tool"]
        assert "not_run" in results[-1]["content"]
        used = [action.usage for action in (look, broken, move, last)]
        assert [one.remarks for one in used] == [()] * 4
        assert [one.input_tokens + one.cached_tokens for one in used] == [1800, 2000, 2200, 2400]
    if shape is LlamaServer:
        assert {(one.input_tokens, one.prompt_seconds, one.writing_seconds) for one in used} == {
            (90, 0.045, 0.4)
        }
