from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from chat_standin import DONE, completion, serving, started, tool_call
from farm_rig import FARM_ROVER

from agents.agent import AgentSpecError, BackendError, InvalidAction, Observation, StopAction, ToolCallAction
from agents.backends import chat_server, http_request
from agents.deadline import Cancellation, CancelledError
from agents.registry import make_agent
from agents.scaffolds.prompting import DECLINE_SCHEMA
from devices.outcome import Outcome


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(chat_server, "BACK_OFF_SECONDS", 0.01)


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
        assert first["tools"] == [*FARM_ROVER.schemas(), DECLINE_SCHEMA]
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


def test_calls_in_the_words_get_ids_that_their_results_have():
    text = "[TOOL_CALLS]sense_pose[ARGS]{}"
    with serving((200, completion({"content": text}, "stop")), (200, completion({"content": "Done."}))) as (
        server,
        spec,
    ):
        agent = started(spec)
        action = agent.act(None)
        assert (action.name, action.arguments) == ("sense_pose", {})
        agent.act(Observation(action, Outcome("ok", {"x": 5.0})))
        answer, result = server.requests[1][2]["messages"][2:]
    (made,) = answer["tool_calls"]
    assert answer["content"] == ""
    assert made["function"] == {"name": "sense_pose", "arguments": "{}"}
    assert result == {"role": "tool", "content": '{"x":5.0}', "tool_call_id": made["id"]}


def test_what_looks_like_a_call_in_the_words_is_an_invalid_step_that_the_user_tells():
    with serving((200, completion({"content": "I call move_to(1, 2)."}, "stop"))) as (server, spec):
        agent = started(spec)
        action = agent.act(None)
        assert isinstance(action, InvalidAction) and action.code == "unread_call"
        agent.act(None)
        told = server.requests[1][2]["messages"][-1]
    assert told["role"] == "user" and "unread_call" in told["content"]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_in_the_log_and_makes_no_call(key):
    thought = 'maybe <tool_call>{"name": "sense_pose", "arguments": {}}</tool_call>'
    with serving((200, completion({"content": "Done.", key: thought}, "stop"))) as (_, spec):
        action = started(spec).act(None)
    assert action.reason == "done"
    assert action.usage.text == f"<think>\n{thought}\n</think>\nDone."


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


@pytest.mark.parametrize("arguments", [r'{"x": "\ud800"}', '{"x": "\ud800"}', {"x": "\ud800"}, {"\ud800": 1}])
def test_half_a_character_in_a_call_does_not_end_the_episode(arguments):
    call = completion({"tool_calls": [tool_call("move_to", arguments)]})
    with serving((200, call), (200, completion({"content": "Sorry."}))) as (server, spec):
        agent = started(spec)
        action = agent.act(None)
        observed = (
            None if isinstance(action, InvalidAction) else Observation(action, Outcome("ok", {"x": 5.0}))
        )
        assert agent.act(observed).reason == "done"
        (call,) = server.requests[1][2]["messages"][-2]["tool_calls"]
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


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


@contextmanager
def sending(head, drop, every):
    """A server that answers with `head` and then with `drop` after each `every` seconds, for ever."""
    stop, asked = threading.Event(), threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            asked.set()
            try:
                connection.sendall(head)
                while not stop.wait(every):
                    connection.sendall(drop)
            except OSError:
                cut.set()

    cut = threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"openai:http://127.0.0.1:{listening.getsockname()[1]}/v1#qwen3", asked, cut
    finally:
        stop.set()
        thread.join(20)
        listening.close()


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


@pytest.mark.parametrize("head", [HEADERS, b"HTTP/1.1 200 OK\r\n"], ids=["in the body", "in the headers"])
def test_the_limit_of_time_holds_against_a_server_that_drips(head):
    # Each drop comes sooner than any timeout of the socket.
    drop = b" " if head is HEADERS else b"X-A: 1\r\n"
    with sending(head, drop, 0.3) as (spec, _, cut):
        begun = time.monotonic()
        action = started(spec, seconds=0.7).act(None)
        assert 0.5 < time.monotonic() - begun < 30
        assert (type(action), action.reason) == (StopAction, "max_time")
        # The server hears of it, and need not go on writing for nobody.
        assert cut.wait(20)


@pytest.mark.parametrize("head", [HEADERS, b""], ids=["drips", "silent"])
def test_a_cancelled_episode_ends_the_wait_for_a_server(head):
    cancellation = Cancellation()
    with sending(head, b" " if head else b"", 0.2) as (spec, asked, _):
        agent = started(spec, cancellation, seconds=100)
        canceller = threading.Thread(target=lambda: (asked.wait(20), cancellation.cancel()))
        canceller.start()
        begun = time.monotonic()
        with pytest.raises(CancelledError):
            agent.act(None)
        assert time.monotonic() - begun < 30
        canceller.join()


def test_an_answer_is_read_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(http_request, "MAX_ANSWER", 100_000)
    with (
        sending(HEADERS, b" " * 50_000, 0.001) as (spec, _, _),
        pytest.raises(BackendError, match="more than"),
    ):
        started(spec, seconds=100).act(None)


@pytest.mark.parametrize("trouble", [(503, b"loading"), (429, b"slow down"), (500, b""), (None, b"")])
def test_trouble_that_passes_is_tried_again(trouble):
    with serving(trouble, trouble, (200, DONE)) as (server, spec):
        server.release.set()
        assert started(spec).act(None).reason == "done"
        assert len(server.requests) == 3


def test_tries_are_few(monkeypatch):
    with serving((502, b"no")) as (server, spec):
        with pytest.raises(BackendError, match="status 502: no"):
            started(spec).act(None)
        assert len(server.requests) == 1 + chat_server.RETRIES == 4


def test_what_is_the_requests_own_fault_is_not_tried_again():
    with serving((404, b"no such model")) as (server, spec):
        with pytest.raises(BackendError, match="404"):
            started(spec).act(None)
        assert len(server.requests) == 1


def test_a_server_says_how_long_to_wait_and_the_limit_holds():
    asks = ("Retry-After", "0.2")
    with serving((429, b"", asks), (200, DONE)) as (_, spec):
        begun = time.monotonic()
        assert started(spec).act(None).reason == "done"
        assert time.monotonic() - begun > 0.15
    with serving((429, b"", ("Retry-After", "60"))) as (server, spec):
        with pytest.raises(BackendError, match="429"):
            started(spec, seconds=5).act(None)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "counts",
    [
        {"prompt_tokens": "abc", "completion_tokens": 1e30, "prompt_tokens_details": {"cached_tokens": []}},
        {"prompt_tokens": -5, "completion_tokens": True, "prompt_tokens_details": "x"},
        "many",
        [3],
    ],
)
def test_counts_that_are_none_are_zero(counts):
    with serving((200, completion({"content": "Done."}, "stop", counts))) as (_, spec):
        used = started(spec).act(None).usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (0, 0, 0)


def test_a_number_of_thousands_of_digits_is_an_invalid_call_or_no_count():
    digits = "9" * 4301
    call = completion({"tool_calls": [tool_call("move_to", f'{{"x": {digits}}}')]})
    answer = json.dumps(completion({"content": "Done."}, "stop", {"prompt_tokens": -1}))
    with serving((200, call), (200, answer.replace("-1", digits).encode())) as (_, spec):
        agent = started(spec)
        action = agent.act(None)
        assert (type(action), action.code) == (InvalidAction, "bad_arguments")
        last = agent.act(None)
    assert (last.reason, last.usage.input_tokens) == ("done", 0)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("http://192.168.1.5:8080/v1", False),
        ("https://models.example/v1", False),
        ("http://localhost:8080/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("https://named.example/v1", True),
    ],
)
def test_the_key_goes_only_where_it_belongs(monkeypatch, url, sent):
    asked = []

    def post(url, body, headers, deadline):
        asked.append(headers.get("Authorization"))
        return http_request.HttpAnswer(200, {}, json.dumps(DONE).encode())

    monkeypatch.setattr(chat_server, "post", post)
    monkeypatch.setattr(chat_server, "get", lambda url, headers, deadline: post(url, b"", headers, deadline))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://named.example/other")
    assert started(f"openai:{url}#m").act(None).reason == "done"
    assert asked == ["Bearer sk-1" if sent else None] * 2


def test_redirects_are_not_followed(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with serving((200, DONE)) as (other, spec):
        moved = ("Location", spec.removeprefix("openai:"))
        with (
            serving((307, b"", moved)) as (_, spec),
            pytest.raises(BackendError, match="status 307: it is at"),
        ):
            started(spec).act(None)
        assert not other.requests


def test_a_refused_key_is_not_repeated(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving((401, b"wrong key sk-secret")) as (_, spec), pytest.raises(BackendError) as error:
        started(spec).act(None)
    assert "sk-secret" not in str(error.value) and "wrong key ***" in str(error.value)


@pytest.mark.parametrize(
    "spec",
    [
        "openai:http://user:hunter2@host/v1#m",
        "openai:http://hunter2@host/v1#m",
        "openai:http://user:hunter2@host/v1",
        "openai:http://user:hunter2@[/v1#m",
        "opnai:http://user:hunter2@host/v1#m",
    ],
)
def test_credentials_in_a_url_are_refused_and_not_repeated(spec):
    with pytest.raises(AgentSpecError) as error:
        make_agent(spec)
    assert "hunter2" not in str(error.value) and "***@" in str(error.value)
