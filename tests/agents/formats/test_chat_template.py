from __future__ import annotations

import json

import pytest
from chat_templates import QWEN3, QWEN25, WITHOUT_TOOLS
from farm_rig import FARM_ROVER

from agents.errors import BackendError
from agents.formats.chat_template import ChatTemplate
from agents.formats.chatml import CHAT_TEMPLATE
from agents.scaffolds.prompting import system_prompt
from training.episode import pieces, system_turn
from training.transcripts import HELD_OUT, episode

SCHEMAS = FARM_ROVER.schemas()


def call(name, arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def conversation(arguments, content=""):
    return [
        {"role": "system", "content": "Be exact."},
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": content, "tool_calls": [call("move_to", arguments)]},
        {"role": "tool", "content": '{"x":1.0}'},
    ]


def test_the_shipped_template_writes_what_the_model_was_trained_on():
    """The template and the text that training made without it are the same, byte for byte."""
    template = ChatTemplate(CHAT_TEMPLATE)
    for seed in range(HELD_OUT, HELD_OUT + 40):
        story = episode(seed)
        messages = [
            {"role": "system", "content": system_prompt(story.device.advice)},
            {"role": "user", "content": story.prompt},
        ]
        for turn in story.turns:
            messages.append(
                {"role": "assistant", "content": "", "tool_calls": [call(turn.tool, dict(turn.arguments))]}
            )
            messages.append({"role": "tool", "content": turn.result})
        trained = system_turn(story.device) + "".join(text for text, _ in pieces(story)[:-1])
        assert template.render(messages, story.device.schemas()) == trained


@pytest.mark.parametrize("source", [CHAT_TEMPLATE, QWEN3, QWEN25], ids=["shipped", "qwen3", "qwen2.5"])
def test_arguments_as_an_object(source):
    text = ChatTemplate(source).render(conversation({"x": 1.0, "name": "é<&>'"}), SCHEMAS)
    assert '<tool_call>\n{"name": "move_to", "arguments": {"x": 1.0, "name": "é<&>\'"}}\n</tool_call>' in text
    assert text.endswith("<|im_start|>assistant\n")
    assert '<tool_response>\n{"x":1.0}\n</tool_response>' in text


def test_the_shipped_template_takes_arguments_as_a_string():
    text = ChatTemplate(CHAT_TEMPLATE).render(conversation('{"x": 1.0}'), SCHEMAS)
    assert '{"name": "move_to", "arguments": {"x": 1.0}}' in text


def test_the_shipped_template_groups_results_and_keeps_words():
    messages = conversation({}, content="I go.")
    messages[2]["tool_calls"].append(call("home", {}))
    messages.append({"role": "tool", "content": "{}"})
    text = ChatTemplate(CHAT_TEMPLATE).render(messages, [])
    assert text.count("<|im_start|>user\n<tool_response>") == 1
    assert text.count("</tool_response>") == 2
    assert "assistant\nI go.\n<tool_call>\n" in text
    assert "# Tools" not in text


def test_thinking_of_a_qwen3_template_stays_while_the_calls_go_on():
    text = ChatTemplate(QWEN3).render(conversation({}, content="<think>\nhm\n</think>"), SCHEMAS)
    assert "<think>\nhm\n</think>\n\n" in text


def test_a_model_without_a_template_gets_chatml():
    assert ChatTemplate(None).render(conversation({}), SCHEMAS).startswith("<|im_start|>system\nBe exact.")


def test_a_template_that_knows_no_tools_gets_plain_words():
    template = ChatTemplate(WITHOUT_TOOLS, bos="<s>", eos="</s>")
    text = template.render(conversation({"x": 1}), SCHEMAS)
    assert text.startswith("<s>[system] Be exact.")
    assert all(json.dumps(schema, ensure_ascii=False) in text for schema in SCHEMAS)
    assert '[assistant] <tool_call>\n{"name": "move_to", "arguments": {"x": 1}}\n</tool_call></s>' in text
    assert '[user] <tool_response>\n{"x":1.0}\n</tool_response></s>' in text


def test_results_one_after_another_are_one_turn_of_the_user():
    messages = [*conversation({}), {"role": "tool", "content": "two"}]
    assert ChatTemplate(WITHOUT_TOOLS).render(messages, SCHEMAS).count("[user]") == 2


@pytest.mark.parametrize(
    ("source", "said"),
    [("{% if %}", "does not compile"), ("{{ raise_exception('no') }}", "no"), ("{{ 1 / 0 }}", "Zero")],
)
def test_a_bad_template_is_one_clear_line(source, said):
    with pytest.raises(BackendError, match=said) as error:
        ChatTemplate(source).render(conversation({}), SCHEMAS)
    assert "\n" not in str(error.value)


def test_the_sandbox_holds():
    with pytest.raises(BackendError):
        ChatTemplate("{{ ''.__class__.__mro__[1].__subclasses__() }}").render(conversation({}), SCHEMAS)
