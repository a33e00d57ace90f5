"""The user's own llama-server: started, waited for, and ended on every way out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from chat_standin import started, tool_call
from farm_rig import FARM_ROVER
from paths import ROOT, SUPPORT
from processes import ended

from agents.agent import (
    AgentSpecError,
    BackendError,
    EpisodeContext,
    Limits,
    Observation,
    StopAction,
    ToolCallAction,
)
from agents.backends import chat_server, llama_server_process
from agents.backends.llama_backend import SHIPPED_MODEL
from agents.backends.llama_server_backend import LlamaServerBackend
from agents.formats.chatml import CHAT_TEMPLATE, DECLINING_TEMPLATE
from agents.forms import LLAMA_SERVER
from agents.options import ModelOptions, parse_options
from agents.registry import make_agent
from configs.tasks_loader import load_task
from devices.outcome import Outcome

STANDIN = SUPPORT / "standins" / "llama_server.py"
REAL = "PATHRIG_LLAMA_SERVER"
"""The environment variable with the path of a real llama-server, for the opt-in test."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "llama-server"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {STANDIN} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def model(tmp_path: Path):
    def write(**what) -> Path:
        path = tmp_path / "Tiny-Q8_0.gguf"
        path.write_text(json.dumps(what))
        return path

    return write


def made(path, program, **options):
    assert LLAMA_SERVER.model is not None
    return LLAMA_SERVER.model.make(str(path), ModelOptions(server=program, **options))


def arguments_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text().split("\0")


def test_an_episode(model, program):
    calls = {"content": None, "reasoning_content": "Hm.", "tool_calls": [tool_call("sense_pose", "{}", "a")]}
    path = model(load=0.3, answers=[calls, {"role": "assistant", "content": "Done."}])
    agent = made(path, program, n_threads=3, n_gpu_layers=99, n_ctx=4096)
    info = agent.model_info
    try:
        assert agent.name == "llama-server:Tiny-Q8_0"
        assert info.load_seconds is not None and info.load_seconds >= 0.3
        action = started(agent).act(None)
        assert (action.name, action.usage.reasoning) == ("sense_pose", "Hm.")
        used = action.usage
        assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (100, 900, 9)
        assert (used.prompt_seconds, used.writing_seconds) == (0.05, 0.09)
        last = agent.act(Observation(action, Outcome("ok", {"x": 5.0})))
        assert (type(last), last.reason) == (StopAction, "done")
        assert info.process is not None
        command = arguments_of(info.process)
        for argument, value in (("--threads", "3"), ("--n-gpu-layers", "99"), ("--ctx-size", "4096")):
            assert command[command.index(argument) + 1] == value
        environment = Path(f"/proc/{info.process}/environ").read_text()
        key = environment.partition("LLAMA_API_KEY=")[2].partition("\0")[0]
        options = agent.options
        assert len(key) > 20 and key not in "\0".join(command) + json.dumps(options)
        assert (options["build"], options["n_ctx"], options["cache_prompt"]) == ("b6800", 4096, True)
        assert options["arguments"][:3] == ["--jinja", "--parallel", "1"]
    finally:
        agent.close()
    assert ended(info.process)


def test_what_the_server_leaves_in_the_words_is_no_call(model, program):
    """It reads calls by its nature, from the first answer on."""
    call = '{"name": "move_home", "arguments": {}}'
    for reading, words in product(("strict", "lenient"), (call, f"```json\n{call}\n```", f"I used\n{call}")):
        path = model(answers=[{"role": "assistant", "content": words}])
        agent = made(path, program, reading=reading)
        action = started(agent).act(None)
        agent.close()
        if reading == "strict":
            assert (type(action), action.reason) == (StopAction, "done")
            assert "look like a call" in action.usage.remarks[0]
        else:
            assert isinstance(action, ToolCallAction)
        assert agent.options["reading"] == reading


def test_a_program_that_is_not_there_is_one_clear_line(model, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentSpecError, match=r"no llama-server on PATH: install .* server=PATH"):
        made(model(), None)
    with pytest.raises(AgentSpecError, match="option server=/no/such: there is no such program"):
        made(model(), Path("/no/such"))
    with pytest.raises(AgentSpecError, match="no such GGUF file"):
        made(tmp_path / "none.gguf", None)


def test_the_shipped_model_gets_the_prompt_of_its_training(model, program):
    for template, prompt in (
        (DECLINING_TEMPLATE + "\n", "trained to decline"),
        (CHAT_TEMPLATE, "operator"),
        ("{{ x }}", "operator"),
    ):
        agent = made(model(template=template), program)
        agent.close()
        assert agent.options["prompt"] == prompt


def test_the_program_on_path_is_the_default(model, program, monkeypatch):
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    backend = LlamaServerBackend(model())
    backend.close()
    assert backend.options["build"] == "b6800"


def test_a_server_that_ends_early_says_why(model, program):
    words = [
        "llama_model_load: error loading model: bad magic",
        "srv  load_model: failed to load model",
        "bye",
    ]
    with pytest.raises(AgentSpecError) as error:
        made(model(die=words), program)
    assert f"{program} ended (exit status 1): {words[0]}; {words[1]}" == str(error.value)


def test_a_program_that_cannot_be_run_says_so(model, tmp_path):
    program = tmp_path / "llama-server"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o755)
    with pytest.raises(AgentSpecError, match="Exec format error"):
        made(model(), program)


def test_a_server_that_is_never_healthy_is_ended(model, program, monkeypatch):
    monkeypatch.setattr(llama_server_process, "LOAD_SECONDS", 1.0)
    children = set(_children())
    with pytest.raises(AgentSpecError, match="was not healthy within 1 s"):
        made(model(load=1000), program)
    assert not set(_children()) - children


def test_a_server_that_is_not_ours_is_refused(model, program):
    with pytest.raises(AgentSpecError, match="is healthy and has no /props"):
        made(model(deaf=True), program)


@pytest.mark.parametrize(
    ("told", "takes"),
    [
        ({}, False),
        ({"template": "{{ reasoning_effort }}"}, True),
        ({"props": {"chat_template_caps": {"supports_reasoning_effort": True}}}, True),
        (
            {
                "template": "no reasoning_effort",
                "props": {"chat_template_caps": {"supports_reasoning_effort": False}},
            },
            False,
        ),
    ],
)
def test_a_reasoning_effort_is_for_templates_that_take_it(model, program, told, takes):
    path = model(**told, answers=[{"role": "assistant", "content": "Done."}])
    if not takes:
        with pytest.raises(AgentSpecError, match="takes no reasoning_effort: leave the option out"):
            made(path, program, reasoning_effort="low")
        return
    agent = made(path, program, reasoning_effort="low")
    agent.close()
    assert agent.options["reasoning_effort"] == "low"


def test_a_server_that_ends_in_an_episode_says_why(model, program, monkeypatch):
    monkeypatch.setattr(chat_server, "BACK_OFF_SECONDS", 0.01)
    agent = made(model(exit="GGML_ASSERT: error: out of memory"), program)
    try:
        with pytest.raises(
            BackendError, match=r"ended \(killed by signal 6\): GGML_ASSERT: error: out of memory"
        ):
            started(agent).act(None)
    finally:
        agent.close()


STARTER = """
import sys, time
from pathlib import Path
from agents.backends.llama_server_backend import LlamaServerBackend
from agents.options import ModelOptions
backend = LlamaServerBackend(Path(sys.argv[1]), ModelOptions(server=Path(sys.argv[2])))
print(backend.model_info.process, flush=True)
time.sleep(100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_server_ends_with_its_starter(model, program, number):
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(model()), str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with starter:
        server = int(starter.stdout.readline())
        assert Path(f"/proc/{server}").exists()
        starter.send_signal(number)
    assert ended(server)


def test_the_server_ends_with_a_keeper_that_is_killed(model, program):
    backend = LlamaServerBackend(model(), ModelOptions(server=program))
    server = backend.model_info.process
    keeper = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(keeper, signal.SIGKILL)
    assert ended(server)
    backend.close()


def test_options_are_those_of_a_server_and_of_a_model():
    query = "server=/opt/llama-server&n_gpu_layers=99&thinking=off&timeout=60&temperature=0.5"
    assert LLAMA_SERVER.model is not None
    options = parse_options("llama-server", query, LLAMA_SERVER.model.options)
    assert (options.n_gpu_layers, options.thinking, options.timeout) == (99, False, 60.0)
    with pytest.raises(AgentSpecError, match="grammar"):
        parse_options("llama-server", "grammar=off", LLAMA_SERVER.model.options)


@pytest.mark.llama
@pytest.mark.slow
@pytest.mark.skipif(REAL not in os.environ, reason=f"needs the path of a llama-server in {REAL}")
def test_a_real_llama_server_takes_the_shipped_model():
    """It reads the calls of this model, and the model acts on it as it does in our own backend."""
    task = load_task("water_one_plant")
    results = {
        "unlock_safety_mode": {"safety": "unlocked"},
        "get_plant_pose": {"x": 3.5, "y": 12.5, "yaw": 0.0, "name": "plant_B"},
        "move_to": {"x": 3.5, "y": 12.5, "yaw": 0.0},
        "water_plant": {"plant_id": "plant_B", "liters": 4.5, "tank_liters": 0.5},
        "lock_safety_mode": {"safety": "locked"},
    }
    paths = []
    server = made(SHIPPED_MODEL, Path(os.environ[REAL]), kv_type="f16", n_ctx=4096, n_threads=1)
    for agent in (server, make_agent("llama?kv_type=f16")):
        process = agent.model_info.process
        limits = Limits(seconds=100.0)
        agent.start(EpisodeContext(task.prompt, task.device.tools, limits=limits, advice=task.device.advice))
        path, action, cached = [], agent.act(None), []
        while isinstance(action, ToolCallAction) and len(path) < 8:
            path.append((action.name, dict(action.arguments)))
            cached.append(action.usage.cached_tokens)
            assert action.usage.output_tokens > 0 and action.usage.prompt_seconds is not None
            action = agent.act(Observation(action, Outcome("ok", results[action.name])))
        assert isinstance(action, StopAction) and action.reason == "done"
        assert cached == sorted(cached) and cached[-1] > 500
        paths.append(path)
        assert agent.options["prompt"] == "trained to decline"
        agent.close()
        assert agent is not server or ended(process)
    assert paths[0] == paths[1] and len(paths[0]) >= 4


@pytest.mark.llama
@pytest.mark.slow
@pytest.mark.skipif(REAL not in os.environ, reason=f"needs the path of a llama-server in {REAL}")
def test_a_real_llama_server_takes_react_examples_and_a_full_context(tmp_path):
    examples = tmp_path / "examples.jsonl"
    step = {"tool": "move_to", "arguments": {"x": 1.5, "y": 2}, "result": {"x": 1.5, "y": 2.0}}
    examples.write_text(json.dumps({"prompt": "Drive on.", "steps": [step]}) + "\n")
    program = Path(os.environ[REAL])
    with pytest.raises(AgentSpecError, match="takes no reasoning_effort"):
        made(SHIPPED_MODEL, program, reasoning_effort="low")
    for scaffold in ("native", "react"):
        agent = made(SHIPPED_MODEL, program, scaffold=scaffold, examples_file=examples, n_ctx=2048)
        try:
            started(agent, seconds=100.0, output_tokens=40).act(None)
            assert agent.options["tools"] == ("signatures" if scaffold == "react" else "schemas")
            long = "sand " * 3000
            agent.start(EpisodeContext(long, FARM_ROVER.tools, limits=Limits(seconds=100.0)))
            assert agent.act(None).reason == "context"
        finally:
            agent.close()
    with pytest.raises(AgentSpecError, match=r"llama-server ended \(exit status 1\): .*failed to load model"):
        broken = tmp_path / "broken.gguf"
        broken.write_bytes(SHIPPED_MODEL.read_bytes()[:10_000])
        made(broken, program)


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
