"""Prompts kept on disk between processes: the same answers, from fewer evaluated tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from chat_templates import QWEN3
from farm_rig import FARM_ROVER
from tiny_gguf import write_tiny_gguf

from agents.agent import Usage
from agents.backends import prompt_cache
from agents.backends.llama_backend import SHIPPED_MODEL, LlamaBackend
from agents.deadline import Deadline
from agents.options import ModelOptions

pytestmark = pytest.mark.llama

SYSTEM = {"role": "system", "content": "Be exact. " * 40}
SCHEMAS = FARM_ROVER.schemas()[:3]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", template=QWEN3)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept prompts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "pathrig" / "prompts"


def answered(path: Path, said: str = "Go.", schemas=SCHEMAS, **options) -> tuple[list[str], list[Usage]]:
    """Two answers of a model that is loaded anew, as after a start."""
    given = {"n_threads": 1, "prompt_cache": True, "temperature": 0.9, "grammar": "off"} | options
    backend = LlamaBackend(path, ModelOptions.model_validate(given))
    backend.start(3, schemas)
    messages = [SYSTEM, {"role": "user", "content": said}]
    usages = []
    for _ in range(2):
        reply = backend.answer(messages, tokens=12, deadline=Deadline(60.0))
        usages.append(reply.usage)
        messages = [*messages, reply.message, {"role": "user", "content": "Go on."}]
    backend.close()
    return [usage.text for usage in usages], usages


def files(kept: Path) -> list[Path]:
    return sorted(kept.glob("*"))


def test_the_next_start_answers_the_same_without_evaluating_it_again(tiny, kept):
    without, usual = answered(tiny, prompt_cache=False)
    assert not kept.exists() and usual[0].cached_tokens == 0
    first, _ = answered(tiny)
    (file,) = files(kept)
    assert file.stat().st_mode & 0o077 == 0 or kept.stat().st_mode & 0o077 == 0
    again, usages = answered(tiny)
    assert first == again == without
    whole = usual[0].input_tokens
    assert usages[0].input_tokens + usages[0].cached_tokens == whole
    # All but the user's words and what is left of a chunk of 128.
    assert usages[0].cached_tokens % 128 == 0 and usages[0].input_tokens < 128 + 40
    assert usages[0].remarks == ()
    # Another task on the same rig begins alike.
    other, seen = answered(tiny, "Drive to the plant, and water it.")
    assert seen[0].cached_tokens == usages[0].cached_tokens and files(kept) == [file]
    assert other == answered(tiny, "Drive to the plant, and water it.", prompt_cache=False)[0]


def test_what_a_context_depends_on_has_a_file_of_its_own(tiny, kept, tmp_path):
    answered(tiny)
    other = write_tiny_gguf(tmp_path / "tiny.gguf", template=QWEN3, seed=1)
    for path, schemas, options in (
        (tiny, SCHEMAS, {"kv_type": "f32"}),
        (tiny, SCHEMAS, {"n_batch": 64}),
        (tiny, SCHEMAS, {"n_ctx": 2048}),
        (tiny, FARM_ROVER.schemas()[:2], {}),
        (other, SCHEMAS, {}),
    ):
        before = len(files(kept))
        _, usages = answered(path, schemas=schemas, **options)
        assert usages[0].cached_tokens == 0 and len(files(kept)) == before + 1


@pytest.mark.parametrize("damage", ["cut", "bit", "end", "empty", "swapped"])
def test_a_damaged_file_is_refused_and_made_anew(tiny, kept, damage):
    right, _ = answered(tiny)
    (file,) = files(kept)
    good = file.read_bytes()
    half = len(good) // 2
    if damage == "swapped":
        answered(tiny, n_ctx=2048)
        (other,) = {*files(kept)} - {file}
        file.write_bytes(other.read_bytes())
    else:
        wrong = {
            "cut": good[:half],
            "bit": good[:half] + bytes([good[half] ^ 1]) + good[half + 1 :],
            "end": good[:-20] + b"x" * 20,
            "empty": b"",
        }
        file.write_bytes(wrong[damage])
    texts, usages = answered(tiny)
    assert texts == right and usages[0].cached_tokens == 0
    assert "was damaged" in usages[0].remarks[0]
    assert file.read_bytes()[:-256] == good[:-256]
    assert answered(tiny)[1][0].cached_tokens > 0


def test_the_folder_is_bounded_and_the_longest_unused_goes_first(tiny, kept, monkeypatch):
    answered(tiny)
    (first,) = files(kept)
    monkeypatch.setattr(prompt_cache, "MOST_BYTES", 2 * first.stat().st_size + 1000)
    answered(tiny, n_batch=64)
    answered(tiny)
    answered(tiny, n_ctx=2048)
    assert len(files(kept)) == 2 and first in files(kept)
    monkeypatch.setattr(prompt_cache, "MOST_BYTES", 1000)
    _, usages = answered(tiny, n_ctx=1024)
    assert first in files(kept) and usages[0].remarks == ()


def test_a_folder_that_cannot_be_written_is_a_remark(tiny, kept):
    kept.parent.mkdir()
    kept.write_text("no folder")
    _, usages = answered(tiny)
    assert "the prompt cannot be kept: " in usages[0].remarks[0]


def test_a_world_that_comes_back_is_read_from_disk(tiny, kept):
    """A context holds one prompt: tasks of two worlds in turn would evaluate both again and again."""
    backend = LlamaBackend(tiny, ModelOptions(n_threads=1, prompt_cache=True))
    cached = []
    for schemas in (SCHEMAS, FARM_ROVER.schemas()[3:6], SCHEMAS, FARM_ROVER.schemas()[3:6]):
        backend.start(0, schemas)
        reply = backend.answer(
            [SYSTEM, {"role": "user", "content": "Go."}], tokens=2, deadline=Deadline(60.0)
        )
        cached.append(reply.usage.cached_tokens)
    backend.close()
    assert min(cached[2:]) > max(cached[:2])


def test_a_small_model_keeps_none_unless_asked(kept):
    backend = LlamaBackend(SHIPPED_MODEL, ModelOptions(n_threads=1))
    assert "prompt_cache" not in backend.options
    backend.close()
