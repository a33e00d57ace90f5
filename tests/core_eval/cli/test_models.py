"""`pathrig models`: what a model takes, before a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_standin import completion, serving, tool_call
from chat_templates import QWEN3
from tiny_gguf import write_tiny_gguf

from agents.backends.llama_backend import SHIPPED_MODEL
from core_eval.cli.main import main

pytestmark = pytest.mark.llama


def test_a_model_is_measured_on_the_prompt_of_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check", "demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == "llama"
    assert found.items() >= {
        "architecture": "qwen3", "name": "pathrig-demo", "format": "hermes", "n_ctx": 4096,
        "n_threads": 1, "kv_type": "q8_0", "task": "water_one_plant", "limit_s": 120.0, "within_limit": True,
    }.items()  # fmt: skip
    # Four layers, two heads of 64 numbers for keys and as many for values, 34 bytes for 32 of them.
    assert found["cache_mib"] == pytest.approx(4096 * 4 * 2 * 2 * 64 * 34 / 32 / 2**20, abs=0.1)
    assert found["weights_mib"] == pytest.approx(2.15, abs=0.02)
    assert 400 < found["prompt_tokens"] < 1500
    seconds = found["prompt_tokens"] / found["prompt_tokens_per_s"] + 16 / found["writing_tokens_per_s"]
    assert found["first_answer_s"] == pytest.approx(seconds)


def test_a_limit_that_is_too_short_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["models", "check", "llama?max_seconds=0.001&thinking=off"]) == 1
    printed = capsys.readouterr().out
    assert "the limits take no first answer" in printed and "thinking          off" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_a_file_is_enough(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf", template=QWEN3, context=16384)
    assert main(["models", "check", f"{path}?n_batch=64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["n_batch"], found["n_ctx"]) == (f"llama:{path}?n_batch=64", 64, 8192)


def test_a_model_behind_a_server_is_asked_for_its_first_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    call = {"tool_calls": [tool_call("get_plant_pose", '{"plant_id": "plant_A"}')]}
    answer = completion(call, usage=usage) | {"timings": {"prompt_ms": 1800.0, "predicted_ms": 500.0}}
    pages = {"/v1/models": {"data": [{"id": "qwen3", "max_model_len": 4096}]}}
    with serving((200, answer), pages=pages) as (server, spec):
        assert main(["models", "check", spec]) == 0
        printed = capsys.readouterr().out
        assert main(["models", "check", spec, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for line in (
        "context           4,096 tokens",
        "first prompt      900 tokens",
        "prompt            500 tokens/s",
        "output            40 tokens/s",
        'the answer        calls get_plant_pose {"plant_id": "plant_A"}',
    ):
        assert line in printed.splitlines()
    assert all(len(line) <= 80 for line in printed.splitlines())
    assert found["prompt_tokens_per_s"] == 500 and found["within_limit"] and found["answer_tokens"] == 20
    assert "water plant_B" in server.requests[0][2]["messages"][1]["content"] and len(server.requests) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (completion({"content": "Hello."}, "stop"), "the answer        without a call"),
        (completion({"tool_calls": [tool_call("go", "{")]}), "cannot be read (bad_arguments)"),
        (completion({"content": ""}, "stop"), "remark            the answer is empty"),
    ],
)
def test_what_a_server_answers_is_told(
    answer: dict[str, object], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving((200, answer)) as (_, spec):
        assert main(["models", "check", spec]) == 0
    assert says in capsys.readouterr().out


def test_an_answer_that_a_limit_of_tokens_cuts_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with serving((200, completion({"content": "I think that"}, "length"))) as (_, spec):
        assert main(["models", "check", f"{spec}?max_tokens=3"]) == 1
    printed = capsys.readouterr().out
    assert "none within the limit of tokens" in printed and "the limits take no first answer" in printed


def test_a_server_that_is_too_slow_or_away_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with serving((None, {})) as (_, spec):
        assert main(["models", "check", f"{spec}?max_seconds=0.3"]) == 1
    printed = capsys.readouterr().out
    assert "none within the limit" in printed and "the limits take no first answer" in printed
    assert "0 tokens" not in printed
    assert main(["models", "check", "openai:http://127.0.0.1:9/v1#m?max_seconds=1"]) == 3
    assert capsys.readouterr().err == (
        "pathrig: http://127.0.0.1:9/v1: cannot be reached: [Errno 111] Connection refused\n"
    )


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("oracle", "'oracle' is no model"),
        ("none", "no model 'none'"),
        ("none.gguf", "there is no such GGUF file"),
    ],
)
def test_what_is_no_model_is_one_line(model: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check", model]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_models_that_ship_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    assert "demo" in capsys.readouterr().out


def test_the_same_weights_agree_and_others_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of one name, and with options in it.
    copy = tmp_path / SHIPPED_MODEL.name
    copy.write_bytes(SHIPPED_MODEL.read_bytes())
    one, other = (f"{path}?thinking_tokens=9&max_steps=2" for path in (SHIPPED_MODEL, copy))
    assert main(["models", "check", one, "--agree", other, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["agrees"] for one in found] == [True] * 3
    assert all(one["prompt_tokens"][0] == one["prompt_tokens"][1] > 100 for one in found)
    monkeypatch.setattr("core_eval.cli.models.AGREED_ON", ())
    call = completion({"tool_calls": [tool_call("lock_safety_mode", "{}")]}, usage={"prompt_tokens": 9})
    with serving((200, call)) as (_, spec):
        assert main(["models", "check", "demo", "--agree", f"{spec}?max_steps=2"]) == 1
    said = capsys.readouterr().out
    assert "water_one_plant: differs at step 1" in said and "qwen3?max_steps=2: lock_safety_mode {}" in said
    assert "and 9 tokens in the first prompt" in said
