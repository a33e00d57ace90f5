from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from farm_rig import FARM_ROVER

from agents.agent import EpisodeContext, InvalidAction, Limits, Observation, StopAction, ToolCallAction
from agents.catalog import make_agent
from agents.errors import BackendError
from devices.outcome import Outcome


def completion(message, finish="tool_calls", usage=None):
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def tool_call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


class Server(ThreadingHTTPServer):
    """Gives the answers it was made with, one a request: a status and a body each."""

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = list(answers), []
        self.release = threading.Event()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers.get("Authorization"), json.loads(body)))
        status, answer = self.server.answers.pop(0)
        if status is None:
            self.server.release.wait(20)
            return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def serving(*answers):
    server = Server(*answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server, f"openai:http://127.0.0.1:{server.server_port}/v1#qwen3"
    finally:
        server.release.set()
        server.shutdown()
        thread.join()
        server.server_close()


def started(spec, **limits):
    agent = make_agent(spec)
    agent.start(EpisodeContext("Go.", FARM_ROVER.tools, seed=4, limits=Limits(**limits)))
    return agent


def test_a_call_and_an_end(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    called = completion({"content": None, "tool_calls": [tool_call("move_home", "{}")]}, usage=usage)
    with serving((200, called), (200, completion({"content": "Done."}, "stop"))) as (server, spec):
        agent = started(spec)
        action = agent.act(None)
        assert (action.name, action.arguments) == ("move_home", {})
        used = action.usage
        assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (40, 60, 7)
        last = agent.act(Observation(action, Outcome("ok", {"x": 5.0})))
        assert isinstance(last, StopAction)
        assert (last.reason, last.usage.text) == ("done", "Done.")
        path, key, first = server.requests[0]
        assert (path, key) == ("/v1/chat/completions", "Bearer key")
        assert (first["model"], first["seed"], first["temperature"]) == ("qwen3", 4, 0.0)
        assert first["tools"] == FARM_ROVER.schemas()
        second = server.requests[1][2]["messages"]
        assert second[2]["tool_calls"] == [tool_call("move_home", "{}")]
        assert second[3] == {"role": "tool", "content": '{"x":5.0}', "tool_call_id": "c1"}
        assert agent.name == "openai:qwen3"


def test_arguments_that_are_no_json_are_an_invalid_step_that_the_model_hears_of():
    broken = completion({"tool_calls": [tool_call("move_to", '{"x": ')]})
    with serving((200, broken), (200, completion({"content": "Sorry."}))) as (server, spec):
        agent = started(spec)
        action = agent.act(None)
        assert isinstance(action, InvalidAction)
        assert action.code == "bad_arguments"
        assert agent.act(None).reason == "done"
        told = server.requests[1][2]["messages"][-1]
        assert told["tool_call_id"] == "c1"
        assert json.loads(told["content"])["error"] == "bad_arguments"


def test_calls_in_the_words_are_read_where_the_server_reads_none():
    text = '<tool_call>\n{"name": "sense_pose", "arguments": {}}\n</tool_call>'
    with serving((200, completion({"content": text}, "stop"))) as (_, spec):
        action = started(spec).act(None)
    assert isinstance(action, ToolCallAction)
    assert action.name == "sense_pose"


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (200, completion({"content": "and so"}, "length"), "max_tokens"),
        (400, {"error": {"message": "maximum context length is 4096 tokens"}}, "context"),
        (None, None, "max_time"),
    ],
)
def test_limits_end_the_episode(status, body, reason):
    with serving((status, body)) as (_, spec):
        action = started(spec, seconds=0.3 if status is None else 20.0).act(None)
    assert isinstance(action, StopAction)
    assert action.reason == reason


def test_half_a_character_in_an_answer_is_replaced():
    with serving((200, completion({"content": "so \ud800 be it"}, "stop"))) as (_, spec):
        assert started(spec).act(None).usage.text == "so ? be it"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"error": "who?"}, "OPENAI_API_KEY"),
        (500, b"oh\nno", "status 500: oh no"),
        (200, b"<html>", "not JSON"),
        (200, {"choices": []}, "no chat completion"),
        (200, ["x"], "no chat completion"),
        (200, {"choices": [{"message": "x"}]}, "no chat completion"),
    ],
)
def test_a_server_that_fails_is_one_clear_line(status, body, said):
    with serving((status, body)) as (_, spec), pytest.raises(BackendError, match=said) as error:
        started(spec).act(None)
    assert "\n" not in str(error.value)


def test_no_server():
    with serving() as (_, spec):
        pass
    with pytest.raises(BackendError, match="cannot be reached"):
        started(spec).act(None)
