"""Every chat template that llama.cpp ships: a conversation renders as meant, or is refused at load."""

from __future__ import annotations

import re

import pytest
from conversation_shapes import check_shapes
from families import nightly_unless_often
from farm_rig import FARM_ROVER
from llama_cpp_files import FOLDER, llama_cpp_file

from agents.agent import BackendError
from agents.formats.calls import CallText, Tools
from agents.formats.chat_template import ChatTemplate
from agents.formats.data_text import GUARD, unguarded
from agents.formats.thoughts import opened_by

pytestmark = pytest.mark.llama

SCHEMAS = FARM_ROVER.schemas()
REFUSED = ("MiniMax-M3",)
FORMS = {
    "apertus": "Apertus-8B-Instruct",
    "tool-calls": "Apriel-1.6-15b-Thinker-fixed MiniMax-M1 unsloth-Apriel-1.5",
    "hermes": (
        "Bielik-11B-v3.0-Instruct HuggingFaceTB-SmolLM3-3B MiMo-VL "
        "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use NousResearch-Hermes-3-Llama-3.1-8B-tool_use "
        "Qwen-QwQ-32B Qwen-Qwen2.5-7B-Instruct Qwen-Qwen3-0.6B Reka-Edge ibm-granite-granite-4.0 "
        "ibm-granite-granite-4.1 llama-cpp-rwkv-world microsoft-Phi-3.5-mini-instruct"
    ),
    "qwen-xml": (
        "ByteDance-Seed-OSS NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 Qwen3-Coder Qwen3.5-4B StepFun3.5-Flash"
    ),
    "command-r": "Cohere2MoE CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "command-r-plus": "CohereForAI-c4ai-command-r-plus-tool_use",
    "glm": (
        "GLM-4.6 GLM-4.7-Flash Spark2.5 inclusionai-ling-3.0-flash poolside-Laguna-S-2.1 "
        "poolside-Laguna-XS-2.1 poolside-Laguna-XS.2 tencent-Hy3"
    ),
    "gigachat": "GigaChat3-10B-A1.8B GigaChat3.1-10B-A1.8B",
    "kimi-k2": "Kimi-K2-Instruct Kimi-K2-Thinking moonshotai-Kimi-K2",
    "kimi-k3": "Kimi-K3",
    "lfm2": "LFM2-8B-A1B LFM2.5-8B-A1B LFM2.5-Instruct",
    "minimax": "MiniMax-M2",
    "mistral-args": (
        "Mistral-Small-3.2-24B-Instruct-2506 mistralai-Ministral-3-14B-Reasoning-2512 "
        "unsloth-mistral-Devstral-Small-2507"
    ),
    "nemotron": "NVIDIA-Nemotron-Nano-v2",
    "deepseek": (
        "deepseek-ai-DeepSeek-R1-Distill-Llama-8B deepseek-ai-DeepSeek-R1-Distill-Qwen-32B "
        "llama-cpp-deepseek-r1"
    ),
    "deepseek-v3.1": "deepseek-ai-DeepSeek-V3.1",
    "deepseek-dsml": "deepseek-ai-DeepSeek-V3.2 deepseek-ai-DeepSeek-V4-Flash-0731 deepseek-ai-DeepSeek-V4",
    "functools": "fireworks-ai-llama-3-firefunction-v2",
    "gemma-3": "google-gemma-2-2b-it",
    "gemma-4": "google-gemma-4-31B-it-interleaved google-gemma-4-31B-it",
    "granite-3": "ibm-granite-granite-3.3-2B-Instruct",
    "functionary-3.1": "meetkai-functionary-medium-v3.1",
    "functionary-3.2": "meetkai-functionary-medium-v3.2",
    "llama-json": (
        "meta-llama-Llama-3.1-8B-Instruct meta-llama-Llama-3.2-3B-Instruct meta-llama-Llama-3.3-70B-Instruct"
    ),
    "mistral": "mistralai-Mistral-Nemo-Instruct-2407",
    "muse": "muse-glimmer",
    "harmony": "openai-gpt-oss-120b",
    "minicpm": "openbmb-MiniCPM5-1B",
    "solar": "upstage-Solar-Open-100B",
}
NAMES = [(form, name) for form, names in FORMS.items() for name in names.split()]
LONG = [nightly_unless_often(form, name) for form, name in NAMES]
"""The templates for the tests that run each one in several conversations."""
MARK = re.compile(r"<[^<>\s{}()'\"+]{2,40}>|\[/?[A-Z_]{3,25}\]")
"""What looks like a special token in a template."""


def loaded(name: str, **options) -> ChatTemplate:
    source = llama_cpp_file(f"{name}.jinja").read_text(encoding="utf-8")
    return ChatTemplate(source, bos="<BOS>", eos="<EOS>", **options)


def call(name, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(result='{"x":17.25}'):
    return [
        {"role": "system", "content": "Operate the rover."},
        {"role": "user", "content": "Go to plant_B."},
        {"role": "assistant", "content": "", "tool_calls": [call("move_to", x=41.5, y=-2.0)]},
        {"role": "tool", "content": result},
        {"role": "assistant", "content": "", "tool_calls": [call("water_plant", plant_name="plant_B")]},
        {"role": "tool", "content": '{"error":"too_far"}'},
    ]


def test_no_template_is_left_out():
    llama_cpp_file("Qwen3-Coder.jinja")
    assert sorted(path.stem for path in FOLDER.glob("*.jinja")) == sorted(
        [*REFUSED, *(name for _, name in NAMES)]
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_template_in_a_syntax_that_nothing_reads_is_refused_in_one_line(name):
    with pytest.raises(BackendError, match="no format reads") as error:
        loaded(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("form", "name"), NAMES, ids=[name for _, name in NAMES])
def test_a_conversation_of_two_steps(form, name):
    template = loaded(name)
    assert template.form.name == form
    text = unguarded(template.render(conversation(), SCHEMAS))
    for schema in SCHEMAS:
        assert schema["function"]["name"] in text
    place = -1
    for word in ("Go to plant_B.", "41.5", "17.25", "plant_B", "too_far"):
        place = text.find(word, place + 1)
        assert place > 0, word
    said = text[text.index("Go to plant_B.") + len("Go to plant_B.") :]
    calls = [found.item for found in template.form.read(said, Tools(SCHEMAS))]
    assert calls == [
        CallText("move_to", {"x": 41.5, "y": -2.0}),
        CallText("water_plant", {"plant_name": "plant_B"}),
    ]
    assert "Operate the rover." in text
    assert text.count("<BOS>") <= 1


@pytest.mark.parametrize("name", LONG)
def test_what_could_not_be_read_and_several_calls_at_once_render_too(name):
    template = loaded(name)
    messages = [
        *conversation()[:2],
        {"role": "assistant", "content": "I call move_to{"},
        {"role": "tool", "content": '{"error":"unread_call"}'},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [call("move_to", x=41.5, y=-2.0), call("move_home")],
        },
        {"role": "tool", "content": '{"x":17.25}'},
        {"role": "tool", "content": '{"x":63.75}'},
    ]
    text = template.render(messages, SCHEMAS)
    place = 0
    for word in ("I call move_to{", "unread_call", "41.5", "17.25", "63.75"):
        place = text.find(word, place)
        assert place >= 0, word


@pytest.mark.parametrize("name", LONG)
def test_special_tokens_in_data_are_broken_up(name):
    source = llama_cpp_file(f"{name}.jinja").read_text(encoding="utf-8")
    marks = sorted({*MARK.findall(source)})
    template = ChatTemplate(source, bos="<BOS>", eos="<EOS>", specials=marks)
    hostile = "~".join(["begin", *marks, "end"])
    text = template.render(conversation(result=hostile), SCHEMAS)
    data = text[text.index("begin~") : text.index("~end")]
    assert not any(mark in part for part in data.split(GUARD) for mark in marks)
    assert [part for part in unguarded(data).split("~")[1:] if part not in marks] == [] or "\\" in data


@pytest.mark.parametrize("name", LONG)
def test_all_shapes_of_two_answers(name):
    check_shapes(llama_cpp_file(f"{name}.jinja").read_text(encoding="utf-8"))


def test_a_reasoning_effort_shows_or_is_refused_in_one_line():
    for level in ("low", "high"):
        text = loaded("openai-gpt-oss-120b", reasoning_effort=level).render(conversation(), SCHEMAS)
        assert f"Reasoning: {level}\n" in unguarded(text)
    assert "Reasoning: medium" in loaded("openai-gpt-oss-120b").render(conversation(), SCHEMAS)
    for name in ("Qwen-Qwen3-0.6B", "deepseek-ai-DeepSeek-V4"):
        with pytest.raises(BackendError, match=r"takes no reasoning_effort: leave the option out$"):
            loaded(name, reasoning_effort="low")
    with pytest.raises(BackendError, match=r"^reasoning_effort=medium: .*should be no_think/low/high"):
        loaded("tencent-Hy3", reasoning_effort="medium")
    loaded("tencent-Hy3", reasoning_effort="low")


def test_thinking_is_switched_off_where_the_template_can_or_opens_a_thought():
    for name in ("Qwen-Qwen3-0.6B", "Qwen3.5-4B", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "GLM-4.6"):
        assert (
            "<think>" not in unguarded(loaded(name, thinking=False).render(conversation()[:2], []))[-12:]
        ), name
    for name, close in (("MiniMax-M2", "</think>"), ("Cohere2MoE", "<|END_THINKING|>")):
        opened = unguarded(loaded(name).render(conversation()[:2], SCHEMAS))
        assert opened_by(opened), name
        closed = unguarded(loaded(name, thinking=False).render(conversation()[:2], SCHEMAS))
        assert closed == f"{opened.rstrip()}\n\n{close}\n\n"
    for name in ("Qwen3.5-4B", "Qwen-QwQ-32B", "deepseek-ai-DeepSeek-V3.1"):
        assert opened_by(unguarded(loaded(name, thinking=True).render(conversation()[:2], SCHEMAS))), name


def test_thoughts_are_shown_again_in_the_template_s_own_marks():
    messages = conversation()
    messages[4]["reasoning_content"] = "now the water"
    text = loaded("Qwen-Qwen3-0.6B").render(messages, SCHEMAS)
    assert "<|im_start|>assistant\n<think>\nnow the water\n</think>\n\n<tool_call>" in text
