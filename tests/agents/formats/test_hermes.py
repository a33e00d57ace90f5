from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Nonsense, read_arguments
from agents.formats.known_marks import known_marks


def only(text):
    (item,) = parse_answer(text).items
    return item


def test_a_call_as_qwen_writes_it():
    text = '<tool_call>\n{"name": "move_to", "arguments": {"x": 2.0, "y": -1}}\n</tool_call>'
    assert only(text) == CallText("move_to", {"x": 2.0, "y": -1})


def test_words_and_thinking_come_before_the_calls():
    text = '<think>\nI could <tool_call> here\n</think>\n\nNow:\n<tool_call>{"name": "home"}</tool_call>'
    parsed = parse_answer(text)
    assert parsed.items == (CallText("home", {}),)
    assert parsed.words == "\n\nNow:\n"
    assert parsed.thoughts == "I could <tool_call> here"


def test_several_calls_keep_their_order():
    text = "".join(f'<tool_call>{{"name": "t{k}", "arguments": {{}}}}</tool_call>\n' for k in range(3))
    assert [item.name for item in parse_answer(text).items] == ["t0", "t1", "t2"]


def test_a_call_in_a_thought_that_does_not_end_is_none_and_is_told():
    item = only('<think>maybe <tool_call>{"name": "a"}</tool_call>')
    assert isinstance(item, Nonsense) and item.code == "unclosed_thought"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<tool_call>{"name": "a", "arguments": {', "unclosed"),
        ("<tool_call>", "unclosed"),
        ("<tool_call>move_to(1, 2)</tool_call>", "bad_json"),
        ("<tool_call>" + "[" * 50_000 + "</tool_call>", "bad_json"),
        ('<tool_call>["a"]</tool_call>', "not_an_object"),
        ('<tool_call>{"arguments": {}}</tool_call>', "no_name"),
        ('<tool_call>{"name": 3, "arguments": {}}</tool_call>', "no_name"),
        ('<tool_call>{"name": "a", "arguments": [1]}</tool_call>', "bad_arguments"),
        ('<tool_call>{"name": "a", "arguments": "x=1"}</tool_call>', "bad_arguments"),
        ("done</tool_call>", "stray_mark"),
        ('<tool_call>{"name": "a", "arguments": {"k": ["\\ud800"]}}</tool_call>', "bad_arguments"),
        ('<tool_call>{"name": "\\ud800", "arguments": {}}</tool_call>', "no_name"),
    ],
)
def test_nonsense_is_named(text, code):
    item = only(text)
    assert isinstance(item, Nonsense)
    assert item.code == code
    assert item.reason


def test_whole_json_without_the_closing_mark_is_a_call():
    assert only('<tool_call>\n{"name": "a", "arguments": {"k": 1}}') == CallText("a", {"k": 1})


def test_a_good_call_after_nonsense_is_still_read():
    text = '<tool_call>{"name": <tool_call>{"name": "b"}</tool_call>'
    broken, good = parse_answer(text).items
    assert isinstance(broken, Nonsense)
    assert good == CallText("b", {})


def test_arguments_may_be_a_json_string():
    assert only('<tool_call>{"name": "a", "arguments": "{\\"k\\": 1}"}</tool_call>') == CallText(
        "a", {"k": 1}
    )
    assert read_arguments("") == {}
    assert read_arguments(None) == {}
    assert read_arguments("[]") is None
    assert read_arguments(7) is None


@given(st.text(alphabet=st.sampled_from(list('<>/_{}[]":,tool_callthink name\n01')), max_size=80))
def test_no_text_raises(text):
    for item in parse_answer(text).items:
        assert isinstance(item, CallText | Nonsense)


def is_plain(text: str) -> bool:
    """Marks of calls and thoughts within a call are the model's own doing, and end it."""
    return "tool_call>" not in text and not any(
        marks.search(text) for marks in (known_marks().open, known_marks().close)
    )


@given(
    st.text(min_size=1).filter(is_plain),
    st.dictionaries(st.text().filter(is_plain), st.floats(allow_nan=False) | st.integers()),
)
def test_what_a_template_prints_is_read_back(name, arguments):
    body = json.dumps({"name": name, "arguments": arguments})
    assert only(f"<tool_call>\n{body}\n</tool_call>") == CallText(name, arguments)
