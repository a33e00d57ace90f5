"""`pathrig models`: what a model takes, before a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_templates import QWEN3
from tiny_gguf import write_tiny_gguf

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
    assert found["weights_mib"] == pytest.approx(1.99, abs=0.02)
    assert 400 < found["prompt_tokens"] < 1500
    seconds = found["prompt_tokens"] / found["prompt_tokens_per_s"] + 16 / found["writing_tokens_per_s"]
    assert found["first_answer_s"] == pytest.approx(seconds)


def test_a_limit_that_is_too_short_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["models", "check", "llama?max_seconds=0.001&thinking=off"]) == 1
    printed = capsys.readouterr().out
    assert "the limit takes no first answer" in printed and "thinking          off" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_a_file_is_enough(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_tiny_gguf(tmp_path / "tiny.gguf", template=QWEN3, context=16384)
    assert main(["models", "check", f"{path}?n_batch=64", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["n_batch"], found["n_ctx"]) == (f"llama:{path}?n_batch=64", 64, 8192)


def test_a_model_behind_a_server_is_said_to_be_unmeasured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "check", "openai:http://127.0.0.1:9/v1#m"]) == 0
    assert "speed             not measured: the server is asked in a run" in capsys.readouterr().out


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
