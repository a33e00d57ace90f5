"""Options of model agents in their specifications."""

from __future__ import annotations

import pytest

from agents.agent import AgentSpecError, Limits
from agents.options import ModelOptions, make_options, merged, parse_options, query_of
from agents.registry import parse_spec

ALL = frozenset(ModelOptions.model_fields)


def test_options_of_a_specification() -> None:
    found = parse_spec(
        "llama:a/b.gguf?temperature=0.7&n_ctx=4096&thinking=off&grammar=strict&max_seconds=600"
    )
    assert (found.name, found.rest) == ("llama", "a/b.gguf")
    assert found.options == ModelOptions(
        n_ctx=4096, temperature=0.7, thinking=False, grammar="strict", max_seconds=600
    )
    assert (
        found.text()
        == "llama:a/b.gguf?n_ctx=4096&temperature=0.7&grammar=strict&thinking=off&max_seconds=600"
    )


@pytest.mark.parametrize("spec", ["llama", "llama?temperature=0", "llama?grammar=calls&seed=0"])
def test_the_default_is_left_out_of_the_canonical_form(spec: str) -> None:
    assert parse_spec(spec).text() == "llama"


def test_other_agents_take_no_options() -> None:
    found = parse_spec("scripted:what?.jsonl")
    assert (found.rest, found.options) == ("what?.jsonl", None)
    assert found.text() == "scripted:what?.jsonl"


def test_every_option_comes_back_from_its_canonical_form() -> None:
    options = ModelOptions.model_validate(
        {
            "n_ctx": 64, "n_batch": 8, "n_threads": 3, "n_gpu_layers": 0, "kv_type": "q8_0",
                "prompt_cache": False,
            "lora": "l a.gguf", "chat_template": "t?.jinja", "server": "/bin/x", "temperature": 0.123456789,
            "top_k": 0, "top_p": 0.5, "min_p": 0.05, "seed": 7, "scaffold": "react",
            "tools": "full", "reading": "lenient", "grammar": "off", "reasoning_effort": "low",
            "thinking": True, "thinking_tokens": 0, "system_prompt": "Say: a&b=c?\nDone + 100% é",
            "examples_file": "e.jsonl", "prompts": "typos",
            "max_steps": 1, "max_tokens": 2, "max_seconds": 1e6,
            "answer_tokens": 4, "timeout": 5.25, "header": ["X-A: 1&2", "Authorization: Bearer $KEY"],
            "extra_body": {"b": [1, {"a": None}], "a": "?"},
            "api_key_env": "MY_KEY", "name": "mine? & others",
        }
    )  # fmt: skip
    query = query_of(options)
    assert parse_options("x", query[1:], ALL) == options
    assert {*ModelOptions.model_fields} - {"system_prompt_file"} == options.model_fields_set
    assert query_of(parse_options("x", query[1:], ALL)) == query


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("llama?temprature=1", "llama agent: unknown option 'temprature', did you mean 'temperature'?"),
        ("llama?zzz=1", "llama agent: unknown option 'zzz', use answer_tokens, "),
        ("llama?api_key_env=A", "llama agent: it has no option 'api_key_env'; it takes "),
        ("llama?temperature=hot", "llama agent: option temperature=hot: Input should be a valid number"),
        ("llama?temperature=nan", "llama agent: option temperature=nan: "),
        ("llama?n_ctx=0", "llama agent: option n_ctx=0: "),
        (
            "llama?grammar=json",
            "llama agent: option grammar=json: Input should be 'off', 'calls' or 'strict'",
        ),
        ("llama?seed=1&seed=2", "llama agent: option seed is given twice"),
        (
            'openai:http://127.0.0.1/v1#m?extra_body={"messages":[]}',
            "openai agent: option extra_body={\"messages\":[]}: 'messages' is set by the kit, ",
        ),
        ("llama?seed", "llama agent: write options as ?key=value&key=value, not 'seed'"),
        (
            "llama?system_prompt=a&system_prompt_file=b",
            "llama agent: give ",
        ),
    ],
)
def test_a_wrong_option_is_one_line(spec: str, says: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        parse_spec(spec)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("Authorization: Bearer 123", "the value of Authorization would stand in every log"),
        ("X", "no header"),
    ],
)
def test_headers_hold_no_secrets(header: str, says: str) -> None:
    with pytest.raises(AgentSpecError, match=says):
        make_options("openai", {"header": header}, ALL)


def test_what_is_set_later_wins_and_one_system_prompt_replaces_the_other() -> None:
    first = ModelOptions(temperature=0.5, seed=3, system_prompt="a")
    later = ModelOptions.model_validate({"temperature": 0.0, "system_prompt_file": "b"})
    assert merged(first, later) == ModelOptions.model_validate({"seed": 3, "system_prompt_file": "b"})


def test_limits_that_are_set_replace_the_tasks() -> None:
    assert ModelOptions(max_steps=3).limits(Limits(9, 8, 7.0)) == Limits(3, 8, 7.0)
    assert ModelOptions(max_tokens=5, max_seconds=0.5).limits(Limits(9, 8, 7.0)) == Limits(9, 5, 0.5)
