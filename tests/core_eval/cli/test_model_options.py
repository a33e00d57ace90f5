"""Options of models from the command line to the log, the tables and the next run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_templates import QWEN3
from tiny_gguf import write_tiny_gguf

from agents.backends.llama_backend import LlamaBackend
from agents.scaffolds.prompting import DECLINE, NOT_TRAINED_ON
from core_eval.cli.main import main
from core_eval.log import LogReader

pytestmark = pytest.mark.llama

RUN = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--db", "log.db"]


@pytest.fixture(autouse=True)
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_flags_multiply_models_and_are_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--set", "grammar=off,calls", "--set", "temperature=0.0", "--set", "max_steps=9"]
    assert main([*RUN, "--agent", "llama", "--agent", "oracle", *flags, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [one["agent"] for one in printed["episodes"]] == [
        "llama?grammar=off&max_steps=9", "llama?max_steps=9", "oracle",
    ]  # fmt: skip
    with LogReader(Path("log.db")) as log:
        off, calls, oracle = log.episodes()
        assert [one.limits["steps"] for one in (off, calls, oracle)] == [9, 9, 9]
        assert [one.agent_info["options"]["grammar"] for one in (off, calls)] == ["off", "calls"]
        assert "options" not in oracle.agent_info
        assert off.agent_info["options"].items() >= {"kv_type": "q8_0", "n_threads": 1, "n_ctx": 4096}.items()
        assert len(off.agent_info["options"]["template_sha256"]) == 64
        prompt = log.prompt(off.id)
        assert prompt is not None and prompt.messages[-1]["content"] == off.definition.prompt
        assert prompt.rendered is not None and off.definition.prompt in prompt.rendered
        offered = {tool["function"]["name"] for tool in prompt.tools}
        assert offered == {tool["function"]["name"] for tool in off.definition.tools} - NOT_TRAINED_ON | {
            DECLINE
        }
        assert log.prompt(oracle.id) is None
        turn = log.turns(off.id)[0]
        assert 0 < turn.prompt_seconds < turn.first_token_seconds < turn.seconds
        assert turn.writing_seconds > 0
        assert log.machine_cost(off.id).load_seconds > 0


def test_what_is_shown_of_a_model_fits_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*RUN, "--agent", "llama", "--set", "grammar=off,calls"]) == 0
    assert "llama?grammar=off" in capsys.readouterr().out
    assert main(["show", "log.db", "--episode", "1"]) == 0
    shown = capsys.readouterr().out
    for text in ("grammar off", "kv_type q8_0", "tokens new", "first token after", "load "):
        assert text in " ".join(shown.split())
    assert main(["show", "log.db"]) == 0
    listed = capsys.readouterr().out
    assert "for each episode accepted and free of harm" in " ".join(listed.split())
    assert all(len(line) <= 80 for line in (shown + listed).splitlines())
    assert main(["report", "log.db", "--out", "report.html"]) == 0
    assert "grammar off" in Path("report.html").read_text()


def test_a_limit_that_takes_no_first_answer_is_an_error_before_anything_moves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*RUN, "--agent", "llama", "--set", "max_seconds=0.001"]) == 2
    said = capsys.readouterr().err
    assert "tokens/s" in said and "more than the limit of 0.001 s" in said and said.count("\n") == 1
    with LogReader(Path("log.db")) as log:
        assert log.runs() == []


def test_a_context_too_small_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--agent", "llama?n_ctx=256"]) == 2
    assert "and the context 256: give a larger n_ctx, " in capsys.readouterr().err


def test_a_model_trained_with_too_few_tokens_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    write_tiny_gguf(Path("short.gguf"), template=QWEN3, context=300)
    assert main([*RUN, "--agent", "llama:short.gguf"]) == 2
    assert "and the context 300: the model was trained with 300, and needs " in capsys.readouterr().err


def test_models_are_loaded_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    made, closed = LlamaBackend.__init__, LlamaBackend.close

    def make(self: LlamaBackend, *given: Any) -> None:
        made(self, *given)
        counts.append(1)

    def close(self: LlamaBackend) -> None:
        closed(self)
        counts.append(-1)

    monkeypatch.setattr(LlamaBackend, "__init__", make)
    monkeypatch.setattr(LlamaBackend, "close", close)
    agents = [f"--agent=llama?seed={seed}" for seed in (1, 2)]
    assert main([*RUN, *agents, "--episodes", "2"]) == 0
    assert counts == [1, -1] * 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ["--agent", "random", "--set", "grammar=off"],
            "--set grammar: none of the agents takes it; models take",
        ),
        (
            ["--agent", "llama", "--set", "grammar=of"],
            "llama agent: option grammar=of: Input should be 'off'",
        ),
        (["--agent", "llama?n_ctxx=1"], "llama agent: unknown option 'n_ctxx', did you mean 'n_ctx'?"),
        (["--agent", "model:none"], "no model 'none'; there are demo"),
        (["--agent", "llama", "--set", "grammar"], "--set 'grammar': write KEY=VALUE"),
        (["--agent", "llama", "--set", "top_k=1", "--set", "top_k=2"], "--set top_k: is given twice"),
        (
            ["--agent", "llama", "--set", "topk=1"],
            "takes it; models take top_k",
        ),
        (
            ["--agent", "oracle", "--set", "max_steps=x"],
            "max_steps=x: Input should be a valid integer",
        ),
        (["--resume", "--set", "temperature=1"], "--resume uses the plan in the log"),
    ],
)
def test_what_is_wrong_is_one_line(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *given, *([] if "--resume" in given else RUN[1:])]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_a_wrong_file_of_a_later_model_is_found_before_the_first_episode(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = write_tiny_gguf(tmp_path / "broken.gguf", template=QWEN3 + "{% if %}")
    assert main([*RUN, "--agent", "llama", "--agent", f"llama:{broken}"]) == 2
    assert "template" in capsys.readouterr().err
    assert not Path("log.db").exists()
