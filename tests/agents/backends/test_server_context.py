"""The context of a model on a server: asked for, read in refusals, and kept to."""

from __future__ import annotations

import pytest
from chat_standin import DONE, completion, serving, started, tool_call

from agents.agent import Observation, StopAction
from agents.backends.prompt_count import PromptCount
from agents.backends.server_context import ServerContext
from devices.outcome import Outcome

VLLM = {"object": "list", "data": [{"id": "qwen3", "owned_by": "vllm", "max_model_len": 4096}]}
LLAMA_SERVER = {
    "object": "list",
    "models": [{"name": "qwen3.gguf"}],
    "data": [{"id": "qwen3.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40960}}],
}
PROPS = {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1, "build_info": "b6800"}


@pytest.mark.parametrize(
    "pages",
    [{"/v1/models": VLLM}, {"/v1/models": LLAMA_SERVER, "/props": PROPS}],
    ids=["vLLM", "llama-server"],
)
def test_an_answer_may_be_as_long_as_the_context_leaves(pages):
    with serving((200, DONE), pages=pages) as (server, spec):
        started(spec).act(None)
        asked = server.requests[0][2]["max_tokens"]
    # The rover's prompt has 1,511 tokens with Qwen3's vocabulary.
    assert 1500 < asked < 4096 - 1511


def test_the_option_n_ctx_names_a_context_that_the_server_does_not_tell():
    with serving((200, DONE)) as (server, spec):
        started(f"{spec}?n_ctx=3000").act(None)
        assert 64 <= server.requests[0][2]["max_tokens"] < 3000 - 1511


@pytest.mark.parametrize(
    ("refusal", "fitting"),
    [
        # vLLM before 0.7, OpenAI, and llama-cpp-python's server
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5607 tokens (1511 "
            "in the messages, 4096 in the completion).",
            2585,
        ),
        # vLLM 0.9
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length "
            "is 4096 tokens and your request has 1511 input tokens (4096 > 4096 - 1511).",
            2585,
        ),
        # vLLM 0.20: the number of input tokens is the least that does not fit, so an estimate serves
        (
            "This model's maximum context length is 4096 tokens. However, you requested 4096 output tokens "
            "and your prompt contains at least 1 input tokens, for a total of at least 4097 tokens.",
            2096,
        ),
        # llama-server, whose prompt alone is too long
        (
            '{"error":{"code":400,"message":"the request exceeds the available context size, try increasing '
            'it","type":"exceed_context_size_error","n_prompt_tokens":5607,"n_ctx":4096}}',
            None,
        ),
        # SGLang
        (
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested "
            "a total of 5607 tokens: 1511 tokens from the input messages and 4096 tokens for the completion.",
            2585,
        ),
        ("The input (5607 tokens) is longer than the model's context length (4096 tokens).", None),
        ("the context is exceeded", None),
        ("maximum context length is 99999999999999999999999999 tokens", None),
    ],
)
def test_refusals_name_what_fits(refusal, fitting):
    assert ServerContext().smaller(refusal, 4096, 2000) == fitting


def refuse(body):
    return 400, {"error": {"message": _requested(body["max_tokens"])}}


def _requested(tokens):
    return (
        f"This model's maximum context length is 4096 tokens. However, you requested {1511 + tokens} tokens "
        f"(1511 in the messages, {tokens} in the completion)."
    )


def test_a_refusal_that_names_the_context_is_adapted_to_once():
    with serving(refuse, (200, DONE)) as (server, spec):
        assert started(spec).act(None).reason == "done"
        assert [body["max_tokens"] for _, _, body in server.requests] == [4096, 2585]
    with serving(refuse) as (server, spec):
        action = started(spec).act(None)
        assert (type(action), action.reason) == (StopAction, "context")
        assert "the server refuses" in action.usage.remarks[0] and len(server.requests) == 2


def test_an_answer_that_the_context_cut_ends_as_context():
    said = completion({"content": "and so on and"}, "length")
    with serving((200, said), pages={"/v1/models": VLLM}) as (_, spec):
        assert started(spec).act(None).reason == "context"


# ---- prompts that are cut


def usage(prompt):
    return {"prompt_tokens": prompt, "completion_tokens": 9}


def call(prompt):
    return 200, completion(
        {"content": "", "tool_calls": [tool_call("sense_pose", "{}")]}, usage=usage(prompt)
    )


def acted(agent, count, text="x"):
    """Act so often, and return the remarks of each action."""
    action, remarks = None, []
    for _ in range(count):
        seen = None if action is None else Observation(action, Outcome("ok", {"text": text}))
        action = agent.act(seen)
        remarks.append(action.usage.remarks)
    return remarks


OLLAMA = {"/v1/models": {"data": [{"id": "qwen3", "owned_by": "library"}]}}
LOADED = {"/api/ps": {"models": [{"name": "qwen3", "model": "qwen3", "context_length": 4096}]}}


def test_a_prompt_that_ollama_cuts_is_named_once_an_episode():
    text = "It is a long story. " * 400
    with serving(call(1500), call(3700), call(2051), call(2051), pages=OLLAMA | LOADED) as (_, spec):
        agent = started(spec)
        first, second, third, fourth = acted(agent, 4, text)
        assert (first, second, fourth) == ((), (), ())
        (said,) = third
    assert "counts 2051 prompt tokens where at least 5035 were sent" in said
    assert "its context has 4096" in said and "\n" not in said


def test_a_first_prompt_that_is_cut_is_named():
    with serving(call(130)) as (_, spec):
        ((said,),) = acted(started(spec), 1)
    assert "counts 130 prompt tokens" in said


def test_a_server_that_counts_nothing_or_everything_is_not_accused():
    with serving(call(0), call(None), call(1511), call(1560), call(1611)) as (_, spec):
        assert acted(started(spec), 5) == [()] * 5


def test_the_shipped_models_own_counts_are_no_cut():
    """Its template shows the rover's tools in one line each: no other shows them in fewer tokens."""
    with serving(call(654), call(705)) as (_, spec):
        assert acted(started(spec), 2) == [()] * 2


def test_estimates_follow_the_servers_counts():
    count, text = PromptCount(), [{"role": "user", "content": "x" * 1000}]
    before = count.estimate(text, [])
    assert 400 <= before <= 450
    assert count.check(text, [], 300) is None
    assert count.estimate(text, []) == 300
    assert 500 <= count.estimate([*text, {"role": "tool", "content": "y" * 500}], []) <= 530
