"""What the families' own parsers in vLLM read as calls is read as that family's own.

The shapes (several calls, words around them, marks left out, kinds of values) are those of the tests of
vLLM 0.33 (Apache-2.0); the calls and the words are our own.
"""

from __future__ import annotations

import pytest

from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.chat_template import ChatTemplate
from agents.formats.registry import formats

BY_NAME = {form.name: form for form in formats()}
SCHEMAS = [
    {
        "function": {
            "name": "pour",
            "parameters": {
                "type": "object",
                "properties": {"plant": {"type": "string"}, "litres": {"type": "number"}},
            },
        }
    },
    {"function": {"name": "home", "parameters": {"type": "object", "properties": {}}}},
    {"function": {"name": "note", "parameters": {"type": "object", "properties": {}}}},
]
TOOLS = Tools(SCHEMAS)
POUR = CallText("pour", {"plant": "B", "litres": 4.5})
HOME = CallText("home", {})
P, H = '{"name": "pour", "arguments": {"plant": "B", "litres": 4.5}}', '{"name": "home", "arguments": {}}'
PP, HP = P.replace("arguments", "parameters"), H.replace("arguments", "parameters")
ARGUMENTS = '{"plant": "B", "litres": 4.5}'
XML = (
    "<function=pour>\n<parameter=plant>\nB\n</parameter>\n<parameter=litres>\n4.5\n</parameter>\n</function>"
)
KIMI = (
    "<|tool_call_begin|>functions.pour:0 <|tool_call_argument_begin|>" + ARGUMENTS + " <|tool_call_end|>"
    "<|tool_call_begin|>functions.home:1 <|tool_call_argument_begin|>{} <|tool_call_end|>"
)
V31 = (
    f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>pour<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>"
    "<｜tool▁call▁begin｜>home<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
)
V3 = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>pour\n```json\n" + ARGUMENTS + "\n```"
    "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>home\n```json\n{}\n```<｜tool▁call▁end｜>"
    "<｜tool▁calls▁end｜>"
)
DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="pour">\n<｜DSML｜parameter name="plant" string="true">B'
    '</｜DSML｜parameter>\n<｜DSML｜parameter name="litres" string="false">4.5</｜DSML｜parameter>\n'
    '</｜DSML｜invoke>\n<｜DSML｜invoke name="home">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
)
STEP = (
    '<｜tool_call_begin｜><steptml:invoke name="pour"><steptml:parameter name="plant">B</steptml:parameter>'
    '<steptml:parameter name="litres">4.5</steptml:parameter></steptml:invoke><｜tool_call_end｜>'
    '<｜tool_sep｜><｜tool_call_begin｜><steptml:invoke name="home"></steptml:invoke><｜tool_call_end｜>'
)
MINICPM = (
    '<function name="pour"><param name="plant">B</param><param name="litres">4.5</param></function>\n'
    '<function name="home"></function>'
)
GLM = (
    "<tool_call>pour\n<arg_key>plant</arg_key>\n<arg_value>B</arg_value>\n<arg_key>litres</arg_key>\n"
    "<arg_value>4.5</arg_value>\n</tool_call><tool_call>home\n</tool_call>"
)
BOTH = [
    ("hermes", f"<tool_call>\n{P}\n</tool_call>\n<tool_call>\n{H}\n</tool_call>"),
    ("hermes", f"<tool_call>{P}</tool_call><tool_call>{H}"),
    ("longcat", f"<longcat_tool_call>{P}</longcat_tool_call>\n<longcat_tool_call>{H}"),
    ("granite-20b", f"<function_call> {P}\n<function_call> {H}"),
    ("granite-3", f"<|tool_call|> [{P}, {H}]"),
    ("granite-3", f"<tool_call> [{P}, {H}]"),
    (
        "internlm2",
        f"<|action_start|><|plugin|>{PP}<|action_end|><|action_start|><|plugin|>\n{HP}<|action_end|>",
    ),
    ("phi-4-mini", f"functools[{P}, {H}]"),
    ("tool-calls", f" <tool_calls>[\n    {P},\n    {H}\n]</tool_calls>"),
    ("gigachat", f"<|function_call|>{P}\n<|function_call|>{H}"),
    ("mistral", f"[TOOL_CALLS] [{P}, {H}]"),
    ("mistral-args", f"[TOOL_CALLS]pour[ARGS]{ARGUMENTS}[TOOL_CALLS]home[ARGS]{{}}"),
    ("mistral-args", f"[TOOL_CALLS]pour{ARGUMENTS}[TOOL_CALLS]home{{}}"),
    (
        "qwen-xml",
        f"<tool_call>\n{XML}\n</tool_call>\n<tool_call>\n<function=home>\n</function>\n</tool_call>",
    ),
    ("qwen-xml", f"{XML}\n<function=home>\n</function>"),
    (
        "qwen-xml",
        "<tool_call>\n<function=pour>\n<parameter=plant>\nB\n<parameter=litres>\n4.5\n</function>\n</tool_call>"
        "<tool_call><function=home></function></tool_call>",
    ),
    ("glm", GLM),
    ("kimi-k2", f"<|tool_calls_section_begin|>{KIMI}<|tool_calls_section_end|>"),
    ("kimi-k2", f"<|tool_calls_section_begin|> so {KIMI}"),
    ("deepseek", V3),
    ("deepseek-v3.1", V31),
    ("deepseek-dsml", DSML),
    ("step-3", f"<｜tool_calls_begin｜>{STEP}<｜tool_calls_end｜>"),
    ("minicpm", MINICPM),
    ("lfm2", "<|tool_call_start|>[pour(plant='B', litres=4.5), home()]<|tool_call_end|>"),
    ("lfm2", f"<|tool_call_start|>[{P}, {H}]<|tool_call_end|>"),
    ("olmo-3", "<function_calls>pour(plant='B', litres=4.5)\nhome()</function_calls>"),
    ("olmo-3", '<function_calls>\npour(plant="B", litres=4.5)\nhome()\n</function_calls>'),
    ("apertus", f'<|tools_prefix|>[{{"pour": {ARGUMENTS}}}, {{"home": {{}}}}]<|tools_suffix|>'),
    (
        "gemma-4",
        '<|tool_call>call:pour{plant:<|"|>B<|"|>,litres:4.5}<tool_call|><|tool_call>call:home{}<tool_call|>',
    ),
    (
        "function-gemma",
        "<start_function_call>call:pour{plant:<escape>B<escape>,litres:4.5}<end_function_call>"
        "<start_function_call>call:home{}<end_function_call>",
    ),
    (
        "minimax",
        '<minimax:tool_call>\n<invoke name="pour">\n<parameter name="plant">B</parameter>\n'
        '<parameter name="litres">4.5</parameter>\n</invoke>\n<invoke name="home">\n'
        "</invoke>\n</minimax:tool_call>",
    ),
]
WHOLE = [
    ("llama-json", f"{PP}; {HP}"),
    ("llama-json", f"{P}; {H}"),
    ("llama-json", f"<|python_tag|>{PP}; {HP}"),
    ("llama-json", f"{PP};\n{HP}"),
    ("pythonic", "[pour(plant='B', litres=4.5), home()]"),
    ("pythonic", "<|python_start|>[pour(plant='B', litres=4.5), home()]<|python_end|>"),
    ("xlam", f"[{P}, {H}]"),
    ("xlam", f"```json\n[{P}, {H}]\n```"),
    ("xlam", f"<think>\nIt is dry.\n</think>\n[{P}, {H}]"),
]


@pytest.mark.parametrize(("name", "text"), [*BOTH, *WHOLE])
def test_calls_in_a_familys_own_shapes(name, text):
    assert parse_answer(text, TOOLS, BY_NAME[name]).items == (POUR, HOME)


AROUND = [
    "Let me water it.\n{}",
    "Let me water it. {}",
    "Let me water it.{}",
    "Sure{}",
    "Let me water it.\n\n{}\n\nI tell you the result.",
    "Before.{}After.",
    "Before. {} After.",
    "so text{} and more",
    "<think>\nIt is dry.\n</think>\n\n{}",
    "It is dry.\n</think>\n\n{}",
]


@pytest.mark.parametrize(("name", "text"), BOTH)
def test_calls_among_words(name, text):
    for around in AROUND:
        read = parse_answer(around.format(text.lstrip()), TOOLS, BY_NAME[name]).items
        assert read == (POUR, HOME), around


TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role if m.role != 'tool' else 'environment' }}\n"
    "{% if m.role == 'system' and tools %}{{ m.content }} <functions>{{ tools | tojson }}</functions>"
    "{% elif CALLS %}{{ m.content or '' }}<function_calls>CALL</function_calls>{% else %}{{ m.content }}"
    "{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PRINTED = (
    "{% for c in m.tool_calls %}{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}="
    "{{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %}){{ '\\n' if not loop.last }}{% endfor %}"
)


@pytest.mark.parametrize(
    ("calls", "call", "given"),
    [
        ("m.tool_calls", PRINTED, "objects"),
        ("m.get('function_calls')", "{{ m.function_calls }}", "words"),
    ],
)
def test_a_template_with_olmo_s_marks_asks_for_olmo_s_form(calls, call, given):
    """Also one that prints calls only where they come as text."""
    template = ChatTemplate(TURNS.replace("CALLS", calls).replace("CALL", call))
    assert (template.form.name, template.use.calls, template.use.tools) == ("olmo-3", given, "variable")
    function = {"name": "pour", "arguments": dict(POUR.arguments)}
    said = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}
    answered = [{"role": "user", "content": "Go."}, said, {"role": "tool", "content": "{}"}]
    text = template.render(answered, SCHEMAS).replace('"', "'")
    assert f"assistant\n{BY_NAME['olmo-3'].write([POUR])}<|im_end|>" in text


VALUES = {
    "text": "hello",
    "number": 42,
    "fraction": 3.25,
    "yes": True,
    "none": None,
    "list": ["a", "b"],
    "object": {"nested": "value", "deep": {"x": [1, {"y": False}]}},
    "nothing": [],
    "empty": {},
    "quoted": 'He said "hello", it\'s so',
    "path": "C:\\farm\\plant.txt",
    "signs": "émoji 🎉 {x} [y] (z) <w>",
}


@pytest.mark.parametrize("name", BY_NAME)
def test_values_of_all_kinds_come_back(name):
    values = {key: value for key, value in VALUES.items() if name != "glm" or key != "none"}
    if name in ("gemma-4", "function-gemma"):
        values.pop("quoted")
    call = CallText("note", values)
    assert parse_answer(BY_NAME[name].write([call]), TOOLS, BY_NAME[name]).items == (call,)


def test_text_on_several_lines_in_python():
    text = "<|tool_call_start|>[note(text='one\ntwo \"x\"\n  three')]<|tool_call_end|>"
    (item,) = parse_answer(text, TOOLS, BY_NAME["lfm2"]).items
    assert item == CallText("note", {"text": 'one\ntwo "x"\n  three'})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Forms without marks among words: vLLM's parsers of Llama 3 and xLAM look for JSON anywhere.
        ("llama-json", f"Here is the result: {PP} Would you like to know more?"),
        ("xlam", f"I pour.\n```json\n[{P}]\n```"),
        # Marks of other families, which its xLAM parser knows, too.
        ("xlam", f"I pour.[TOOL_CALLS][{P}]"),
        ("xlam", f"<tool_call>[{P}]</tool_call>"),
        # Python that is none, which its LFM2 parser mends.
        ("lfm2", "<|tool_call_start|>[note(month=07)]<|tool_call_end|>"),
        ("lfm2", "<|tool_call_start|>[note(text='sed -n '3,4p' x')]<|tool_call_end|>"),
        ("lfm2", "<|tool_call_start|>[note(tags={'a', 'b'})]<|tool_call_end|>"),
    ],
)
def test_what_vllm_reads_and_we_tell(name, text):
    """Known differences: repairs, and forms without marks that are not the whole answer."""
    items = parse_answer(text, TOOLS, BY_NAME[name]).items
    assert items and all(isinstance(item, Nonsense) for item in items)
