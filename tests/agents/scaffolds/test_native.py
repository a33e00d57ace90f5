from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

import pytest
from farm_rig import FARM_ROVER

from agents.agent import EpisodeContext, InvalidAction, Limits, Observation, StopAction, ToolCallAction, Usage
from agents.backends.backend import ChatBackend, Reply, ReplyItem
from agents.formats.calls import CallText, Nonsense
from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.prompting import DECLINE_SCHEMA
from devices.outcome import Outcome

OK = Outcome("ok", {"safety": "unlocked"})


class Backend(ChatBackend):
    """Answers what it was given, and keeps what it was asked."""

    name = "stand-in"
    options = MappingProxyType({"grammar": "off"})

    def __init__(self, *answers, tokens=10, stop="end"):
        self.answers, self.tokens, self.stop = list(answers), tokens, stop
        self.asked = []
        self.closed = False

    def start(self, seed, schemas):
        self.seed, self.schemas = seed, schemas

    def answer(self, messages, *, tokens, deadline):
        self.asked.append(([dict(message) for message in messages], tokens, deadline.left))
        items = tuple(ReplyItem(what, f"id{k}") for k, what in enumerate(self.answers.pop(0)))
        usage = Usage("words", 5, 2, self.tokens, 0.1)
        return Reply({"role": "assistant", "content": "words"}, items, self.stop, usage)

    def close(self):
        self.closed = True


def started(backend, **options):
    clock = options.pop("clock", lambda: 0.0)
    agent = NativeScaffold(backend, clock=clock)
    agent.start(EpisodeContext("Do it.", FARM_ROVER.tools, seed=3, limits=Limits(**options)))
    return agent


def test_calls_of_one_answer_are_made_one_after_another():
    backend = Backend([CallText("a", {}), CallText("b", {"k": 1})], [])
    agent = started(backend)
    first = agent.act(None)
    assert first == ToolCallAction("a", {}, Usage("words", 5, 2, 10, 0.1))
    second = agent.act(Observation(first, OK))
    assert second == ToolCallAction("b", {"k": 1})
    assert second.usage.output_tokens == 0
    last = agent.act(Observation(second, Outcome("rejected", code="too_far", message="move first")))
    assert isinstance(last, StopAction)
    assert last.reason == "done"
    messages = backend.asked[-1][0]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert messages[3] == {"role": "tool", "content": '{"safety":"unlocked"}', "tool_call_id": "id0"}
    assert json.loads(messages[4]["content"]) == {"error": "too_far", "message": "move first"}


def test_the_backend_gets_seed_and_schemas():
    backend = Backend([])
    started(backend)
    assert backend.seed == 3
    assert backend.schemas == [*FARM_ROVER.schemas(), DECLINE_SCHEMA]


def test_nonsense_is_an_invalid_step_and_the_model_reads_why():
    backend = Backend([Nonsense("bad_json", "the call is not JSON", "{")], [CallText("a", {})])
    agent = started(backend)
    action = agent.act(None)
    assert isinstance(action, InvalidAction)
    assert (action.code, action.text, action.usage.output_tokens) == ("bad_json", "{", 10)
    assert agent.act(None) == ToolCallAction("a", {}, Usage("words", 5, 2, 10, 0.1))
    told = backend.asked[-1][0][-1]
    assert json.loads(told["content"]) == {"error": "bad_json", "message": "the call is not JSON"}


def test_steps_are_limited_even_within_one_answer():
    agent = started(Backend([CallText("a", {}), CallText("b", {}), CallText("c", {})]), steps=2)
    first = agent.act(None)
    second = agent.act(Observation(first, OK))
    assert isinstance(second, ToolCallAction)
    assert agent.act(Observation(second, OK)) == StopAction("max_steps")


def test_tokens_are_limited_over_the_episode():
    backend = Backend([CallText("a", {})], [CallText("a", {})])
    agent = started(backend, output_tokens=20)
    first = agent.act(None)
    second = agent.act(Observation(first, OK))
    assert [tokens for _, tokens, _ in backend.asked] == [20, 10]
    assert agent.act(Observation(second, OK)) == StopAction("max_tokens")


def test_time_is_limited_over_the_episode():
    now = [0.0]
    backend = Backend([CallText("a", {})])
    agent = started(backend, seconds=5.0, clock=lambda: now[0])
    first = agent.act(None)
    now[0] = 6.0
    assert agent.act(Observation(first, OK)) == StopAction("max_time")


def test_an_answer_cut_short_stops_with_its_reason():
    for stop, reason in (("tokens", "max_tokens"), ("time", "max_time"), ("context", "context")):
        action = started(Backend([Nonsense("unclosed", "", "")], stop=stop)).act(None)
        assert isinstance(action, StopAction)
        assert action.reason == reason
        assert action.usage.output_tokens == 10


def test_a_new_episode_forgets_the_last_one():
    backend = Backend([CallText("a", {}), CallText("b", {})], [])
    agent = started(backend)
    agent.act(None)
    agent.start(EpisodeContext("Else.", FARM_ROVER.tools))
    assert isinstance(agent.act(None), StopAction)
    assert [message["content"] for message in backend.asked[-1][0]][1:] == ["Else."]


def test_the_backends_options_are_the_agents():
    assert started(Backend()).options == {"grammar": "off", "prompt": "operator"}


def test_decline_ends_the_episode_and_is_no_step():
    backend = Backend([CallText("a", {}), CallText("decline", {"reason": "unsafe"}), CallText("b", {})])
    agent = started(backend, steps=1)
    first = agent.act(None)
    assert agent.act(Observation(first, OK)) == StopAction("max_steps")
    agent = started(Backend([CallText("decline", {})]))
    assert agent.act(None) == StopAction("decline", Usage("words", 5, 2, 10, 0.1))


def test_a_rigs_own_decline_is_called():
    backend = Backend([CallText("decline", {})])
    agent = NativeScaffold(backend)
    agent.start(EpisodeContext("Do it.", [replace(FARM_ROVER.tools[0], name="decline")]))
    assert isinstance(agent.act(None), ToolCallAction)
    assert [schema["function"]["name"] for schema in backend.schemas] == ["decline"]


def test_close_closes_the_backend():
    backend = Backend()
    started(backend).close()
    assert backend.closed


CALLS = [CallText("pick", {}), CallText("move_to", {"x": 1.0}), CallText("place", {})]


@pytest.mark.parametrize("status", ["rejected", "invalid", "blocked", "fault"])
def test_after_a_call_that_failed_the_rest_of_the_answer_is_dropped_and_the_model_told(status):
    backend = Backend(CALLS, [CallText("look", {})], [])
    agent = started(backend)
    first = agent.act(None)
    following = agent.act(Observation(first, Outcome(status, code="too_far", message="go there")))
    assert following == ToolCallAction("look", {}, Usage("words", 5, 2, 10, 0.1))
    told = backend.asked[-1][0][3:]
    assert [message["tool_call_id"] for message in told] == ["id0", "id1", "id2"]
    errors = [json.loads(message["content"]) for message in told]
    assert [error["error"] for error in errors] == ["too_far", "not_run", "not_run"]
    assert "2 further calls of this answer were not run" in errors[1]["message"]
    assert agent.act(Observation(following, OK)) == StopAction("done", Usage("words", 5, 2, 10, 0.1))
    assert agent._steps == 2


def test_after_nonsense_the_rest_of_the_answer_is_dropped_too():
    backend = Backend([CallText("a", {}), Nonsense("bad_json", "the call is not JSON", "{"), CALLS[1]], [])
    agent = started(backend)
    first = agent.act(None)
    assert isinstance(agent.act(Observation(first, OK)), InvalidAction)
    assert isinstance(agent.act(None), StopAction)
    last = json.loads(backend.asked[-1][0][-1]["content"])
    assert "1 further call of this answer was not run" in last["message"]


def test_a_model_whose_calls_have_no_ids_is_told_once():
    class WithoutIds(Backend):
        def answer(self, *args, **options):
            reply = super().answer(*args, **options)
            return replace(reply, items=tuple(ReplyItem(item.what) for item in reply.items))

    backend = WithoutIds(CALLS, [])
    agent = started(backend)
    agent.act(Observation(agent.act(None), Outcome("rejected", code="too_far", message="go there")))
    told = backend.asked[-1][0][3:]
    assert [json.loads(message["content"])["error"] for message in told] == ["too_far", "not_run"]
