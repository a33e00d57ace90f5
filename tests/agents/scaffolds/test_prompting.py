"""What a model is told first."""

from dataclasses import replace

import pytest
from farm_rig import FARM_ROVER
from llama_cpp_files import llama_cpp_file

from agents.agent import EpisodeContext
from agents.backends.backend import ChatBackend
from agents.backends.llama_backend import LlamaBackend
from agents.backends.llama_engine import load_llama_cpp
from agents.backends.llama_vocabulary import Vocabulary
from agents.formats.chat_template import ChatTemplate
from agents.options import ModelOptions
from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.prompting import (
    DECLINE_SCHEMA,
    DECLINING,
    OPERATOR,
    TRAINED_DECLINE,
    TRAINED_ON,
    WITHOUT_TOOL,
    system_prompt,
)
from agents.scaffolds.react import ReactScaffold
from configs.worlds_loader import load_world
from training.chat_format import system_text
from training.shipped import taught

WORLDS = ("farm_rover", "robotic_arm")
ADVICE = {"farm_rover": "Before you act on a plant or a station", "robotic_arm": "pick finds an object by"}


class Asked(ChatBackend):
    """A backend that keeps the conversation of its only answer."""

    name = "asked"

    def start(self, seed, schemas, plain=None):
        self.schemas = [] if plain else schemas

    def answer(self, messages, *, tokens, deadline):
        self.messages = messages
        raise StopIteration

    def close(self):
        pass


def first_prompt(scaffold, world, template):
    device = load_world(world).device
    backend = Asked()
    agent = scaffold(backend)
    agent.start(EpisodeContext("Water plant_A with 2 litres.", device.tools, advice=device.advice))
    with pytest.raises(StopIteration):
        agent.act(None)
    return template.render(backend.messages, backend.schemas)


@pytest.mark.llama
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("scaffold", [NativeScaffold, ReactScaffold])
def test_a_first_prompt_is_below_1000_tokens_of_qwen3(scaffold, world):
    c = load_llama_cpp()
    options = c.llama_model_default_params()
    options.vocab_only = True
    # Qwen3 has the vocabulary of Qwen2.
    model = c.llama_model_load_from_file(str(llama_cpp_file("ggml-vocab-qwen2.gguf")).encode(), options)
    vocabulary = Vocabulary(c, model)
    source = llama_cpp_file("Qwen-Qwen3-0.6B.jinja").read_text(encoding="utf-8")
    text = first_prompt(scaffold, world, ChatTemplate(source, specials=vocabulary.special_texts()))
    device = load_world(world).device
    for tool in device.tools:
        function = tool.schema()["function"]
        assert function["description"] in text
        for argument in function["parameters"]["properties"].values():
            assert argument["description"] in text
    assert 400 < len(vocabulary.prompt_tokens(text)) < 1000
    c.llama_model_free(model)


@pytest.mark.llama
@pytest.mark.parametrize("world", WORLDS)
def test_the_shipped_model_is_told_what_it_was_trained_on(world):
    backend = LlamaBackend(options=ModelOptions(n_threads=1))
    agent = NativeScaffold(backend)
    assert agent.options["prompt"] == "trained to decline"
    device = load_world(world).device
    agent.start(EpisodeContext("Lock the safety.", device.tools, advice=device.advice))
    seen = []
    render = backend._template.render

    def kept(*conversation):
        seen.append(render(*conversation))
        return seen[-1]

    backend._template.render = kept
    agent.act(None)
    agent.close()
    schemas = [*taught(device).schemas(), TRAINED_DECLINE]
    assert seen[0].startswith(system_text(f"{TRAINED_ON} {DECLINING}", schemas))


@pytest.mark.parametrize("world", WORLDS)
def test_the_prompt_tells_of_the_device_of_refusals_doses_and_declining(world):
    text = system_prompt(load_world(world).device.advice)
    assert ADVICE[world] in text
    for words in ("refused", "repeat a dose", "call decline"):
        assert words in text


def test_a_device_without_advice_leaves_no_gap():
    assert "  " not in system_prompt("")


def test_a_rigs_own_decline_comes_first():
    own = replace(FARM_ROVER.tools[0], name="decline")
    assert not OPERATOR.can_decline([own])
    assert DECLINE_SCHEMA not in OPERATOR.schemas([own])
    assert OPERATOR.schemas(FARM_ROVER.tools)[-1] == DECLINE_SCHEMA
    assert WITHOUT_TOOL in OPERATOR.text("", False)
    assert DECLINING not in OPERATOR.text("", False)
