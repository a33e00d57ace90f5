"""The backend of servers against llama-cpp-python's own server, with the shipped model."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from chat_standin import started

from agents.agent import InvalidAction, Observation, StopAction, ToolCallAction
from agents.backends.llama_backend import SHIPPED_MODEL
from devices.outcome import Outcome

pytestmark = [pytest.mark.interop, pytest.mark.llama, pytest.mark.slow]
START_SECONDS = 60.0
SERVE = """
import runpy
import llama_cpp.llama_cpp as c

default = c.llama_model_default_params

def without_amx():
    options = default()
    options.use_extra_bufts = False
    return options

c.llama_model_default_params = without_amx
runpy.run_module("llama_cpp.server", run_name="__main__")
"""
"""See `agents.backends.llama_engine`: llama.cpp's AMX kernels crash on some machines."""


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("llama_cpp.server.app", reason="needs llama-cpp-python[server]", exc_type=ImportError)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, "--model", str(SHIPPED_MODEL), "--n_ctx", "2048"]
    child = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        _wait(child, f"http://127.0.0.1:{port}/v1/models")
        yield f"openai:http://127.0.0.1:{port}/v1#{SHIPPED_MODEL}"
    finally:
        child.terminate()
        child.wait(20)


def _wait(child, url):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        try:
            urlopen(url, timeout=5).close()
            return
        except URLError:
            time.sleep(0.2)
    pytest.fail("the server did not start")


def test_an_episode_goes_on_after_a_call_that_was_found_in_the_words(server):
    """This server reads no calls of this model, and refuses a result without a call's id."""
    agent = started(server, seconds=100.0, output_tokens=600)
    action, calls = agent.act(None), 0
    while not isinstance(action, StopAction) and calls < 4:
        calls += 1
        assert isinstance(action, ToolCallAction | InvalidAction)
        assert action.usage.output_tokens > 0 and action.usage.remarks == ()
        made = isinstance(action, ToolCallAction)
        action = agent.act(Observation(action, Outcome("ok", {"x": 5.0})) if made else None)
    assert calls > 0


@pytest.mark.parametrize("scaffold", ["native", "react"])
def test_examples_are_taken_with_their_calls(server, scaffold, tmp_path):
    """The model sees them: the prompt has more tokens by about what they are long."""
    steps = [{"tool": "move_to", "arguments": {"x": 1.5, "y": 2}, "result": {"x": 1.5, "y": 2.0}}]
    path = tmp_path / "examples.jsonl"
    path.write_text(json.dumps({"prompt": "Drive on.", "steps": steps, "answer": "There."}) + "\n")
    tokens = []
    for spec in (f"{server}?scaffold={scaffold}", f"{server}?scaffold={scaffold}&examples_file={path}"):
        agent = started(spec, seconds=100.0, output_tokens=60)
        usage = agent.act(None).usage
        tokens.append(usage.input_tokens + usage.cached_tokens)
    assert tokens[0] + 40 < tokens[1] < tokens[0] + 200


def test_a_conversation_longer_than_the_context_ends_as_context(server):
    agent = started(server, seconds=100.0)
    action = agent.act(None)
    assert isinstance(action, ToolCallAction)
    last = agent.act(Observation(action, Outcome("ok", {"text": "sand " * 3000})))
    assert (type(last), last.reason) == (StopAction, "context")
