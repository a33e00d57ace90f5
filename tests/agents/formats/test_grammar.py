from __future__ import annotations

import json

import pytest
from farm_rig import FARM_ROVER
from tiny_gguf import write_tiny_gguf

from agents.agent import BackendError, EpisodeContext, StopAction
from agents.backends.llama_engine import LlamaEngine
from agents.baselines.random import RandomAgent
from agents.formats.answer_grammar import answer_grammar
from agents.formats.grammar import Rules, literal
from configs.worlds_loader import load_world
from sims.world_type import WORLD_TYPES

pytestmark = pytest.mark.llama

DEVICES = [load_world(name).device for name in WORLD_TYPES]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    made = LlamaEngine(
        write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", template=None), n_ctx=64, n_threads=1
    )
    yield made
    made.close()


@pytest.fixture
def accepts(engine):
    """Whether llama.cpp compiles the grammar and takes the whole text as an answer of it."""
    end = engine.vocabulary.tokenize("<|im_end|>")[0]

    def check(grammar: str, text: str) -> bool:
        sampler = engine.sampler(grammar=grammar)
        try:
            for token in engine.vocabulary.tokenize(text):
                if not sampler.allows(token):
                    return False
                sampler.accept(token)
            return sampler.allows(end)
        finally:
            sampler.close()

    return check


def piece(build) -> str:
    """A grammar of one piece alone."""
    rules = Rules()
    rules.add("root", build(rules))
    return rules.text()


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ['"a"', '"é \\" \\n \\u00e9"', '""'], ["a", '"', '"\n"', "1"]),
        ({"type": "number"}, ["0", "-1.5", "14.0", "2e-3"], ["01", "1.", ".5", "NaN", '"1"']),
        ({"type": "integer"}, ["0", "-12"], ["1.0", "--1"]),
        ({"type": "boolean"}, ["true", "false"], ["True", "1"]),
        ({"type": "null"}, ["null"], ["None"]),
        ({"enum": ['a"b', 3, None]}, ['"a\\"b"', "3", "null"], ['"a"', "4"]),
        ({"const": "x"}, ['"x"'], ['"y"']),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["3", "null"], ['"3"']),
        (
            {"type": "array", "items": {"type": "integer"}},
            ["[]", "[1, 2]", "[1,2]"],
            ['["a"]', "[1, ]", "[1  ,2]"],
        ),
        ({"type": "array"}, ["[]", '[1, "a", [null]]'], ["[1 2]"]),
        ({"type": "object"}, ["{}", '{"a": 1, "b": {"c": []}}'], ["{a: 1}", '{"a"  :1}']),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
            ['{"a": 1}'],
            ["{}", '{"a": "1"}', '{"b": 1}'],
        ),
        ({}, ["1", '"a"', '[{"b": null}]'], ["nope"]),
        ({"$ref": "#/$defs/Foreign"}, ["1", "{}"], ["x"]),
        ({"type": ["string", "null"]}, ['"a"', "null", "1"], ["x"]),
    ],
)
def test_a_value_of_each_type(accepts, schema, good, bad):
    grammar = piece(lambda rules: rules.value_of(schema, "v"))
    assert [text for text in good if not accepts(grammar, text)] == []
    assert [text for text in bad if accepts(grammar, text)] == []


def test_optional_members_may_be_left_out_in_any_combination(accepts):
    schema = {"properties": {k: {"type": "integer"} for k in "abc"}, "required": ["b"]}
    grammar = piece(lambda rules: rules.object_of(schema, "o"))
    for good in ('{"b": 1}', '{"a": 1, "b": 2}', '{"b": 1, "c": 2}', '{"a": 1, "b": 2, "c": 3}'):
        assert accepts(grammar, good)
    for bad in ("{}", '{"a": 1}', '{"a": 1, "c": 2}', '{"b": 1, "a": 2}', '{, "b": 1}', '{"b": 1, }'):
        assert not accepts(grammar, bad)


def test_all_members_optional(accepts):
    schema = {"properties": {k: {"type": "integer"} for k in "ab"}}
    grammar = piece(lambda rules: rules.object_of(schema, "o"))
    for good in ("{}", '{"a": 1}', '{"b": 1}', '{"a": 1, "b": 2}'):
        assert accepts(grammar, good)


@pytest.mark.parametrize("mark", ["<tool_call>", "</think>", "[TOOL_CALLS]", "abab[", "```tool_code"])
def test_text_without_a_mark(accepts, mark):
    grammar = piece(lambda rules: rules.text_without([mark], "t"))
    for good in (
        "",
        "a < b",
        "<<<",
        mark[:-1],
        mark[:-1] + "?",
        "line\nline <b>é</b>",
        mark[:3] + "?" + mark[:4],
    ):
        assert accepts(grammar, good), good
    for bad in (mark, "a" + mark, mark[:2] + mark + "b", mark[0] + mark):
        assert not accepts(grammar, bad), bad


def test_text_without_several_marks(accepts):
    grammar = piece(lambda rules: rules.text_without(["<a>", "<ab>", "ba"], "t"))
    for good in ("", "<a", "<abc>", "b<", "ab <b> <aa>"):
        assert accepts(grammar, good), good
    for bad in ("<a>", "x<ab>", "<<a>", "bba", "<aba"):
        assert not accepts(grammar, bad), bad


@pytest.mark.parametrize("text", ['a"b', "back\\slash", "new\nline", "tab\tand \x01", "é 你", "[x^-]"])
def test_any_text_as_a_literal(accepts, text):
    assert accepts(f"root ::= {literal(text)}\n", text)
    assert not accepts(f"root ::= {literal(text)}\n", text + "x")


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2, 3))])
@pytest.mark.parametrize(
    "device", [load_world(name).device for name in WORLD_TYPES], ids=lambda device: device.name
)
def test_every_valid_call_of_a_device_is_allowed(accepts, device, seed):
    grammar = answer_grammar(device.schemas())
    agent = RandomAgent()
    agent.start(EpisodeContext("p", device.tools, seed=seed))
    while not isinstance(action := agent.act(None), StopAction):
        body = json.dumps({"name": action.name, "arguments": action.arguments})
        assert accepts(grammar, f"<tool_call>\n{body}\n</tool_call>"), body


def test_a_whole_answer(accepts):
    grammar = answer_grammar(FARM_ROVER.schemas())
    call = '<tool_call>\n{"name": "move_to", "arguments": {"x": 1, "y": 2.5}}\n</tool_call>'
    for good in (
        "Done.",
        call,
        "I go.\n" + call,
        call + "\n" + call,
        f"<think>\n\n</think>\n\n{call}",
        f"<think>\nshall I {call}?\n</think>\n\nYes.",
        call + "\n",
        call + " and more",
        call + "\nDone.",
        call.replace("\n", "").replace(" ", ""),
        '<tool_call>\n{"arguments": {"x": 1, "y": 2}, "name": "move_to"}\n</tool_call>',
    ):
        assert accepts(grammar, good), good
    for bad in (
        call.replace("move_to", "fly_to"),
        call + "<tool_call> I said",
        call.replace("2.5", '"2.5"'),
        call[:-1],
    ):
        assert not accepts(grammar, bad), bad


def test_without_tools_there_are_no_calls(accepts):
    grammar = answer_grammar([])
    assert accepts(grammar, "Hello.")
    assert not accepts(grammar, '<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>')


def test_names_out_of_the_ordinary_do_not_break_the_grammar(accepts):
    name = 'odd "name" \\ é'
    schema = {"properties": {'k " ]': {"type": "integer"}}, "required": ['k " ]']}
    grammar = answer_grammar([{"function": {"name": name, "parameters": schema}}])
    body = json.dumps({"name": name, "arguments": {'k " ]': 1}}, ensure_ascii=False)
    assert accepts(grammar, f"<tool_call>\n{body}\n</tool_call>")


def test_schemas_that_refer_to_themselves_end_in_any_value(accepts):
    schema: dict = {"type": "array"}
    schema["items"] = schema
    grammar = piece(lambda rules: rules.value_of(schema, "v"))
    assert accepts(grammar, "[[], [[]]]")


def test_a_grammar_that_does_not_compile_is_an_error(engine):
    with pytest.raises(BackendError, match="grammar"):
        engine.sampler(grammar="root ::= (")
