"""The model that ships: its file, tokens, agreement with PyTorch, and that they make sense."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict

import numpy as np
import pytest
from paths import DATA

from agents.backends.llama_backend import SHIPPED_MODEL, LlamaBackend
from agents.backends.llama_engine import LlamaEngine
from agents.formats.chatml import is_trained_here
from agents.options import ModelOptions
from training.chat_format import MARK_TOKENS
from training.evaluate import figures, try_episode
from training.transcripts import HELD_OUT, episode

pytestmark = pytest.mark.llama

RECORDS = json.loads((DATA / "pathrig_demo_reference.json").read_text())


@pytest.fixture(scope="module")
def engine():
    engine = LlamaEngine(SHIPPED_MODEL, n_ctx=4096, n_threads=1)
    yield engine
    engine.close()


def pieces(engine, text):
    return [engine.vocabulary.piece(token).decode() for token in engine.vocabulary.tokenize(text)]


def test_the_file_holds_the_template_that_it_was_trained_with(engine):
    assert is_trained_here(engine.chat_template)
    assert engine.n_ctx == 4096


def test_one_small_model_ships_with_a_card_that_names_its_file():
    (path,) = SHIPPED_MODEL.parent.glob("*.gguf")
    assert path == SHIPPED_MODEL and path.stat().st_size < 2_500_000
    card = path.with_name("pathrig-demo.md").read_text()
    assert path.name in card
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] in card


def test_marks_are_single_tokens_and_all_bytes_are_there(engine):
    for mark in MARK_TOKENS:
        assert pieces(engine, mark) == [mark]
    text = bytes(range(1, 256)).decode("latin-1") + " 你好 🙂"
    assert (
        b"".join(engine.vocabulary.piece(token) for token in engine.vocabulary.tokenize(text)).decode()
        == text
    )


@pytest.mark.parametrize(
    "name", ["plant_A", "plant_H", "box_small", "bin_left", "panel_X", "cup", "water_station"]
)
def test_a_name_is_the_same_tokens_wherever_it_stands(engine, name):
    alone = engine.vocabulary.tokenize(name)
    for text in (
        f"Put {name} away",
        f'{{"name":"{name}"}}',
        f'"object_id": "{name}"}}',
        f"and {name}, then",
        name,
    ):
        ids = engine.vocabulary.tokenize(text)
        assert any(ids[k : k + len(alone)] == alone for k in range(len(ids))), text


@pytest.mark.parametrize("number", ["14.0", "-0.65", "4.5", "0.025"])
def test_a_number_is_its_characters_wherever_it_stands(engine, number):
    for text in (f" {number} liters", f'"x":{number},', f'"x": {number}}}', f"x {number}, y"):
        assert "|".join(number) in "|".join(pieces(engine, text)), text


@pytest.mark.parametrize("record", RECORDS, ids=[one["text"][-90:-60] for one in RECORDS])
def test_greedy_answers_equal_pytorch(engine, record):
    engine.rewind(0)
    list(engine.evaluate(engine.vocabulary.tokenize(record["text"])))
    pointer = engine._c.llama_get_logits_ith(engine._context, -1)
    logits = np.ctypeslib.as_array(pointer, shape=(engine.vocabulary.size,))
    assert np.abs(logits - np.array(record["logits"])).mean() < 0.1
    sampler = engine.sampler(grammar=None)
    answer = []
    while len(answer) < len(record["answer"]):
        answer.append(sampler.next())
        list(engine.evaluate(answer[-1:]))
    sampler.close()
    assert answer == record["answer"]
    assert engine.vocabulary.ends(answer[-1])


def test_it_does_calls_of_episodes_that_it_was_not_trained_on():
    backend = LlamaBackend(options=ModelOptions(n_threads=1))
    count: dict[str, float] = defaultdict(float)
    for seed in range(HELD_OUT, HELD_OUT + 2):
        try_episode(backend, episode(seed), count)
    backend.close()
    assert figures(count)["exact_turns"] > 0.7
    assert count["cached"] > 5 * count["evaluated"]
