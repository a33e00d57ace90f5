"""Ollama and LM Studio on this machine, by stand-ins of their own APIs: found, listed, given a context."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from chat_standin import Server, started

from agents.agent import AgentSpecError, Observation, StopAction, ToolCallAction
from agents.backends.ollama_server import as_completion
from agents.local_servers import served_models
from agents.registry import agent_maker
from core_eval.bench.candidates import specs_of
from core_eval.cli.main import main
from devices.outcome import Outcome

TAGS = {
    "models": [
        {"name": "qwen3:0.6b", "size": 523, "capabilities": ["completion", "tools"]},
        {"name": "gemma:latest", "size": 9},
        {"name": "minilm:latest", "size": 4, "capabilities": ["embedding"]},
    ]
}
SHOWN = {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 6000}}
CALL = {
    "message": {
        "role": "assistant",
        "content": "",
        "thinking": "Hm.",
        "tool_calls": [{"function": {"name": "sense_pose", "arguments": {}}}],
    },
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 2000,
    "prompt_eval_duration": 3_000_000_000,
    "eval_count": 20,
    "eval_duration": 500_000_000,
}
SAID = {
    "message": {"role": "assistant", "content": "Done."},
    "done_reason": "stop",
    "prompt_eval_count": 2100,
}


@contextmanager
def standing_in(monkeypatch, variable, pages, *answers):
    """A stand-in at the address of the variable; answers are to the POSTs, in their order."""
    import threading

    server = Server(*answers, pages=pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv(variable, f"127.0.0.1:{server.server_port}")
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ollama(monkeypatch, *answers):
    return standing_in(monkeypatch, "OLLAMA_HOST", {"/api/tags": TAGS}, (200, SHOWN), *answers)


def test_ollama_gets_context_and_sampling_with_each_request(monkeypatch):
    with ollama(monkeypatch, (200, CALL), (200, SAID)) as server:
        agent = started("ollama:gemma?n_ctx=5000&temperature=0.5&top_k=7&min_p=0.1&top_p=0.9&thinking=off")
        action = agent.act(None)
        assert isinstance(action, ToolCallAction) and action.name == "sense_pose"
        used = action.usage
        assert (used.input_tokens, used.output_tokens, used.reasoning) == (2000, 20, "Hm.")
        assert (used.prompt_seconds, used.writing_seconds, used.remarks) == (3.0, 0.5, ())
        last = agent.act(Observation(action, Outcome("ok", {"x": 5.0})))
        assert isinstance(last, StopAction) and last.reason == "done"
        assert agent.options["n_ctx"] == 5000 and agent.name == "ollama:gemma:latest"
    paths = [path for path, *_ in server.requests]
    assert paths == ["/api/show", "/api/chat", "/api/chat"]
    first, second = server.requests[1][2], server.requests[2][2]
    sampling = {"temperature": 0.5, "top_k": 7, "min_p": 0.1, "top_p": 0.9, "seed": 4}
    assert first["options"].items() >= {"num_ctx": 5000, "repeat_penalty": 1.0, **sampling}.items()
    assert 0 < first["options"]["num_predict"] <= 5000
    assert (first["model"], first["think"], first["stream"]) == ("gemma:latest", False, False)
    # What does not fit is an error there, and nothing is dropped.
    assert (first["truncate"], first["shift"]) == (False, False)
    assert first["tools"][0]["type"] == "function" and not {"max_tokens", "temperature"} & first.keys()
    made, result = second["messages"][-2:]
    assert made["thinking"] == "Hm." and made["tool_calls"][0]["function"]["arguments"] == {}
    assert (result["role"], result["tool_name"]) == ("tool", "sense_pose")
    assert json.loads(result["content"]) == {"x": 5.0}


def test_without_n_ctx_ollama_gets_what_the_model_takes_of_8192(monkeypatch):
    with ollama(monkeypatch, (200, SAID)) as server:
        agent = started('ollama:qwen3:0.6b?reasoning_effort=low&extra_body={"keep_alive":"1h"}')
        agent.act(None)
    body = server.requests[1][2]
    assert body["options"]["num_ctx"] == agent.options["n_ctx"] == 6000
    assert (body["think"], body["keep_alive"]) == ("low", "1h")


def test_what_ollama_refuses_is_told(monkeypatch):
    refused = {"error": "the input length exceeds the context length"}
    with ollama(monkeypatch, (400, refused)):
        last = started("ollama:gemma").act(None)
        assert isinstance(last, StopAction) and last.reason == "context"
    with (
        ollama(monkeypatch, (200, SAID)),
        pytest.raises(AgentSpecError, match="was trained with 6000 tokens"),
    ):
        agent_maker("ollama:gemma?n_ctx=9000")()
    with (
        ollama(monkeypatch, (200, SAID)),
        pytest.raises(AgentSpecError, match=r"no such model; it has qwen3:0.6b, gemma:latest"),
    ):
        agent_maker("ollama:llama9")
    with pytest.raises((KeyError, TypeError, AttributeError)):
        as_completion({"error": "none"})


def test_an_answer_that_is_none_of_ollamas_is_one_line(monkeypatch, capsys):
    with ollama(monkeypatch, (200, {"weather": "fine"})):
        assert main(["models", "check", "ollama:gemma"]) == 3
    assert "the answer is none of Ollama's" in capsys.readouterr().err


def test_a_local_server_lists_its_models(monkeypatch, capsys, tmp_path):
    with ollama(monkeypatch, (200, SAID)):
        assert served_models("ollama") == {"qwen3:0.6b": 523, "gemma:latest": 9}
        assert specs_of(["ollama:"]) == ["ollama:qwen3:0.6b", "ollama:gemma:latest"]
    assert main(["bench", "ollama:", "--suite", "crud", "--db", str(tmp_path / "b.db")]) == 2
    assert "start it with `ollama serve`" in capsys.readouterr().err


# LM Studio


def entry(key, held=(), most=32768):
    instances = [{"id": f"{key}:{k}", "config": {"context_length": one}} for k, one in enumerate(held)]
    return {"type": "llm", "key": key, "size_bytes": 5, "loaded_instances": instances} | {
        "max_context_length": most
    }


COMPLETION = {
    "choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2000, "completion_tokens": 2},
}


def lmstudio(monkeypatch, *entries):
    pages = {"/api/v1/models": {"models": [*entries, {"type": "embedding", "key": "nomic"}]}}

    def answer(_body):
        path = server.requests[-1][0]
        return (200, {"instance_id": "own"}) if path.startswith("/api/v1/models") else (200, COMPLETION)

    standin = standing_in(monkeypatch, "LMSTUDIO_HOST", pages, answer)
    server = standin.__enter__()
    return standin, server


@pytest.mark.parametrize(
    ("held", "query", "sent", "model"),
    [
        ((), "?n_ctx=5000", [("load", 5000)], "own"),
        ((), "", [("load", 8192)], "own"),
        ((4096,), "?n_ctx=5000", [("unload", "qwen:0"), ("load", 5000)], "own"),
        ((4096, 5000), "?n_ctx=5000", [], "qwen:1"),
        ((16384,), "", [], "qwen:0"),
        ((16384,), "?n_ctx=5000", [("unload", "qwen:0"), ("load", 5000)], "own"),
    ],
)
def test_lm_studio_loads_with_the_context_and_unloads_what_it_loaded(monkeypatch, held, query, sent, model):
    standin, server = lmstudio(monkeypatch, entry("qwen", held))
    try:
        agent = started(f"lmstudio:qwen{query}")
        agent.act(None)
        agent.close()
    finally:
        standin.__exit__(None, None, None)
    managed = [(path, body) for path, _, body in server.requests if path.startswith("/api/v1")]
    found = [
        (path.rpartition("/")[2], body.get("context_length") or body.get("instance_id"))
        for path, body in managed
    ]
    assert found == [*sent, *([("unload", "own")] if sent else [])]
    (asked,) = [body for path, _, body in server.requests if path == "/v1/chat/completions"]
    assert asked["model"] == model


def test_one_of_several_processes_leaves_the_model_to_the_others(monkeypatch):
    standin, server = lmstudio(monkeypatch, entry("qwen"))
    monkeypatch.setattr("multiprocessing.parent_process", lambda: object())
    try:
        agent_maker("lmstudio:qwen")().close()
    finally:
        standin.__exit__(None, None, None)
    assert [path for path, *_ in server.requests] == ["/api/v1/models/load"]


def test_what_lm_studio_cannot_do_is_told(monkeypatch):
    standin, _ = lmstudio(monkeypatch, entry("qwen", most=4000))
    try:
        assert served_models("lmstudio") == {"qwen": 5}
        with pytest.raises(AgentSpecError, match="the model takes 4000 tokens at most"):
            agent_maker("lmstudio:qwen?n_ctx=5000")()
        with pytest.raises(AgentSpecError, match="no such model; it has qwen"):
            agent_maker("lmstudio:gemma")()
    finally:
        standin.__exit__(None, None, None)


def test_an_older_lm_studio_is_used_as_it_is(monkeypatch):
    pages = {"/v1/models": {"data": [{"id": "qwen"}, {"id": "text-embedding-nomic"}]}}
    with standing_in(monkeypatch, "LMSTUDIO_HOST", pages, (200, COMPLETION)) as server:
        assert served_models("lmstudio") == {"qwen": None}
        started("lmstudio:qwen").act(None)
        with pytest.raises(AgentSpecError, match=r"`lms load qwen --context-length 5000`"):
            agent_maker("lmstudio:qwen?n_ctx=5000")()
    assert [path for path, *_ in server.requests] == ["/v1/chat/completions"]
