"""Servers that do not take a field of the request: it is sent otherwise where that can be, and logged."""

from __future__ import annotations

import pytest
from chat_standin import DONE, completion, serving, started

from agents.agent import BackendError


def openai_s(field, advice=""):
    """What OpenAI's API answers for a model that does not take a parameter."""
    message = f"Unsupported parameter: '{field}' is not supported with this model.{advice}"
    code = {"type": "invalid_request_error", "param": field, "code": "unsupported_parameter"}
    return {"error": {"message": message, **code}}


def refusing(*fields, status=400, text=openai_s):
    """A server that takes none of these fields."""

    def answer(body):
        found = next((field for field in fields if field in body), None)
        return (200, DONE) if found is None else (status, text(found))

    return answer


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, lambda field: openai_s(field, " Use 'max_completion_tokens' instead.")),
        (400, lambda field: {"error": {"message": f"Unrecognized request argument supplied: {field}"}}),
        (422, lambda field: {"detail": [{"type": "extra_forbidden", "loc": ["body", field]}]}),
        (400, lambda field: f'unknown field "{field}"'.encode()),
    ],
)
def test_a_server_without_max_tokens_gets_the_newer_field(status, text):
    with serving(refusing("max_tokens", status=status, text=text)) as (server, spec):
        agent = started(spec)
        assert "token_limit" not in agent.options
        action = agent.act(None)
        started(agent).act(None)
        asked = [body for _, _, body in server.requests]
    assert action.reason == "done"
    assert action.usage.remarks == ("the server takes max_completion_tokens, not max_tokens; that is sent",)
    limits = [body.get("max_completion_tokens") for body in asked]
    assert limits == [None, 4096, 4096], "one refused request, then no other"
    assert all("max_tokens" not in body for body in asked[1:])
    assert agent.options["token_limit"] == "max_completion_tokens"


def test_an_answer_that_is_cut_ends_the_episode_as_ever():
    cut = completion({"content": "and so"}, "length")
    with serving((400, openai_s("max_tokens")), (200, cut)) as (_, spec):
        assert started(spec).act(None).reason == "max_tokens"


def test_a_server_without_stop_gets_none_and_react_still_ends_at_an_observation():
    text = "Action: sense_pose\nAction Input: {}\nObservation: made up\nFinal Answer: x"
    answers = ((400, openai_s("stop")), (200, completion({"content": text}, "stop")), (200, DONE))
    with serving(*answers) as (server, spec):
        agent = started(f"{spec}?scaffold=react")
        action = agent.act(None)
        asked = [body for _, _, body in server.requests]
    assert action.name == "sense_pose" and "made up" not in str(action.arguments)
    assert ["stop" in body for body in asked] == [True, False]
    assert agent.options["sends_stop"] is False
    assert action.usage.remarks == ("the server takes no stop; answers are cut when they are read",)


def test_a_server_that_takes_neither_is_one_line_after_one_more_request():
    with serving(refusing("max_tokens", "max_completion_tokens")) as (server, spec):
        with pytest.raises(BackendError, match=r"status 400: .*max_completion_tokens") as refused:
            started(spec).act(None)
        assert len(server.requests) == 2
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 4096. This model supports at most 2048 tokens.",
        "Unsupported value: 'temperature' does not support 0 with this model.",
    ],
)
def test_another_refusal_is_an_error_at_once(message):
    error = {"error": {"message": message, "param": message.split(":")[0].split()[0]}}
    with serving((400, error)) as (server, spec):
        with pytest.raises(BackendError, match="status 400"):
            started(spec).act(None)
        assert len(server.requests) == 1
