from __future__ import annotations

import sys
import threading
import time
from itertools import product

import pytest
from chat_templates import QWEN3, QWEN25, WITHOUT_TOOLS
from farm_rig import FARM_ROVER
from tiny_gguf import write_tiny_gguf

from agents.agent import (
    AgentSpecError,
    EpisodeContext,
    InvalidAction,
    Limits,
    Observation,
    StopAction,
    ToolCallAction,
)
from agents.backends.llama_backend import LlamaBackend
from agents.deadline import CancelledError, Deadline
from agents.formats.calls import CallText
from agents.formats.grammar import Rules
from agents.options import ModelOptions
from agents.registry import make_agent
from agents.scaffolds.native import NativeScaffold
from devices.outcome import Outcome

pytestmark = pytest.mark.llama

MESSAGES = [{"role": "system", "content": "Be exact. " * 40}, {"role": "user", "content": "Go."}]
SCHEMAS = FARM_ROVER.schemas()[:3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gguf")


@pytest.fixture(scope="module")
def tiny(folder):
    return write_tiny_gguf(folder / "tiny.gguf", template=QWEN3)


def evaluated_by_llama(engine):
    """llama.cpp's own count of evaluated tokens since the model was loaded."""
    counts = engine._c.llama_perf_context(engine._context)
    return counts.n_p_eval + counts.n_eval


def opened(path, **options):
    backend = LlamaBackend(path, ModelOptions(n_threads=1, **options))
    backend.start(0, SCHEMAS)
    return backend


TEMPLATES = {"qwen3": QWEN3, "qwen2.5": QWEN25, "plain": WITHOUT_TOOLS, "none": None}
NONSENSE = [*product(TEMPLATES, ("off", "calls", "strict"), range(3))]
BY_DAY = [*zip(TEMPLATES, ("calls", "strict", "off", "strict"), (0, 0, 0, 0), strict=True)]
"""Each template and each grammar."""


@pytest.mark.parametrize(
    ("template", "grammar", "seed"),
    [*BY_DAY, *(pytest.param(*one, marks=pytest.mark.nightly) for one in NONSENSE if one not in BY_DAY)],
)
def test_nonsense_from_any_model_is_steps_and_never_a_crash(folder, template, grammar, seed):
    template = TEMPLATES[template]
    path = write_tiny_gguf(folder / "nonsense.gguf", template=template, seed=seed)
    agent = NativeScaffold(LlamaBackend(path, ModelOptions(n_threads=1, temperature=1.5, grammar=grammar)))
    agent.start(EpisodeContext("Go.", FARM_ROVER.tools, seed=seed, limits=Limits(4, 200, 20.0)))
    observation = None
    for _ in range(10):
        action = agent.act(observation)
        observation = None
        if isinstance(action, StopAction):
            break
        if isinstance(action, ToolCallAction):
            observation = Observation(action, Outcome("ok", {}))
        else:
            assert isinstance(action, InvalidAction)
    else:
        pytest.fail("the limits did not end the episode")
    agent.close()


@pytest.mark.parametrize("reading", ["strict", "lenient"])
def test_a_report_of_a_call_is_one_only_where_that_was_asked_for(tiny, reading, monkeypatch):
    report = 'All done:\n```json\n{"name": "move_home", "arguments": {}}\n```'
    backend = opened(tiny, reading=reading)
    monkeypatch.setattr(backend, "_write", lambda *_: (report, 9, "end", time.monotonic()))
    (item,) = backend.answer(MESSAGES, tokens=50, deadline=Deadline(20)).items
    assert isinstance(item.what, CallText) == (reading == "lenient")
    assert backend.options["reading"] == reading
    backend.close()


def test_only_new_tokens_are_evaluated_and_counted_as_llama_counts(tiny):
    backend = opened(tiny)
    engine = backend.engine
    first = backend.answer(MESSAGES, tokens=5, deadline=Deadline(20))
    assert first.usage.cached_tokens == 0
    assert first.usage.output_tokens > 0
    # The last token written is picked and not evaluated.
    assert evaluated_by_llama(engine) == first.usage.input_tokens + first.usage.output_tokens - 1
    messages = [*MESSAGES, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "More."}]
    before = evaluated_by_llama(engine)
    second = backend.answer(messages, tokens=1, deadline=Deadline(20))
    assert evaluated_by_llama(engine) - before == second.usage.input_tokens
    assert second.usage.cached_tokens >= first.usage.input_tokens
    assert second.usage.input_tokens < 100
    backend.close()


def test_an_answer_does_not_depend_on_what_ran_before(tiny):
    backend = opened(tiny)
    alone = backend.answer(MESSAGES, tokens=40, deadline=Deadline(20))
    backend.start(0, SCHEMAS)
    backend.answer(
        [MESSAGES[0], {"role": "user", "content": "Quite another thing."}], tokens=40, deadline=Deadline(20)
    )
    backend.start(0, SCHEMAS)
    again = backend.answer(MESSAGES, tokens=40, deadline=Deadline(20))
    assert again.usage.text == alone.usage.text
    assert again.usage.cached_tokens > 0
    backend.close()


def test_sampling_goes_by_the_seed(tiny):
    backend = opened(tiny, temperature=1.0)
    texts = []
    for seed in (1, 1, 2):
        backend.start(seed, SCHEMAS)
        texts.append(backend.answer(MESSAGES, tokens=30, deadline=Deadline(20)).usage.text)
    assert texts[0] == texts[1] != texts[2]
    backend.close()


def test_a_prompt_longer_than_the_context_stops_as_context(folder):
    backend = opened(write_tiny_gguf(folder / "short.gguf", template=QWEN3, context=256))
    reply = backend.answer(MESSAGES, tokens=5, deadline=Deadline(20))
    assert (reply.stop, reply.usage.output_tokens) == ("context", 0)
    backend.close()


def test_an_answer_that_fills_the_context_stops_as_context(folder):
    path = write_tiny_gguf(folder / "short.gguf", template=WITHOUT_TOOLS, context=256)
    backend = LlamaBackend(path, ModelOptions(n_threads=1))
    backend.start(0, [])
    reply = backend.answer([{"role": "user", "content": "a" * 200}], tokens=4000, deadline=Deadline(20))
    assert reply.stop in ("context", "end")
    assert reply.usage.input_tokens + reply.usage.output_tokens <= 256
    backend.close()


def test_time_is_up_before_the_prompt_is_read(tiny):
    backend = opened(tiny)
    reply = backend.answer(MESSAGES, tokens=5, deadline=Deadline(0.0))
    assert reply.stop == "time"
    assert reply.usage.input_tokens <= 128
    assert (
        backend.answer(MESSAGES, tokens=5, deadline=Deadline(20)).usage.cached_tokens
        == reply.usage.input_tokens
    )
    backend.close()


class StoppedAfter(Deadline):
    """Cancels the episode, or says that the time is up, when it was asked so often."""

    def __init__(self, asks, *, cancels):
        super().__init__(20)
        self.asks, self.cancels, self.count = asks, cancels, 0

    @property
    def over(self):
        self.count += 1
        if self.count < self.asks:
            return False
        if self.cancels:
            self.cancellation.cancel()
        return True


@pytest.mark.parametrize("asks", [1, 3, 60])
def test_a_cancelled_answer_ends_in_mid_chunk_and_leaves_the_context_sound(tiny, asks):
    backend = opened(tiny)
    whole = backend.answer(MESSAGES, tokens=40, deadline=Deadline(20))
    chunks = -(-whole.usage.input_tokens // 128)
    backend.start(0, SCHEMAS)
    backend.engine.rewind(0)
    stopped = StoppedAfter(asks, cancels=True)
    with pytest.raises(CancelledError):
        backend.answer(MESSAGES, tokens=40, deadline=stopped)
    # Asked after each operation of llama.cpp, of which one chunk has dozens: not after whole chunks alone.
    assert stopped.count <= asks + 1 and len(backend.engine.evaluated) < 128 * chunks
    backend.start(0, SCHEMAS)
    assert backend.answer(MESSAGES, tokens=40, deadline=Deadline(20)).usage.text == whole.usage.text
    backend.close()


def test_the_time_may_be_up_in_mid_chunk_too(tiny):
    backend = opened(tiny)
    reply = backend.answer(MESSAGES, tokens=40, deadline=StoppedAfter(5, cancels=False))
    assert (reply.stop, reply.usage.input_tokens, reply.usage.output_tokens) == ("time", 0, 0)
    assert not backend.engine.evaluated
    backend.close()


def test_a_build_without_an_abort_callback_stops_after_the_chunk(tiny, monkeypatch):
    from llama_cpp import llama_cpp

    monkeypatch.delattr(llama_cpp, "llama_set_abort_callback")
    backend = opened(tiny)
    with pytest.raises(CancelledError):
        backend.answer(MESSAGES, tokens=5, deadline=StoppedAfter(1, cancels=True))
    assert len(backend.engine.evaluated) == 128
    backend.close()


def test_an_interrupt_that_strikes_within_the_callback_is_not_lost(tiny):
    class Interrupted(Deadline):
        @property
        def over(self):
            raise KeyboardInterrupt

    backend = opened(tiny)
    with pytest.raises(KeyboardInterrupt):
        backend.answer(MESSAGES, tokens=5, deadline=Interrupted(20))
    backend.close()


def test_closing_waits_for_an_answer_that_nobody_waits_for(tiny):
    class Slow(Deadline):
        @property
        def over(self):
            asked.set()
            time.sleep(0.002)
            return super().over

    asked, slow = threading.Event(), Slow(20)
    backend = opened(tiny)

    def answer():
        with pytest.raises(CancelledError):
            backend.answer(MESSAGES, tokens=4000, deadline=slow)

    thread = threading.Thread(target=answer)
    thread.start()
    assert asked.wait(20)
    slow.cancellation.cancel()
    backend.close()
    thread.join(20)
    assert not thread.is_alive()


def test_calls_under_the_grammar_are_well_formed_whatever_the_model(tiny, monkeypatch):
    def one_call(schemas, form, *, opened):
        rules = Rules()
        rules.add("root", form.grammar(rules, [schema["function"] for schema in schemas]))
        return rules.text()

    monkeypatch.setattr("agents.backends.llama_backend.answer_grammar", one_call)
    backend = opened(tiny, temperature=10.0, top_k=0, top_p=1.0, grammar="strict")
    names = set()
    for seed in range(8):
        backend.start(seed, SCHEMAS)
        reply = backend.answer([{"role": "user", "content": "Go."}], tokens=300, deadline=Deadline(20))
        assert reply.stop == "end"
        (item,) = reply.items
        assert set(item.what.arguments) <= {"x", "y", "yaw"}
        names.add(item.what.name)
        assert reply.message["tool_calls"][0]["function"]["name"] == item.what.name
    assert 1 < len(names) <= 3
    backend.close()


@pytest.mark.parametrize(
    ("options", "logged"),
    [
        ({}, {"grammar": "calls", "thinking": "as the template has it", "format": "hermes"}),
        ({"grammar": "off", "thinking": False}, {"grammar": "off", "thinking": "off", "temperature": 0.0}),
        ({"grammar": "strict", "thinking": True, "temperature": 0.5}, {"thinking": "on", "temperature": 0.5}),
    ],
)
def test_what_was_chosen_is_told(tiny, options, logged):
    backend = LlamaBackend(tiny, ModelOptions(n_threads=1, **options))
    agent = NativeScaffold(backend)
    assert agent.options.items() >= logged.items()
    agent.close()


def test_files_that_are_no_model(folder, tiny):
    (folder / "text.gguf").write_text("no model")
    (folder / "empty.gguf").write_bytes(b"")
    (folder / "short.gguf").write_bytes(tiny.read_bytes()[:100])
    for name, said in (
        ("none.gguf", "there is no such GGUF file"),
        ("text.gguf", "is no GGUF file"),
        ("empty.gguf", "is no GGUF file"),
        ("short.gguf", "llama.cpp cannot load it: failed to read key-value pairs"),
    ):
        with pytest.raises(AgentSpecError) as error:
            make_agent(f"llama:{folder / name}")
        assert str(error.value) == f"{folder / name}: {said}"


def test_an_empty_chat_template_is_none(folder, tiny):
    (folder / "empty.jinja").write_text("\n")
    with pytest.raises(AgentSpecError, match=r"option chat_template=.*: the file is empty"):
        make_agent(f"llama:{tiny}?chat_template={folder / 'empty.jinja'}")


def test_a_model_with_a_broken_template(folder):
    path = write_tiny_gguf(folder / "broken.gguf", template="{% if %}")
    with pytest.raises(AgentSpecError, match="template"):
        make_agent(f"llama:{path}")


def test_without_llama_cpp_there_is_one_clear_line(monkeypatch, tiny):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(AgentSpecError, match="pip install"):
        make_agent(f"llama:{tiny}")
