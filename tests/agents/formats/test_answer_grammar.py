"""Grammars of every format: its calls are allowed, others are not, and no call is ever forced."""

from __future__ import annotations

import pytest
from families import BY_NAME, families
from farm_rig import FARM_ROVER
from llama_cpp_files import llama_cpp_file
from tiny_gguf import write_tiny_gguf

from agents.backends.llama_engine import LlamaEngine
from agents.backends.llama_sampler import CallWatch
from agents.formats.answer_grammar import answer_grammar, call_grammar
from agents.formats.calls import CallText
from agents.formats.registry import formats

pytestmark = pytest.mark.llama

SCHEMAS = [
    {
        "function": {
            "name": "pour",
            "parameters": {
                "type": "object",
                "properties": {
                    "litres": {"type": "number"},
                    "plant": {"type": "string"},
                    "mode": {"enum": ["slow", "fast"]},
                    "dry": {"type": "boolean"},
                },
                "required": ["litres", "plant"],
            },
        }
    },
    {"function": {"name": "home", "parameters": {"type": "object", "properties": {}}}},
]
POUR = CallText("pour", {"litres": 4.5, "plant": "plant B", "mode": "slow", "dry": True})
FEW = CallText("pour", {"litres": 1, "plant": ""})


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    path = write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", template=None)
    made = LlamaEngine(path, n_ctx=64, n_threads=1)
    yield made
    made.close()


@pytest.fixture
def accepts(engine):
    """Whether llama.cpp compiles the grammar and takes the whole text as an answer of it."""

    def check(grammar: str, text: str) -> bool:
        sampler = engine.sampler(grammar=None)
        try:
            tokens = engine.vocabulary.tokenize(text)
            return sampler.constrain(grammar, tokens) and sampler.allows(engine.vocabulary.end_token)
        finally:
            sampler.close()

    return check


def written(form, *calls):
    """The calls as the format writes them, as far as the model writes them itself."""
    text = form.write(calls)
    if form.name == "harmony":
        text = text.removesuffix("<|call|>")
    return text


@pytest.mark.parametrize("name", BY_NAME)
def test_a_call_and_no_other(accepts, name):
    form = BY_NAME[name]
    grammar = answer_grammar(SCHEMAS, form)
    call = written(form, POUR)
    assert accepts(grammar, call) and not accepts(grammar, call.replace("slow", "odd"))


@pytest.mark.parametrize("name", families())
def test_a_whole_answer(accepts, name):
    form = BY_NAME[name]
    grammar = answer_grammar(SCHEMAS, form)
    call = written(form, POUR)
    for good in ("", "Done.", call, written(form, FEW), written(form, CallText("home", {})), call + "\n"):
        assert accepts(grammar, good), good
    assert accepts(grammar, call + "\nDone.")
    assert accepts(grammar, f"<think>\nshall I {call}?\n</think>\n\nYes.")
    assert accepts(grammar, f"<think>\nhm\n</think>\n\n{call}")
    if not form.bare:
        assert accepts(grammar, "I go.\n" + call)


@pytest.mark.parametrize("name", families(lambda form: form.name != "functionary-3.2"))
def test_what_is_no_call_of_the_tools_is_not_written(accepts, name):
    form = BY_NAME[name]
    grammar = answer_grammar(SCHEMAS, form)
    call = written(form, POUR)
    for bad in (call.replace("pour", "spray"), call.replace("slow", "odd"), call.replace("4.5", '"much"')):
        assert not accepts(grammar, bad), bad


@pytest.mark.parametrize("name", families())
def test_a_thought_that_the_prompt_opened(accepts, name):
    form = BY_NAME[name]
    grammar = answer_grammar(SCHEMAS, form, opened=True)
    call = written(form, POUR)
    for good in (
        "",
        "hm",
        f"I could <tool_call> or {call}, but no.</think>\nDone.",
        f"hm\n</think>\n\n{call}",
    ):
        assert accepts(grammar, good), good


@pytest.mark.parametrize("name", families())
def test_a_run_of_calls_from_its_mark_on(accepts, name):
    form = BY_NAME[name]
    text = written(form, POUR)
    begin = form.beginning(["home", "pour"]).search(text)
    assert begin is not None
    call = text[begin.start("call") :]
    assert accepts(call_grammar(SCHEMAS, form, "x"), "x" + call)
    assert accepts(call_grammar(SCHEMAS, form, ""), call + "\nDone.")
    assert not accepts(call_grammar(SCHEMAS, form, ""), call[:-8])


class Recorder:
    """Asks what may come next while a text is written."""

    def __init__(self, engine, form, *, opened=False):
        self.vocabulary = engine.vocabulary
        self.sampler = engine.sampler(grammar=None)
        self.watch = CallWatch(self.sampler, form, SCHEMAS, opened=opened, end=self.vocabulary.end_token)

    def write(self, text):
        """Write it; returns the part that the grammar does not allow."""
        tokens = self.vocabulary.tokenize(text)
        for number, token in enumerate(tokens):
            if not self.sampler.allows(token):
                return b"".join(map(self.vocabulary.piece, tokens[number:])).decode()
            self.sampler.accept(token)
            self.watch.wrote(token, self.vocabulary.piece(token))
        return ""


@pytest.mark.parametrize("name", families())
def test_calls_alone_are_held(engine, name):
    form = BY_NAME[name]
    text = written(form, POUR)
    recorder = Recorder(engine, form)
    head = "" if form.bare or name == "functionary-3.2" else "I go, and say 1 < 2 [3].\n"
    assert recorder.write(head + text) == ""
    assert not recorder.sampler.constrained
    assert recorder.write("\nAnd now words, {braces} and <marks>.") == ""
    recorder.sampler.close()


@pytest.mark.parametrize("name", families(lambda form: form.name != "functionary-3.2"))
def test_an_argument_of_the_wrong_type_is_not_written(engine, name):
    form = BY_NAME[name]
    text = written(form, POUR).replace("4.5", '"much"')
    recorder = Recorder(engine, form)
    assert recorder.write(text).startswith(('"much"', ' "much"', "much"))
    recorder.sampler.close()


@pytest.mark.parametrize("name", families())
def test_a_mention_in_a_thought_is_free(engine, name):
    form = BY_NAME[name]
    recorder = Recorder(engine, form, opened=True)
    mark = form.write([FEW])[:14]
    assert recorder.write(f"I could {mark} here, but the user did not ask.\n</think>\n\nDone.") == ""
    assert not recorder.sampler.constrained
    recorder.sampler.close()


def check_free(engine, form, said):
    recorder = Recorder(engine, form)
    assert recorder.write(said) == "", said
    assert recorder.sampler.allows(engine.vocabulary.end_token), said
    recorder.sampler.close()


@pytest.mark.parametrize("name", families())
def test_a_mark_that_no_call_follows_is_free(engine, name):
    """A mark in a sentence, or before nothing: held, it becomes a call that nobody meant."""
    form = BY_NAME[name]
    head, _, tail = written(form, POUR).partition("pour")
    mark = next(iter(form.marks), head)
    check_free(engine, form, f"I would write {mark} here but no.")
    check_free(engine, form, f"{mark}\n# nothing to do\n")
    check_free(engine, form, f"{mark}{{}} or {mark}... with a name and {tail}")


@pytest.mark.parametrize("name", families(lambda form: form.bare or not form.marks))
def test_without_marks_a_tool_s_whole_name_begins_a_call(engine, name):
    """A report in JSON is none, also where it begins as the name of a tool."""
    form = BY_NAME[name]
    head, _, tail = written(form, POUR).partition("pour")
    for report in (
        'plant_B", "state": "wet"}',
        "pouring is done.",
        f"NAME{tail}",
        'pourer", "state": "wet"}',
    ):
        check_free(engine, form, head + report)
    recorder = Recorder(engine, form)
    assert recorder.write(f"{head}pour{tail[:3]}") == ""
    assert recorder.sampler.constrained
    recorder.sampler.close()


@pytest.mark.parametrize("name", families(lambda form: form.marks and not form.bare))
def test_a_call_in_marks_names_a_tool(engine, name):
    form = BY_NAME[name]
    head, _, tail = written(form, POUR).partition("pour")
    recorder = Recorder(engine, form)
    assert recorder.write(f"{head}pouring{tail}") == f"ing{tail}"
    assert not recorder.sampler.allows(engine.vocabulary.end_token)
    recorder.sampler.close()


@pytest.fixture(scope="module")
def words():
    made = LlamaEngine(llama_cpp_file("ggml-vocab-llama-bpe.gguf"), n_ctx=0, n_threads=1, only_words=True)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["hermes", "llama-json", "pythonic"])
def test_a_token_may_end_a_call_and_go_on(words, name):
    """`}` and a newline are one token of Llama's vocabulary, as are `>` and one."""
    engine = words
    recorder = Recorder(engine, BY_NAME[name])
    text = written(BY_NAME[name], POUR)
    crossing = engine.vocabulary.tokenize(text + "\n\n")[-1]
    assert engine.vocabulary.piece(crossing).strip() != engine.vocabulary.piece(crossing)
    assert recorder.write(text + "\n\n") == ""
    assert not recorder.sampler.constrained
    recorder.sampler.close()


def test_after_a_call_a_model_may_end_with_a_newline(engine):
    """Nemotron's own template ends calls so: a grammar that wants another call after it moves the rig."""
    recorder = Recorder(engine, BY_NAME["hermes"])
    assert recorder.write('<tool_call>\n{"name": "home", "arguments": {}}\n</tool_call>\n') == ""
    assert recorder.sampler.allows(engine.vocabulary.end_token)
    recorder.sampler.close()


def test_the_grammar_of_a_whole_device_compiles_in_every_format(accepts):
    for form in formats():
        assert accepts(answer_grammar(FARM_ROVER.schemas(), form), "Done."), form.name


def test_without_tools_there_are_no_calls(accepts):
    for form in formats():
        assert accepts(answer_grammar([], form), "Hello."), form.name
    assert not accepts(answer_grammar([]), '<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>')
