from __future__ import annotations

import json

import pytest
from chat_templates import (
    GEMMA3,
    MISPRINTED,
    PHI4_MINI,
    PYTHONIC,
    QWEN3,
    QWEN25,
    SMOLLM3,
    THOUGHTS_OR_WORDS,
    WITHOUT_TOOLS,
    asking,
)
from farm_rig import FARM_ROVER

from agents.agent import BackendError
from agents.formats.calls import CallText
from agents.formats.chat_template import ChatTemplate
from agents.formats.chatml import CHAT_TEMPLATE, DECLINING_TEMPLATE
from agents.formats.signature import signature
from agents.scaffolds.prompting import TRAINED
from training.conversations import native_pieces
from training.system_turns import system_turn
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
    template = ChatTemplate(DECLINING_TEMPLATE)
    for seed in range(HELD_OUT, HELD_OUT + 40):
        story = episode(seed)
        messages = [
            {"role": "system", "content": TRAINED.text(story.device.advice, True)},
            {"role": "user", "content": story.prompt},
        ]
        for turn in story.turns:
            if turn.result is None:
                break
            messages.append(
                {"role": "assistant", "content": "", "tool_calls": [call(turn.tool, dict(turn.arguments))]}
            )
            messages.append({"role": "tool", "content": turn.result})
        trained = system_turn(story.device) + "".join(text for text, _ in native_pieces(story)[:-1])
        assert template.render(messages, TRAINED.schemas(story.device.tools)) == trained


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


def test_numbers_of_schemas_are_printed_as_llama_cpp_prints_them():
    text = ChatTemplate(QWEN3, short_tools=False).render(conversation({}), SCHEMAS)
    (yaw,) = [tool for tool in SCHEMAS if tool["function"]["name"] == "move_to"]
    assert yaw["function"]["parameters"]["properties"]["yaw"]["maximum"] == pytest.approx(6.283185307179586)
    assert '"maximum": 1000, "minimum": -1000' in text
    assert '"maximum": 6.28319, "minimum": -6.28319' in text
    assert "1000.0" not in text


def test_thinking_of_a_qwen3_template_stays_while_the_calls_go_on():
    text = ChatTemplate(QWEN3).render(conversation({}, content="<think>\nhm\n</think>"), SCHEMAS)
    assert "<think>\nhm\n</think>\n\n" in text


def test_a_model_without_a_template_gets_chatml():
    assert ChatTemplate(None).render(conversation({}), SCHEMAS).startswith("<|im_start|>system\nBe exact.")


def test_a_template_that_knows_no_tools_gets_plain_words():
    template = ChatTemplate(WITHOUT_TOOLS, bos="<s>", eos="</s>")
    text = template.render(conversation({"x": 1}), SCHEMAS)
    assert text.startswith("<s>[system] Be exact.")
    assert all(json.dumps(signature(schema), ensure_ascii=False) in text for schema in SCHEMAS)
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


@pytest.mark.parametrize(
    ("source", "form", "use", "called"),
    [
        (PHI4_MINI, "phi-4-mini", {"tools": "system message", "calls": "words"}, "<|tool_call|>[{"),
        (GEMMA3, "gemma-3", {"tools": "words", "calls": "words", "results": False}, "move_to(x=1.0)"),
        (SMOLLM3, "hermes", {"tools": "variable", "calls": "words"}, '<tool_call>\n{"name": "move_to"'),
        (PYTHONIC, "pythonic", {"tools": "variable", "calls": "words"}, "[move_to(x=1.0)]"),
        (QWEN3, "hermes", {"tools": "variable", "calls": "objects"}, '{"name": "move_to"'),
        (WITHOUT_TOOLS, "hermes", {"tools": "words", "calls": "words", "results": False}, "<tool_call>"),
    ],
    ids=["phi-4-mini", "gemma 3", "smollm3", "pythonic", "qwen3", "plain"],
)
def test_templates_that_are_used_in_other_ways(source, form, use, called):
    template = ChatTemplate(source, bos="<s>", eos="</s>")
    assert template.form.name == form
    assert {key: getattr(template.use, key) for key in use} == use
    text = template.render(conversation({"x": 1.0}), SCHEMAS)
    for word in ("Be exact.", "Go.", called, '{"x":1.0}', "move_to", SCHEMAS[0]["function"]["name"]):
        assert word in text, word


@pytest.mark.parametrize("what", MISPRINTED)
def test_a_template_that_prints_calls_otherwise_than_it_asks_gets_them_as_words(what):
    form, source = MISPRINTED[what]
    template = ChatTemplate(source)
    assert (template.form.name, template.use.calls, template.use.tools) == (form, "words", "variable")
    text = template.render(conversation({"x": 1.0, "name": "B"}), SCHEMAS)
    assert template.form.write([CallText("move_to", {"x": 1.0, "name": "B"})]) in text
    assert '"move_to"' in text and '{"x":1.0}' in text


@pytest.mark.parametrize(
    "asks", ["", "<tool_call>", "]minimax[<tool_call>\\n<move_to>"], ids=["nothing", "a mark", "another form"]
)
def test_a_template_in_a_syntax_that_it_alone_knows_is_refused(asks):
    prints = "<tool_call>\n<{{ call.name }}>{{ call.arguments }}</{{ call.name }}>"
    with pytest.raises(BackendError, match="no format reads"):
        ChatTemplate(asking(asks, prints))


def test_thoughts_and_words_before_a_call():
    messages = conversation({"x": 1.0}, content="I go.")
    messages[2]["reasoning_content"] = "Where to?"
    text = ChatTemplate(THOUGHTS_OR_WORDS).render(messages, SCHEMAS)
    assert "<think>Where to?\n\nI go.</think>" in text
    assert "<tool_call>" in text[text.index("I go.") :]
    picky = THOUGHTS_OR_WORDS.replace("message.content and message.thinking", "message.thinking")
    text = ChatTemplate(picky).render(messages, SCHEMAS)
    assert "Where to?" not in text and "I go.\n<tool_call>" in text


def test_thinking_is_the_template_s_own_switch():
    assert ChatTemplate(SMOLLM3).render(conversation({}), SCHEMAS).endswith("assistant\n")
    quiet = ChatTemplate(SMOLLM3, thinking=False).render(conversation({}), SCHEMAS)
    assert "/no_think" in quiet and quiet.endswith("<think>\n\n</think>\n")


def test_calls_that_a_template_takes_one_by_one():
    one = QWEN25.replace(
        "{%- for tool_call in message.tool_calls %}",
        "{%- if message.tool_calls | length > 1 %}{{- raise_exception('one at a time') }}{%- endif %}"
        "{%- for tool_call in message.tool_calls %}",
    )
    messages = conversation({"x": 1.0})
    messages[2]["tool_calls"] += [call("move_home", {}), call("move_home", {})]
    messages.append({"role": "tool", "content": '{"x":2.0}'})
    text = ChatTemplate(one).render(messages, SCHEMAS)
    assert text.count("<tool_call>\n{") == 2
    assert text.index('{"x":1.0}') < text.index('"move_home"', text.index("Go.")) < text.index('{"x":2.0}')


def test_a_template_may_append_to_its_own_lists():
    source = "{%- set l = [] %}{%- for m in messages %}{%- set _ = l.append(m) %}{%- endfor %}" + QWEN25
    assert "move_to" in ChatTemplate(source).render(conversation({}), SCHEMAS)


def test_a_template_cannot_change_the_conversation():
    source = "{%- set _ = messages[0].update({'name': 'x'}) %}" + QWEN25
    messages = conversation({})
    ChatTemplate(source).render(messages, SCHEMAS)
    assert messages == conversation({})
