"""Results of MCP servers, of any length, as values that the link carries."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest

from core_eval.call_status import CallStatus
from devices.outcome import Outcome
from firmware_bridge.mcp.results import beginning, result_value
from firmware_bridge.result_cache import make_answer

LETTERS = 300_000


def result(text: str, structured: Any = None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structured)


def carried(value: dict[str, Any]) -> dict[str, Any]:
    """What the link makes of a value."""
    answer, _ = make_answer("1", Outcome(CallStatus.OK, value))
    assert answer.status == CallStatus.OK, answer.error
    assert answer.value is not None
    return answer.value


@pytest.mark.parametrize("letter", ["y", "ü", "\x1b", "\U0001f331", '"'])
@pytest.mark.parametrize("structured", [False, True], ids=["text", "structured"])
def test_a_long_text_is_cut_and_the_call_succeeds(letter: str, structured: bool) -> None:
    text = letter * LETTERS
    value = carried(result_value(result(text, {"result": text} if structured else None)))
    assert text.startswith(value["text"]) and len(value["text"]) > 9000
    assert value["cut"] == LETTERS - len(value["text"])


def test_a_long_text_of_json_is_its_keys_where_they_fit() -> None:
    keys = {"rows": [[0] * 20] * 900}
    assert carried(result_value(result(json.dumps(keys, indent=2)))) == keys
    longer = {"rows": [[0] * 20] * 9000}
    for text in (json.dumps(longer), ""):
        value = carried(result_value(result(text, longer)))
        assert value["text"].startswith('{"rows": [[0') and value["cut"] > 0


def test_a_short_result_is_whole() -> None:
    assert result_value(result("x", {"a": 1})) == {"a": 1}
    assert result_value(result("[]", [1])) == {"result": [1]}
    assert result_value(result('{"a": 1}')) == {"a": 1}
    assert result_value(result("a\nb")) == {"text": "a\nb"}


def test_a_long_refusal_is_cut_too() -> None:
    outcome = Outcome(CallStatus.REJECTED, code="refused", message=beginning("\x00" * LETTERS))
    answer, _ = make_answer("1", outcome)
    assert answer.status == CallStatus.REJECTED
