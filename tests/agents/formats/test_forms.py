"""One call in the forms of some 30 families: each form is read, and each format writes its own."""

from __future__ import annotations

import pytest

from agents.formats.answer import parse_answer
from agents.formats.calls import CallText, Nonsense, Tools
from agents.formats.registry import PLAIN, formats

SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": "move_to",
            "description": "Drives there.",
            "parameters": {
                "type": "object",
                "properties": {
                    "x": {"type": "number"},
                    "y": {"type": "number"},
                    "place": {"type": "string"},
                    "slow": {"type": "boolean"},
                    "by": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["x", "y"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "move_home", "parameters": {"type": "object", "properties": {}}},
    },
]
TOOLS = Tools(SCHEMAS)
BY_NAME = {form.name: form for form in formats()}
GO = CallText("move_to", {"x": 2.0, "y": -1.5})
JSON = '{"name": "move_to", "arguments": {"x": 2.0, "y": -1.5}}'
PARAMETERS = '{"name": "move_to", "parameters": {"x": 2.0, "y": -1.5}}'
ARGUMENTS = '{"x": 2.0, "y": -1.5}'
XML = "<function=move_to>\n<parameter=x>\n2.0\n</parameter>\n<parameter=y>\n-1.5\n</parameter>\n</function>"
GLM = "<tool_call>move_to\n<arg_key>x</arg_key>\n<arg_value>2.0</arg_value>\n<arg_key>y</arg_key>\n"
GLM += "<arg_value>-1.5"
PYTHON = "move_to(x=2.0, y=-1.5)"
DEEPSEEK = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"

FORMS = {
    "hermes": ("hermes", f"<tool_call>\n{JSON}\n</tool_call>"),
    "hermes compact": ("hermes", f"<tool_call>{JSON.replace(' ', '')}</tool_call>"),
    "hermes without an end": ("hermes", f"<tool_call>\n{JSON}"),
    "hermes arguments as text": (
        "hermes",
        '<tool_call>{"name": "move_to", "arguments": "{\\"x\\": 2.0, \\"y\\": -1.5}"}</tool_call>',
    ),
    "hermes arguments first": (
        "hermes",
        '<tool_call>\n{"arguments": {"x": 2.0, "y": -1.5}, "name": "move_to"}\n</tool_call>',
    ),
    "hermes after a thought": ("hermes", f"<think>\nhm\n</think>\n\n<tool_call>\n{JSON}\n</tool_call>"),
    "smollm3": ("hermes", f"I go.\n<tool_call>{JSON}</tool_call>"),
    "granite 4": ("hermes", f"<tool_call>\n{JSON}\n</tool_call>\n"),
    "hermes with parameters": ("hermes", f"<tool_call>\n{PARAMETERS}\n</tool_call>"),
    "hermes with a list": ("hermes", f"<tool_call>\n[{JSON}]\n</tool_call>"),
    "qwen3-coder, qwen3.5": ("qwen-xml", f"<tool_call>\n{XML}\n</tool_call>"),
    "qwen3-coder without tool_call": ("qwen-xml", XML),
    "seed-oss": ("qwen-xml", f"<seed:tool_call>\n{XML}\n</seed:tool_call>"),
    "glm": ("glm", f"{GLM}</arg_value>\n</tool_call>"),
    "llama 3 json": ("llama-json", PARAMETERS),
    "llama 3 python tag": ("llama-json", f"<|python_tag|>{PARAMETERS}"),
    "llama 3 python tag, code": ("llama-json", "<|python_tag|>move_to.call(x=2.0, y=-1.5)"),
    "llama 4 pythonic": ("pythonic", f"[{PYTHON}]"),
    "mistral old": ("mistral", f'[TOOL_CALLS][{JSON[:-1]}, "id": "a1b2c3d4e"}}]'),
    "mistral new": ("mistral-args", f"[TOOL_CALLS]move_to[ARGS]{ARGUMENTS}"),
    "mistral small 3.2": ("mistral-args", f"[TOOL_CALLS]move_to[CALL_ID]a1b2c3d4e[ARGS]{ARGUMENTS}"),
    "phi-4-mini": ("phi-4-mini", f"<|tool_call|>[{JSON}]<|/tool_call|>"),
    "phi-4-mini functools": ("phi-4-mini", f"functools[{JSON}]"),
    "json in a fence": ("xlam", f"```json\n{JSON}\n```"),
    "gemma 3 tool_code": ("gemma-3", f"```tool_code\n{PYTHON}\n```"),
    "gemma 3 print": ("gemma-3", f"```tool_code\nprint({PYTHON})\n```"),
    "gemma 4": ("gemma-4", "<|tool_call>call:move_to{x:2.0,y:-1.5}<tool_call|>"),
    "functiongemma": ("function-gemma", "<start_function_call>call:move_to{x:2.0,y:-1.5}<end_function_call>"),
    "functionary 3.1": ("functionary-3.1", f"<function=move_to>{ARGUMENTS}</function>"),
    "functionary 3.2": ("functionary-3.2", f"move_to\n{ARGUMENTS}"),
    "functionary 3.2 after words": ("functionary-3.2", f"all\nI go.>>>move_to\n{ARGUMENTS}"),
    "deepseek v3, r1": (
        "deepseek",
        DEEPSEEK.format(f"function<｜tool▁sep｜>move_to\n```json\n{ARGUMENTS}\n```"),
    ),
    "deepseek v3.1": ("deepseek-v3.1", DEEPSEEK.format(f"move_to<｜tool▁sep｜>{ARGUMENTS}")),
    "granite 20b": ("granite-20b", f"<function_call> {JSON}"),
    "granite 3": ("granite-3", f"<|tool_call|>[{JSON}]"),
    "lfm2": ("lfm2", f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>"),
    "xlam": ("xlam", f"[{JSON}]"),
    "command-r7b": (
        "command-r",
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "move_to", "parameters": '
        f"{ARGUMENTS}}}\n]<|END_ACTION|>",
    ),
    "command-r+": (
        "command-r-plus",
        f'Action:\n```json\n[\n    {{"tool_name": "move_to",\n     "parameters": {ARGUMENTS}\n    }}\n]```',
    ),
    "gpt-oss": (
        "harmony",
        "<|channel|>analysis<|message|>Go.<|end|><|start|>assistant<|channel|>commentary "
        f"to=functions.move_to <|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    ),
    "gpt-oss with the name first": (
        "harmony",
        f" to=functions.move_to<|channel|>commentary json<|message|>{ARGUMENTS}",
    ),
    "nemotron nano 2": ("nemotron", f"<TOOLCALL>[{JSON}]</TOOLCALL>"),
    "olmo 3": ("olmo-3", f"<function_calls>{PYTHON}</function_calls>"),
    "olmo 3 on lines of its own": ("olmo-3", f"<function_calls>\n{PYTHON}\n</function_calls>"),
    "step 3": (
        "step-3",
        '<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="move_to">'
        '<steptml:parameter name="x">2.0</steptml:parameter><steptml:parameter name="y">-1.5'
        "</steptml:parameter></steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>",
    ),
    "internlm 2": ("internlm2", f"<|action_start|><|plugin|>\n{PARAMETERS}<|action_end|>"),
    "longcat": ("longcat", f"<longcat_tool_call>\n{JSON}\n</longcat_tool_call>"),
    "react": ("react", f"Thought: I go.\nAction: move_to\nAction Input: {ARGUMENTS}\nObservation: done"),
    "kimi k2": (
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.move_to:0<|tool_call_argument_begin|>"
        f"{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    "minimax m2": (
        "minimax",
        '<minimax:tool_call>\n<invoke name="move_to">\n<parameter name="x">2.0</parameter>\n'
        '<parameter name="y">-1.5</parameter>\n</invoke>\n</minimax:tool_call>',
    ),
    "apertus": ("apertus", f'<|tools_prefix|>[{{"move_to": {ARGUMENTS}}}]<|tools_suffix|>'),
    "hy3": (
        "glm",
        "<tool_calls:opensource>\n<tool_call:opensource>move_to<tool_sep:opensource>\n<arg_key:opensource>x"
        "</arg_key:opensource>\n<arg_value:opensource>2.0</arg_value:opensource>\n<arg_key:opensource>y"
        "</arg_key:opensource>\n<arg_value:opensource>-1.5</arg_value:opensource>\n</tool_call:opensource>\n"
        "</tool_calls:opensource>",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_by_its_own_format(form):
    name, text = FORMS[form]
    assert parse_answer(text, TOOLS, BY_NAME[name]).items == (GO,)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_whatever_was_asked_for(form):
    for own in formats():
        assert parse_answer(FORMS[form][1], TOOLS, own, lenient=True).items == (GO,), own.name


WITHOUT_MARKS = {"json in a fence", "xlam", "llama 3 json", "llama 4 pythonic"}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_another_family_is_told_and_not_made(form):
    """But for calls without marks that are the whole answer."""
    for own in formats():
        items = parse_answer(FORMS[form][1], TOOLS, own).items
        reads = own.name == FORMS[form][0] or not own.bare
        if form in WITHOUT_MARKS or (reads and any(f.item == GO for f in own.read(FORMS[form][1], TOOLS))):
            assert items[0] == GO, own.name
        else:
            assert items and all(isinstance(item, Nonsense) for item in items), own.name


@pytest.mark.parametrize("form", FORMS)
def test_where_the_family_is_not_known_an_answer_of_nothing_but_calls_makes_them(form):
    text = FORMS[form][1]
    if "react" not in form and "I go." not in text:
        assert parse_answer(text, TOOLS, None).items == (GO,)
    if "thought" in form or "tag" in form or "gpt-oss" in form:
        return
    for around in (f"I go there:\n{text}", f"{text}\nSo I am there."):
        items = parse_answer(around, TOOLS, None).items
        assert items and all(isinstance(item, Nonsense) for item in items), around


@pytest.mark.parametrize("form", [form for form in FORMS if "react" not in form])
def test_words_and_end_marks_after_a_call_change_nothing(form):
    for words in (
        "\n\nI wait for the result.",
        "\n\nI look at (2, -1.5), then I use move_home.<|im_end|></s>",
    ):
        text = FORMS[form][1] + words
        for own in (BY_NAME[FORMS[form][0]], PLAIN, BY_NAME["llama-json"]):
            assert parse_answer(text, TOOLS, own, lenient=True).items == (GO,), own.name
        items = parse_answer(text, TOOLS, BY_NAME[FORMS[form][0]]).items
        if form in WITHOUT_MARKS:
            assert [item.code for item in items] == ["unread_call"]
        else:
            assert items == (GO,)


@pytest.mark.parametrize("name", BY_NAME)
def test_of_calls_in_two_syntaxes_none_is_lost_without_a_word(name):
    """The later one is never made alone: what it was planned after was not done. Nor are both."""
    home = CallText("move_home", {})
    place = formats().index(BY_NAME[name])
    for other in (formats()[(3 * place + 7 * k) % len(formats())] for k in range(6)):
        if other is BY_NAME[name]:
            continue
        text = f"{BY_NAME[name].write([GO])}\nThen:\n{other.write([home])}"
        for own in (BY_NAME[name], other):
            if [found.item for found in own.read(text, TOOLS)] == [GO, home]:
                continue  # a syntax that takes the other one's marks too
            first, *rest = parse_answer(text, TOOLS, own).items
            assert first == GO or isinstance(first, Nonsense), (other.name, own.name)
            assert isinstance(first, Nonsense) or isinstance(rest[0], Nonsense), own.name
            first, *rest = parse_answer(text, TOOLS, own, lenient=True).items
            assert first == GO or isinstance(first, Nonsense), (other.name, own.name)
            assert rest == [home] or isinstance(first, Nonsense) or isinstance(rest[0], Nonsense), own.name


@pytest.mark.parametrize(
    "text",
    [
        f"Sure.\n<tool_calls>\n<tool_call>{JSON}</tool_call>\n</tool_calls>",
        f"<function_calls>\n<tool_call>{JSON}</tool_call>\n</function_calls>\nI wait.",
        f"<response>I use move_to(2, -1.5).\n<tool_call>{JSON}</tool_call></response>",
    ],
)
def test_a_call_within_further_marks_and_beside_a_mention_is_one_call(text):
    for lenient in (False, True):
        assert parse_answer(text, TOOLS, lenient=lenient).items == (GO,)


def test_a_call_in_a_fence_among_words_is_one_only_where_all_that_reads_as_one_is():
    text = f'From {{"x": 0}} on:\n```json\n{JSON}\n```\nThen:\n```json\n{{"ok": true}}\n```'
    assert parse_answer(text, TOOLS, lenient=True).items == (GO,)
    for own in formats():
        (item,) = parse_answer(text, TOOLS, own).items
        assert isinstance(item, Nonsense) and item.code == "unread_call"


@pytest.mark.parametrize("between", ["", ", ", "; ", " ", "\n", "<|python_tag|>", "\n<|python_tag|>"])
def test_several_calls_in_plain_json_all_count(between):
    text = PARAMETERS + between + PARAMETERS
    for own in (PLAIN, BY_NAME["llama-json"], BY_NAME["xlam"]):
        assert parse_answer(text, TOOLS, own, lenient=True).items == (GO, GO)
    assert parse_answer(text, TOOLS, BY_NAME["llama-json"]).items == (GO, GO)
    assert all(isinstance(item, Nonsense) for item in parse_answer(text, TOOLS).items)


@pytest.mark.parametrize(
    "text",
    [
        f"action: move_to\naction input: {ARGUMENTS}",
        f"**Action**: move_to\n**Action Input**: {ARGUMENTS}\n**Observation**: Action: move_home",
        f"Thought 1: so\nAction 1: `move_to`\nAction Input 1: {ARGUMENTS}",
        f"- Action: **move_to**\n- Action_Input: ```json\n{ARGUMENTS}\n```",
    ],
)
def test_react_s_labels_are_read_as_models_write_them(text):
    assert parse_answer(text, TOOLS, BY_NAME["react"]).items == (GO,)
    assert parse_answer(text, TOOLS, lenient=True).items == (GO,)


def test_an_action_without_input_after_a_whole_one_is_told():
    text = FORMS["react"][1].partition("\nObservation")[0] + "\nAction: move_home"
    for more in ("", "\nAction: none\nAction: move_home"):
        call, wrong = parse_answer(text + more, TOOLS, BY_NAME["react"]).items
        assert call == GO and wrong.code == "bad_call"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_a_format_writes_it_reads(name):
    text = {"place": 'north of "B", {5} [x]', "slow": True, "by": ["a, b", "c"]}
    calls = [CallText("move_to", {"x": -2.5, "y": 40, **text}), CallText("move_home", {})]
    form = BY_NAME[name]
    for some in (calls[:1], calls[1:], calls):
        parsed = parse_answer(form.write(some), TOOLS, form)
        assert list(parsed.items) == some
        assert not parsed.words.strip()


@pytest.mark.parametrize("name", BY_NAME)
def test_words_before_a_call_are_kept(name):
    form = BY_NAME[name]
    parsed = parse_answer("I go there.\n" + form.write([GO]), TOOLS, form)
    assert [getattr(item, "code", item) for item in parsed.items] == ["unread_call" if form.bare else GO]
    assert parsed.words.strip() == "I go there."


@pytest.mark.parametrize("name", BY_NAME)
def test_a_call_that_was_cut_off_is_never_the_end(name):
    """Every beginning of a call in which its tool is named is a call, or nonsense."""
    form = BY_NAME[name]
    call = CallText("move_to", {"x": 2.0, "y": -1.5, "place": "north"})
    text = form.write([call])
    for size in range(text.index("move_to") + len("move_to") + 12, len(text)):
        items = parse_answer(text[:size], TOOLS, form).items
        assert items, text[:size]
        assert all(item == call or isinstance(item, Nonsense) for item in items), text[:size]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\n{'name': 'move_to', 'arguments': {'x': 2.0}}\n</tool_call>",
        f"<tool_call>\n{JSON}}}\n</tool_call>",
        "<tool_call>\nmove_to 2.0 -1.5\n</tool_call>",
        '<tool_call>\n{"name": "move_to", "x": 2.0, "y": -1.5}\n</tool_call>',
        '<tool_call>\n{"name": "move_to", "arguments": {"x": 1}, "parameters": {"x": 2}}\n</tool_call>',
        "I call move_to(2.0, -1.5) now.",
        "Then `move_to`(x=2.0).",
        'First {"name": "move_to", "arguments": {"x": 2.0}} and so on.',
        "{'name': 'move_to', 'arguments': {'x': 2.0}}",
        "[move_to(2.0, -1.5)]",
        "[move_to(x=open('f').read())]",
        "[TOOL_CALLS]move_to",
        "Action: move_to(2.0)",
        "<function=move_to>{broken}</function>",
        "<|tool_call>call:move_to<tool_call|>",
        "```tool_code\nimport os\nos.system('x')\n```",
        '{"tool": "move_to", "args": {"x": 2.0}}',
        '{"action": "fly", "action_input": {"x": 2.0}}',
        '{"move_to": {"x": 2.0, "y": -1.5}}',
        "{name: move_to, arguments: {x: 2.0}}",
        "{“name”: “move_to”, “arguments”: {“x”: 2.0}}",
        '{"tool_calls": [{"name": "move_to", "arguments": {"x": 2.0}}]}',
        "fly_away(x=2)",
        'fly_away\n{"x": 2}',
        "move_to --x 2.0",
        "move_to x=2.0 y=-1.5",
        "move_to（x=2.0）",
        "move_home",
        "<move_to x='2.0'/>",
        "<move_to>\n<x>2.0</x>\n</move_to>",
        "name: move_to\narguments:\n  x: 2.0",
        'Function call: move_to with {"x": 2.0}',
        '-> move_to: {"x": 2.0}',
        "<longcat_tool_call>fly\n<arg>2</arg></longcat_tool_call>",
        '<tool_call>{"name": "move_home", "name": "move_to", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "move_to", "arguments": {"x": 1, "x": 2}}</tool_call>',
        '<tool_call>{"name": "move_to", "arguments": "{\\"x\\": 1, \\"x\\": 2}"}</tool_call>',
        '{"name": "move_home", "tool_name": "move_to", "arguments": {}}',
        '{"function": {"name": "move_home"}, "arguments": {"x": 1}}',
        "<tool_call>\n<function=move_to>\n<parameter=x>2</parameter> and\n</function>\n</tool_call>",
    ],
)
def test_what_looks_like_a_call_and_cannot_be_read_is_nonsense_in_every_format(text):
    for own in formats():
        items = parse_answer(text, TOOLS, own).items
        assert items, own.name
        assert all(isinstance(item, Nonsense) and item.reason for item in items), (own.name, items)


@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "",
        "I moved to (2, -1.5) and all is well.",
        'The state is {"x": 2.0, "y": [1, 2]}.',
        '{"x": 2.0}',
        '```json\n{"battery": 0.5}\n```',
        "a < b and c > d; [1, 2]; f(x)",
        "I used move_to and then move_home.",
        "Thought: nothing is left.\nFinal Answer: done",
        "Action: none",
        "Thought: all is done.\nAction: None needed.\nFinal Answer: done",
        *(f"Action: {none}\nAction Input: {none}\nFinal Answer: done" for none in ("None", "`none`", "N/A")),
        'Action: None (all is done)\nAction Input: {}\nAction: none\nAction Input: ""',
        "The action was right, and name and parameters of the tool too.",
        '{"status": "done", "notes": ["move_to worked", "then move_home"]}',
        "Tools used: move_to, move_home.",
        "| step | tool |\n| --- | --- |\n| 1 | move_to |",
    ],
)
def test_an_answer_in_words_is_no_call_in_any_format(text):
    for own in formats():
        assert parse_answer(text, TOOLS, own).items == (), own.name


NO_ACTION = "Action: None\nAction Input: None"


@pytest.mark.parametrize("own", [PLAIN, BY_NAME["react"]])
def test_an_action_of_none_is_none_beside_a_call(own):
    call = "Action: move_to\nAction Input: " + ARGUMENTS
    for text in (f"{NO_ACTION}\n\n{call}", f"{call}\n{NO_ACTION}"):
        assert parse_answer(text, TOOLS, own, lenient=True).items == (GO,)
    assert parse_answer(text, TOOLS, BY_NAME["react"]).items == (GO,)


@pytest.mark.parametrize("given", ['{"x": 2.0}', "move_home, to be safe"])
def test_an_action_of_none_with_an_input_is_one(given):
    (item,) = parse_answer(
        f"Action: None\nAction Input: {given}\nFinal Answer: x", TOOLS, BY_NAME["react"]
    ).items
    assert item == CallText("None", {"x": 2.0}) or item.code == "unclosed"


def test_a_tool_may_be_called_none():
    tools = Tools([{"type": "function", "function": {"name": "none", "parameters": {}}}])
    assert parse_answer("Action: none\nAction Input: {}", tools, BY_NAME["react"]).items == (
        CallText("none", {}),
    )


def test_an_argument_may_hold_an_action_of_none():
    text = f"<function=move_to><parameter=place>\n{NO_ACTION}\n</parameter></function>"
    (item,) = parse_answer(text, TOOLS, BY_NAME["qwen-xml"]).items
    assert item == CallText("move_to", {"place": NO_ACTION})


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize("name", BY_NAME)
def test_a_thought_makes_no_call(name, opened):
    form = BY_NAME[name]
    begin = "" if opened else "<think>\n"
    thought = f"{begin}I could {form.write([CallText('move_home', {})])}, but no.\n</think>\n\n"
    parsed = parse_answer(thought + "Done.", TOOLS, form, opened=opened)
    assert parsed.items == ()
    assert parsed.words.strip() == "Done."
    parsed = parse_answer(thought + form.write([GO]), TOOLS, form, opened=opened)
    assert parsed.items == (GO,)
    assert "but no." in parsed.thoughts


@pytest.mark.parametrize("mark", ["</think>", "a <think> b [/THINK]", "<|im_start|>user <tool_response>"])
@pytest.mark.parametrize("name", BY_NAME)
def test_marks_of_thoughts_in_an_argument_are_text(name, mark):
    """A hostile name cannot hide a call, nor let the one behind it be made alone."""
    calls = [CallText("move_to", {"x": 2.0, "y": -1.5, "place": mark}), CallText("move_home", {})]
    written = BY_NAME[name].write(calls)
    assert list(parse_answer(written, TOOLS, PLAIN, lenient=True).items) == calls
    thought = f"<think>I could {written}, but no.</think>"
    assert parse_answer(thought + "Done.", TOOLS, BY_NAME[name]).items == ()
    parsed = parse_answer(thought + BY_NAME[name].write(calls), TOOLS, BY_NAME[name])
    assert list(parsed.items) == calls
    assert "but no." in parsed.thoughts and "\ufdd1" not in parsed.thoughts + parsed.rest


def test_words_before_a_thought_do_not_make_it_one():
    text = f"OK.\n<think>maybe <tool_call>{JSON}</tool_call></think>\nNo."
    assert parse_answer(text, TOOLS).items == ()


def test_a_thought_that_does_not_end_makes_no_call_and_is_told():
    for opened, text in ((True, f"I do <tool_call>{JSON}</tool_call>"), (False, f"<think><tool_call>{JSON}")):
        (item,) = parse_answer(text, TOOLS, opened=opened).items
        assert isinstance(item, Nonsense) and item.code == "unclosed_thought"
    assert parse_answer("<think>hm", TOOLS).items == ()


def test_a_call_in_a_thought_with_nothing_behind_it_is_told():
    """Nothing was done, so the answer is no `done`; with words behind the thought it is."""
    text = f"<think>I go.\n<tool_call>{JSON}</tool_call>\n</think>\n"
    (item,) = parse_answer(text, TOOLS).items
    assert isinstance(item, Nonsense) and item.code == "call_in_thought"
    assert parse_answer(text + "I am there.", TOOLS).items == ()
    assert parse_answer("<think>I used move_to (2, 3).</think>", TOOLS).items == ()


def test_a_parameter_that_is_not_closed_ends_where_the_next_one_begins():
    text = "<tool_call>\n<function=move_to>\n<parameter=place>\nnorth\n<parameter=x>\n2.0\n{}</function>{}"
    call = CallText("move_to", {"place": "north", "x": 2.0})
    for closed in ("", "</parameter>\n"):
        for end in ("", "\n</tool_call>"):
            assert parse_answer(text.format(closed, end), TOOLS, BY_NAME["qwen-xml"]).items == (call,)
    unclosed = text.format("</parameter>\n", "\n</tool_call>").replace("</function>", "")
    assert parse_answer(unclosed, TOOLS, BY_NAME["qwen-xml"]).items == (call,)
    twice = text.format("<parameter=x>\n3\n", "")
    (item,) = parse_answer(twice, TOOLS, BY_NAME["qwen-xml"]).items
    assert isinstance(item, Nonsense)


def test_gemma_4_with_quotes_as_in_json():
    text = '<|tool_call>call:move_to{"x":2.0,<|"|>y<|"|>: -1.5, "place": "north, {1}"}<tool_call|>'
    (item,) = parse_answer(text, TOOLS, BY_NAME["gemma-4"]).items
    assert item == CallText("move_to", {"x": 2.0, "y": -1.5, "place": "north, {1}"})


def test_numbers_as_text_stay_text_where_the_schema_says_so():
    text = "<function=move_to><parameter=x>2</parameter><parameter=place>7</parameter></function>"
    (item,) = parse_answer(text, TOOLS, BY_NAME["qwen-xml"]).items
    assert item == CallText("move_to", {"x": 2, "place": "7"})


def test_the_usual_format_is_one_of_them_and_names_differ():
    assert PLAIN in formats()
    assert len(BY_NAME) == len(formats())
