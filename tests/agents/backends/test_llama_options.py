"""Each option of a llama agent does what it says, and is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from chat_templates import QWEN3, QWEN25, WITHOUT_TOOLS
from farm_rig import FARM_ROVER
from tiny_gguf import HEAD, HEADS, WIDTH, write_tiny_gguf

from agents.agent import AgentSpecError, EpisodeContext, Limits
from agents.backends.backend import Speed
from agents.backends.llama_backend import LlamaBackend
from agents.backends.llama_engine import physical_cores
from agents.backends.llama_speed import check_time
from agents.deadline import Deadline
from agents.options import ModelOptions
from agents.registry import make_agent, parse_spec

pytestmark = pytest.mark.llama

MESSAGES = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": "Go."}]
TOOLS = FARM_ROVER.tools[:3]
SCHEMAS = FARM_ROVER.schemas()[:2]
HEAD_OF_ANSWER = r"{{- '<|im_start|>assistant\n' }}"
OPENS = QWEN25.replace(HEAD_OF_ANSWER, HEAD_OF_ANSWER + r"{{- '<think>\n' }}")
SWITCH = (
    r"{%- if enable_thinking is defined and not enable_thinking %}"
    r"{{- '<think>\n\n</think>\n\n' }}{%- endif %}"
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", template=QWEN3)


def answered(path: Path, tokens: int = 20, **options: Any) -> tuple[str, dict[str, Any]]:
    backend = LlamaBackend(path, ModelOptions(**options))
    backend.start(0, SCHEMAS)
    reply = backend.answer(MESSAGES, tokens=tokens, deadline=Deadline(20))
    backend.close()
    return reply.usage.text, dict(backend.options)


def test_context_batch_and_threads_are_those_asked_for(tiny: Path) -> None:
    _, options = answered(tiny, n_ctx=2048, n_batch=32, n_threads=2)
    assert (options["n_ctx"], options["n_batch"], options["n_threads"]) == (2048, 32, 2)


def test_a_batch_beyond_the_context_is_logged_as_it_is(tiny: Path) -> None:
    assert answered(tiny, n_ctx=512, n_batch=100_000)[1]["n_batch"] == 512


def test_a_small_model_runs_on_one_thread_and_another_on_all_cores(tiny: Path, monkeypatch) -> None:
    assert answered(tiny)[1]["n_threads"] == 1
    monkeypatch.setattr("agents.backends.llama_backend.SMALL_MODEL", 0)
    monkeypatch.setattr("agents.backends.llama_backend.physical_cores", lambda: 2)
    assert answered(tiny, prompt_cache=False)[1]["n_threads"] == 2


@pytest.mark.parametrize(
    ("siblings", "cores"), [(("0,2", "1,3", "0,2", "1,3"), 2), (("0", "1", "2", "3"), 4)]
)
def test_physical_cores_are_counted_by_their_threads(tmp_path, monkeypatch, siblings, cores) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    for number, text in enumerate(siblings):
        folder = tmp_path / f"cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text + "\n")
    assert physical_cores(tmp_path) == cores
    assert physical_cores(tmp_path / "none") == 4


def test_a_context_larger_than_the_models_is_refused(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match="n_ctx=5000: the model was trained with 4096 tokens"):
        LlamaBackend(tiny, ModelOptions(n_ctx=5000))
    with pytest.raises(AgentSpecError, match="n_ctx=1020: the model was trained with 1000 tokens"):
        LlamaBackend(
            write_tiny_gguf(tmp_path / "1000.gguf", template=QWEN3, context=1000),
            ModelOptions(n_ctx=1020),
        )


def test_the_cache_is_q8_0_where_the_model_allows_it(tiny: Path, tmp_path: Path) -> None:
    # A head of 16 numbers holds no block of q8_0, which has 32.
    assert answered(tiny)[1]["kv_type"] == "f16"
    with pytest.raises(AgentSpecError, match="cannot make a context of 4096 tokens with a cache of q8_0"):
        LlamaBackend(tiny, ModelOptions(kv_type="q8_0"))
    assert LlamaBackend().options["kv_type"] == "q8_0"


def test_a_smaller_cache_takes_less_memory() -> None:
    sizes = {}
    for kind in ("f16", "q8_0"):
        backend = LlamaBackend(options=ModelOptions(kv_type=kind))
        sizes[kind] = backend.engine.megabytes["cache"]
        backend.close()
    assert sizes["q8_0"] == pytest.approx(sizes["f16"] * 34 / 64, rel=0.01)


def test_without_a_gpu_layers_on_it_are_refused(tiny: Path) -> None:
    from llama_cpp import llama_cpp

    if llama_cpp.llama_supports_gpu_offload():
        pytest.skip("this llama.cpp has a GPU")
    with pytest.raises(AgentSpecError, match=r"n_gpu_layers=3: .* was built without a GPU"):
        LlamaBackend(tiny, ModelOptions(n_gpu_layers=3))
    assert answered(tiny)[1]["n_gpu_layers"] == 0


def test_layers_that_do_not_fit_on_a_gpu_stay_beside_it(tiny: Path, monkeypatch) -> None:
    from llama_cpp import llama_cpp

    from agents.backends.llama_engine import LlamaEngine, _DoesNotFitError

    tried = []
    load = LlamaEngine._load_model

    def fits_one_layer(self: LlamaEngine, layers: int) -> None:
        load(self, 0)
        tried.append(layers)
        self.n_gpu_layers = layers

    def make(self: LlamaEngine, *given: Any) -> None:
        if tried[-1] > 1:
            raise _DoesNotFitError("no memory")
        original(self, *given)

    original = LlamaEngine._make_context
    monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: True)
    monkeypatch.setattr(LlamaEngine, "_load_model", fits_one_layer)
    monkeypatch.setattr(LlamaEngine, "_make_context", make)
    engine = LlamaEngine(tiny, n_ctx=64, n_threads=1, n_gpu_layers=None)
    engine.close()
    # Two layers and the output: 3, halved until it fits.
    assert (tried[1:], engine.n_gpu_layers) == ([1], 1)
    with pytest.raises(AgentSpecError, match="no memory"):
        LlamaEngine(tiny, n_ctx=64, n_threads=1, n_gpu_layers=2)


def test_sampling_options_change_what_is_picked(tiny: Path) -> None:
    greedy = answered(tiny)[0]
    assert answered(tiny, temperature=2.0, top_k=1)[0] == greedy
    assert answered(tiny, temperature=2.0, top_k=0, min_p=1.0)[0] == greedy
    texts = {answered(tiny, temperature=2.0, seed=seed)[0] for seed in (0, 0, 1)}
    assert len(texts) == 2
    told = answered(tiny, temperature=2.0, top_k=5, min_p=0.1, seed=3)[1]
    assert told.items() >= {"temperature": 2.0, "top_k": 5, "top_p": 0.95, "min_p": 0.1, "seed": 3}.items()


def test_another_chat_template_is_used(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.jinja"
    file.write_text(WITHOUT_TOOLS)
    backend = LlamaBackend(tiny, ModelOptions(chat_template=file))
    own = LlamaBackend(tiny)
    assert backend.options["template_sha256"] != own.options["template_sha256"]
    for one in (backend, own):
        one.start(0, SCHEMAS)
    assert backend.render(MESSAGES) != own.render(MESSAGES)
    for one in (backend, own):
        one.close()
    file.write_text("no conversation")
    with pytest.raises(AgentSpecError, match=r"chat_template=.*other\.jinja: .* takes no conversation"):
        LlamaBackend(tiny, ModelOptions(chat_template=file))
    with pytest.raises(AgentSpecError, match=r"none\.jinja: cannot be read"):
        make_agent(f"llama:{tiny}?chat_template={tmp_path / 'none.jinja'}")


def lora(path: Path) -> Path:
    """An adapter that changes the queries of the first layer."""
    rng = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 16.0)
    for name, shape in (("lora_a", (2, WIDTH)), ("lora_b", (HEADS * HEAD, 2))):
        writer.add_tensor(f"blk.0.attn_q.weight.{name}", rng.normal(0, 3, shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_lora_changes_the_answers(tiny: Path, tmp_path: Path) -> None:
    adapter = lora(tmp_path / "adapter.gguf")
    text, options = answered(tiny, lora=adapter)
    assert text != answered(tiny)[0]
    assert options["lora"] == "adapter.gguf" and len(options["lora_sha256"]) == 64
    with pytest.raises(AgentSpecError, match="there is no such LoRA file"):
        make_agent(f"llama:{tiny}?lora={tmp_path / 'none.gguf'}")
    with pytest.raises(AgentSpecError, match="cannot use it as a LoRA"):
        LlamaBackend(tiny, ModelOptions(lora=tiny))


@pytest.mark.parametrize(("thinking", "told"), [(True, "on"), (False, "off")])
def test_thinking_is_switched_by_the_templates_own_variable(
    tmp_path: Path, thinking: bool, told: str
) -> None:
    template = QWEN3.replace(HEAD_OF_ANSWER, HEAD_OF_ANSWER + SWITCH)
    path = write_tiny_gguf(tmp_path / "switch.gguf", template=template)
    backend = LlamaBackend(path, ModelOptions(thinking=thinking))
    backend.start(0, SCHEMAS)
    assert backend.options.items() >= {"thinking": told, "thinking_switch": "enable_thinking"}.items()
    assert ("<think>\n\n</think>" in backend.render(MESSAGES)) == (not thinking)
    backend.close()


def test_short_tools_can_be_switched_off_and_the_log_says_which(tiny: Path) -> None:
    texts = {}
    for scaffold in ("native", "react"):
        for tools, shown in (("short", "signatures"), ("full", "schemas")):
            agent = make_agent(f"llama:{tiny}?scaffold={scaffold}&tools={tools}")
            agent.start(EpisodeContext("Go.", FARM_ROVER.tools))
            assert agent.options["tools"] == shown
            texts[scaffold, tools] = agent.model_info.first_prompt.rendered
            agent.close()
        assert "number: " in texts[scaffold, "short"] and '"minimum"' not in texts[scaffold, "short"]
        assert '"type": "object"' in texts[scaffold, "full"]
        assert len(texts[scaffold, "full"]) > 1.5 * len(texts[scaffold, "short"])
    assert parse_spec(f"llama:{tiny}?tools=full").text() != parse_spec(f"llama:{tiny}?tools=short").text()
    assert parse_spec(f"llama:{tiny}?tools=short").text() == f"llama:{tiny}"


def test_a_reasoning_effort_is_told_to_the_template_and_logged(tiny: Path, tmp_path: Path) -> None:
    template = QWEN3.replace(HEAD_OF_ANSWER, HEAD_OF_ANSWER + "{{- reasoning_effort }}")
    path = write_tiny_gguf(tmp_path / "effort.gguf", template=template)
    backend = LlamaBackend(path, ModelOptions(reasoning_effort="high"))
    backend.start(0, SCHEMAS)
    assert backend.options["reasoning_effort"] == "high"
    assert backend.render(MESSAGES).endswith("assistant\nhigh")
    backend.close()
    with pytest.raises(AgentSpecError, match=r"tiny\.gguf: .* takes no reasoning_effort: leave"):
        make_agent(f"llama:{tiny}?reasoning_effort=low")


@pytest.mark.parametrize("budget", [0, 6])
def test_a_thought_is_closed_when_its_tokens_are_spent(tmp_path: Path, budget: int) -> None:
    path = write_tiny_gguf(tmp_path / "thinks.gguf", template=OPENS)
    backend = LlamaBackend(path, ModelOptions(thinking_tokens=budget))
    backend.start(0, [])
    reply = backend.answer(MESSAGES, tokens=60, deadline=Deadline(20))
    backend.close()
    thought, close, _ = reply.usage.text.partition("\n</think>\n\n")
    # A token of this vocabulary is a byte.
    assert close and (0 < len(thought) <= 6 if budget else not thought)
    assert reply.usage.reasoning == thought.strip()
    endless = LlamaBackend(path)
    endless.start(0, [])
    assert "</think>" not in endless.answer(MESSAGES, tokens=30, deadline=Deadline(20)).usage.text
    endless.close()


def test_prompt_and_writing_times_make_up_an_answers(tiny: Path) -> None:
    backend = LlamaBackend(tiny)
    backend.start(0, SCHEMAS)
    usage = backend.answer(MESSAGES, tokens=30, deadline=Deadline(20)).usage
    backend.close()
    assert usage.prompt_seconds is not None and usage.writing_seconds is not None
    assert usage.prompt_seconds < usage.first_token_seconds < usage.seconds
    assert usage.writing_seconds > 0 and usage.prompt_seconds + usage.writing_seconds <= usage.seconds


@pytest.mark.parametrize("n_ctx", [32, 256, 300])
def test_a_context_that_takes_no_first_answer_is_an_error_before_the_start(tiny: Path, n_ctx: int) -> None:
    agent = make_agent(f"llama:{tiny}?n_ctx={n_ctx}")
    context = EpisodeContext("Go.", FARM_ROVER.tools)
    with pytest.raises(AgentSpecError, match=rf"prompt has \d+ tokens, and the context {n_ctx}: give"):
        agent.check(context)
    agent.close()


def test_an_answer_ends_where_the_context_that_was_asked_for_does(tiny: Path) -> None:
    """llama.cpp rounds a context up, to a multiple of 256."""
    backend = LlamaBackend(tiny, ModelOptions(n_ctx=40))
    backend.start(0, [])
    reply = backend.answer([{"role": "user", "content": "Go."}], tokens=1000, deadline=Deadline(20))
    assert (reply.stop, backend.options["n_ctx"]) == ("context", 40)
    assert reply.usage.input_tokens + reply.usage.output_tokens == 40
    backend.close()


def test_a_time_that_takes_no_first_answer_is_an_error_with_the_figures(tiny: Path) -> None:
    agent = make_agent(f"llama:{tiny}")
    first = agent.check(EpisodeContext("Go.", TOOLS))
    assert first.prompt_tokens > 1000 and first.speed.prompt > 100
    assert agent.backend.engine.evaluated == []
    with pytest.raises(AgentSpecError, match=r"takes .* s at .* tokens/s, .* more than the limit of 0.001 s"):
        agent.check(EpisodeContext("Go.", TOOLS, limits=Limits(seconds=0.001)))
    agent.close()
    check_time("x", 1500, Speed(10.0, 2.0), Limits(seconds=158.1))
    with pytest.raises(AgentSpecError, match="takes 150 s at 10 tokens/s, and a short answer 8 s"):
        check_time("x", 1500, Speed(10.0, 2.0), Limits(seconds=157.9))


def test_the_users_prompt_and_examples_are_what_the_model_gets(tiny: Path, tmp_path: Path) -> None:
    examples = tmp_path / "examples.jsonl"
    step = {"tool": "unlock_safety_mode", "arguments": {}, "result": {"unlocked": True}}
    examples.write_text(json.dumps({"prompt": "Unlock.", "steps": [step], "answer": "It is open."}) + "\n")
    agent = make_agent(f"llama:{tiny}?system_prompt=Be brief. {{advice}}&examples_file={examples}")
    agent.start(EpisodeContext("Go.", FARM_ROVER.tools, advice="Mind the dog."))
    prompt = agent.model_info.first_prompt
    roles = [message["role"] for message in prompt.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert prompt.messages[0]["content"] == "Be brief. Mind the dog."
    assert '"unlocked":true' in prompt.rendered and "It is open." in prompt.rendered
    assert prompt.rendered.index("Unlock.") < prompt.rendered.index("Go.")
    assert len(prompt.tools) == len(FARM_ROVER.tools) + 1  # to decline
    agent.close()


@pytest.mark.parametrize(
    ("line", "says"),
    [("{", "no JSON"), ('{"steps": []}', "prompt: Field required"), ('{"prompt": "a", "b": 1}', "b: Extra")],
)
def test_examples_that_are_none_are_one_line(tiny: Path, tmp_path: Path, line: str, says: str) -> None:
    examples = tmp_path / "examples.jsonl"
    examples.write_text('{"prompt": "fine"}\n' + line + "\n")
    with pytest.raises(AgentSpecError, match=rf"examples\.jsonl:2: .*{says}"):
        make_agent(f"llama:{tiny}?examples_file={examples}")
