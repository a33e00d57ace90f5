"""Answers of servers: what is read of them, and what goes back."""

from __future__ import annotations

import itertools
import json

import pytest
from chat_standin import DONE, completion, serving, started, tool_call
from farm_rig import FARM_ROVER

from agents.agent import InvalidAction, Observation, StopAction
from agents.backends.backend import PlainText
from agents.backends.completion import read_completion
from agents.formats import react
from agents.formats.calls import CallText, Nonsense, Tools
from agents.registry import make_agent
from devices.outcome import Outcome

TOOLS = Tools(FARM_ROVER.schemas())


def read(message, finish="stop", **more):
    ids = (f"id{number}" for number in itertools.count())
    return read_completion(completion(message, finish) | more, TOOLS, ids, seconds=1.0, cut="tokens")


@pytest.mark.parametrize(
    ("written", "goes_back"),
    [
        ('{"x": 1}', {"x": 1}),
        ({"x": 1}, {"x": 1}),
        ("", {}),
        (None, {}),
        ('{"x": ', {"malformed": '{"x": '}),
        ('{"x": NaN}', {"malformed": '{"x": NaN}'}),
        ("[1]", {"malformed": "[1]"}),
        ([1], {"malformed": "[1]"}),
        ('"{}"', {"malformed": '"{}"'}),
        (r'{"x": "\ud800"}', {"malformed": r'{"x": "\ud800"}'}),
    ],
)
def test_arguments_go_back_as_a_json_object(written, goes_back):
    echo = read({"tool_calls": [tool_call("move_to", written)]}).message
    (call,) = echo["tool_calls"]
    assert isinstance(call["function"]["arguments"], str)
    assert json.loads(call["function"]["arguments"], parse_constant=pytest.fail) == goes_back


def test_malformed_arguments_are_an_invalid_step_and_go_back_repaired():
    broken = completion({"content": None, "tool_calls": [tool_call("move_to", '{"x": ')]})
    with serving((200, broken), (200, DONE)) as (server, spec):
        agent = started(spec)
        action = agent.act(None)
        assert isinstance(action, InvalidAction) and action.code == "bad_arguments"
        agent.act(None)
        answer, result = server.requests[1][2]["messages"][2:]
    (call,) = answer["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"malformed": '{"x": '}
    assert result["tool_call_id"] == call["id"]


@pytest.mark.parametrize("call_id", [None, "", 7])
def test_calls_without_an_id_get_one(call_id):
    reply = read(
        {"tool_calls": [tool_call("sense_pose", "{}", call_id), tool_call("move_home", "{}", "own")]}
    )
    assert [item.call_id for item in reply.items] == ["id0", "own"]
    assert [call["id"] for call in reply.message["tool_calls"]] == ["id0", "own"]


def test_calls_without_a_name_go_back_with_one():
    reply = read({"tool_calls": [tool_call(None, "{}"), tool_call("", "{}")]})
    assert [item.what.code for item in reply.items] == ["no_name", "no_name"]
    assert [call["function"]["name"] for call in reply.message["tool_calls"]] == ["unnamed", "unnamed"]


def test_each_call_in_the_words_has_a_result_also_where_one_fails():
    text = "[TOOL_CALLS]sense_pose[ARGS]{}[TOOL_CALLS]move_home[ARGS]{}[TOOL_CALLS]list_plants[ARGS]{}"
    with serving((200, completion({"content": text}, "stop")), (200, DONE)) as (server, spec):
        agent = started(spec)
        action = agent.act(None)
        agent.act(Observation(action, Outcome("rejected", code="locked", message="no")))
        answer, *results = server.requests[1][2]["messages"][2:]
    assert [each["role"] for each in results] == ["tool"] * 3
    assert [each["tool_call_id"] for each in results] == [call["id"] for call in answer["tool_calls"]]


def test_whole_calls_of_an_answer_that_was_cut_are_made_and_the_log_says_so():
    calls = [tool_call("sense_pose", "{}", "a"), tool_call("move_to", '{"x": 1, "y"', "b")]
    reply = read({"content": "", "tool_calls": calls}, "length")
    assert (reply.stop, [item.what for item in reply.items]) == ("end", [CallText("sense_pose", {})])
    assert [call["id"] for call in reply.message["tool_calls"]] == ["a"]
    assert reply.usage.remarks == ("the server cut the answer short after 1 whole calls; they are made",)


def test_whole_calls_in_words_that_were_cut_are_made():
    text = '<tool_call>{"name": "sense_pose", "arguments": {}}</tool_call><tool_call>{"name": "mov'
    reply = read({"content": text}, "length")
    assert (reply.stop, [item.what for item in reply.items]) == ("end", [CallText("sense_pose", {})])
    assert len(reply.message["tool_calls"]) == 1


def test_an_answer_that_was_cut_within_its_only_call_met_its_limit():
    reply = read({"content": None, "tool_calls": [tool_call("move_to", '{"x"')]}, "length")
    assert reply.stop == "tokens" and isinstance(reply.items[0].what, Nonsense)


@pytest.mark.parametrize(
    ("message", "finish"),
    [({"content": None, "refusal": "I will not do that."}, "stop"), ({"content": ""}, "content_filter")],
)
def test_a_refusal_is_not_done(message, finish):
    with serving((200, completion(message, finish))) as (_, spec):
        action = started(spec).act(None)
    assert (type(action), action.reason) == (StopAction, "decline")
    assert action.usage.text == (message.get("refusal") or "")


@pytest.mark.parametrize(
    ("message", "remark"),
    [
        ({"content": None}, "the answer is empty"),
        ({"content": " \n"}, "the answer is empty"),
        ({"content": "", "reasoning_content": "Hm."}, "the answer is a thought alone"),
        ({"content": "<think>\nHm.\n</think>\n"}, "the answer is a thought alone"),
    ],
)
def test_saying_nothing_is_told_in_the_log(message, remark):
    assert read(message).usage.remarks == (remark,)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_thoughts_are_apart_and_go_back_with_the_calls_that_follow_them(key):
    reply = read({"content": "", key: "First the pose.", "tool_calls": [tool_call("sense_pose", "{}")]})
    assert reply.usage.reasoning == "First the pose."
    assert reply.message["reasoning_content"] == "First the pose."


def test_thoughts_in_the_words_are_apart():
    reply = read({"content": "<think>\nHm.\n</think>\n[TOOL_CALLS]sense_pose[ARGS]{}"})
    assert reply.usage.reasoning == "Hm."
    assert [item.what for item in reply.items] == [CallText("sense_pose", {})]


def test_a_content_of_parts_is_their_text():
    parts = [{"type": "text", "text": "All "}, {"type": "image_url"}, {"type": "text", "text": "done."}]
    assert read({"content": parts}).usage.text == "All done."


def test_timings_of_llama_server_are_the_answers_costs():
    usage = {"prompt_tokens": 100, "completion_tokens": 5}
    timings = {"cache_n": 60, "prompt_n": 40, "prompt_ms": 250.0, "predicted_n": 5, "predicted_ms": 500.0}
    used = read({"content": "Done."}, usage=usage, timings=timings).usage
    assert (used.input_tokens, used.cached_tokens, used.output_tokens) == (40, 60, 5)
    assert (used.prompt_seconds, used.writing_seconds) == (0.25, 0.5)
    assert read({"content": "x"}, timings={"prompt_ms": "a", "predicted_ms": -1}).usage.prompt_seconds is None


@pytest.mark.parametrize("reading", ["strict", "lenient"])
def test_words_before_a_call_of_a_server_that_sent_none(reading):
    """Nobody knows its model's form: only an answer that is nothing but calls makes them."""
    with serving((200, completion({"content": f"I go.\n{CALL}"}, "stop"))) as (_, spec):
        action = started(f"{spec}?reading={reading}").act(None)
    assert isinstance(action, InvalidAction) == (reading == "strict")
    assert make_agent(f"{spec}?reading={reading}").options["reading"] == reading


CALL = '<tool_call>{"name": "move_home", "arguments": {}}</tool_call>'


def test_the_old_form_of_a_call_counts():
    old = {"content": None, "function_call": {"name": "move_to", "arguments": '{"x": 1}'}}
    reply = read(old, "function_call")
    assert [item.what for item in reply.items] == [CallText("move_to", {"x": 1})]
    assert "move_to" in reply.usage.text


@pytest.mark.parametrize(
    ("message", "finish", "code"),
    [
        ({"content": None}, "tool_calls", "unread_call"),
        ({"content": "", "tool_calls": []}, "tool_calls", "unread_call"),
        ({"content": "", "reasoning_content": f"I go. {CALL}"}, "stop", "call_in_thought"),
    ],
)
def test_a_call_that_a_server_loses_is_not_the_end(message, finish, code):
    (item,) = read(message, finish).items
    assert isinstance(item.what, Nonsense) and item.what.code == code


def test_words_that_a_server_says_are_a_call_are_words_with_a_remark():
    reply = read({"content": "All is done."}, "tool_calls")
    assert reply.items == () and "words alone" in reply.usage.remarks[0]


def test_a_call_in_the_words_beside_calls_is_in_the_log():
    made = {"content": f"Then {CALL}", "tool_calls": [tool_call("move_home", "{}")]}
    reply = read(made)
    assert len(reply.items) == 1
    assert "not made" in reply.usage.remarks[0]
    assert not read(made | {"content": "I use move_home()."}).usage.remarks


def test_a_server_that_does_not_heed_the_stop_text_has_its_answer_cut():
    text = (
        "<think>Observation: mine</think>Action: move_home\nAction Input: {}\nObservation: made up\nAction: x"
    )
    plain = PlainText(react.FORMAT, stop=("Observation:",))
    ids = (f"id{number}" for number in itertools.count())
    reply = read_completion(
        completion({"content": text}, "stop"), TOOLS, ids, seconds=1.0, cut="tokens", plain=plain
    )
    assert [item.what for item in reply.items] == [CallText("move_home", {})]
    assert reply.message["content"] == "Action: move_home\nAction Input: {}"
    assert reply.usage.reasoning == "Observation: mine"
