"""Models as YAML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.registry import parse_spec
from configs.errors import ConfigError
from configs.models_loader import model_names, model_spec


def test_a_file_stands_for_a_specification_with_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "model: llama:weights/mine.gguf?top_k=5&seed=3\nn_ctx: 4096\ntemperature: 0.5\nthinking: off\n"
        "seed: 4\nsystem_prompt_file: prompts/mine.txt\nmax_seconds: 600\n"
    )
    assert model_spec(str(file)) == (
        f"llama:{tmp_path}/weights/mine.gguf?n_ctx=4096&temperature=0.5&top_k=5&seed=4&thinking=off"
        f"&system_prompt_file={tmp_path}/prompts/mine.txt&max_seconds=600&name=model:mine"
    )


def test_other_models_keep_their_place(tmp_path: Path) -> None:
    file = tmp_path / "server.yaml"
    file.write_text("model: openai:http://localhost:8080/v1#qwen3\ntemperature: 1\n")
    assert model_spec(str(file)) == "openai:http://localhost:8080/v1#qwen3?temperature=1&name=model:server"


def test_a_file_beside_is_named_without_dots(tmp_path: Path) -> None:
    file = tmp_path / "models" / "mine.yaml"
    file.parent.mkdir()
    file.write_text("model: llama:../weights/mine.gguf\n")
    assert model_spec(str(file)) == f"llama:{tmp_path}/weights/mine.gguf?name=model:mine"


@pytest.mark.parametrize("name", model_names())
def test_shipped_files_are_right(name: str) -> None:
    assert parse_spec(model_spec(name)).options is not None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("temperature: 1\n", "model: Field required"),
        (
            "model: llama\ntemprature: 1\n",
            "mine.yaml:2: temprature: unknown key 'temprature', did you mean",
        ),
        ("model: llama\ntemperature: hot\n", "mine.yaml:2: temperature: Input should be a valid number"),
        ("model: llama\ntimeout: 5\n", "mine.yaml:2: timeout: of a llama agent: it has no option 'timeout'"),
        ("model: oracle\n", "mine.yaml:1: model: 'oracle' is no model"),
        ("model: wizard\n", "mine.yaml:1: model: unknown agent 'wizard'"),
        ("model: llama?x=1\n", "mine.yaml:1: model: llama agent: unknown option 'x'"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        model_spec(str(file))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_lists_those_that_ship() -> None:
    with pytest.raises(ConfigError, match="no model 'demmo'; there are demo, "):
        model_spec("demmo")
