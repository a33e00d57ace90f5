"""Training itself, on a network that is trained within a second. It needs PyTorch (the extra `train`)."""

from __future__ import annotations

import json
import shutil
import signal
import sys

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from training import export, train  # noqa: E402
from training.checkpoints import LATEST, load, restore  # noqa: E402
from training.shared_prefix_attention import joined_attention, shared_prefix_attention  # noqa: E402

TINY = {"width": 32, "layers": 1, "heads": 2, "hidden": 64, "head": 16}


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch):
    monkeypatch.setattr(train, "SIZE", TINY)
    monkeypatch.setattr(train, "TOKENIZER_EPISODES", 60)
    torch.set_num_threads(1)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGTERM), handlers, strict=True):
        signal.signal(number, handler)


def run(monkeypatch, folder, *options):
    arguments = ["train", "--out", str(folder), "--batch", "1000", "--held-out", "1", *options]
    monkeypatch.setattr(sys, "argv", arguments)
    train.main()


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_a_training_that_was_stopped_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path / "whole", "--tokens", "9k")
    steps = []

    def stop_after_three(_):
        steps.append(1)
        return len(steps) > 3

    with monkeypatch.context() as patched:
        patched.setattr(train.Training, "_leg_is_over", stop_after_three)
        run(monkeypatch, tmp_path / "legs", "--tokens", "9k")
    assert log(tmp_path / "legs")[-1]["steps"] == 3
    run(monkeypatch, tmp_path / "legs", "--tokens", "9k")
    whole, legs = (load(tmp_path / name / LATEST) for name in ("whole", "legs"))
    assert whole["progress"]["steps"] > 6
    assert {**whole["progress"], "seconds": 0} == {**legs["progress"], "seconds": 0}
    for name, weight in whole["weights"].items():
        assert torch.equal(weight, legs["weights"][name]), name


def test_a_finished_training_does_nothing_and_a_larger_budget_goes_on(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path, "--tokens", "3k")
    tokens = log(tmp_path)[-1]["tokens"]
    run(monkeypatch, tmp_path, "--tokens", "3k")
    assert log(tmp_path)[-1]["tokens"] == tokens
    run(monkeypatch, tmp_path, "--tokens", "5k")
    assert log(tmp_path)[-1]["tokens"] > tokens
    kept = sorted(tmp_path.glob("tokens-*.pt"))
    assert len(kept) == 2
    assert [load(path)["settings"]["tokens"] for path in kept] == [3000, 5000]


def test_other_settings_are_refused_in_one_line(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path, "--tokens", "2k")
    with pytest.raises(SystemExit, match="seed was 0, not 1; take another folder"):
        run(monkeypatch, tmp_path, "--tokens", "2k", "--seed", "1")


def test_a_later_leg_may_have_larger_batches(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path, "--tokens", "3k")
    steps = log(tmp_path)[-1]["steps"]
    run(monkeypatch, tmp_path, "--tokens", "6k", "--batch", "3000")
    assert log(tmp_path)[-1]["steps"] == steps + 1
    assert load(tmp_path / LATEST)["settings"]["batch"] == 3000


@pytest.mark.slow
@pytest.mark.timeout(500)
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with g++")
def test_compiled_layers_learn_the_same(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path / "plain", "--tokens", "1k")
    run(monkeypatch, tmp_path / "compiled", "--tokens", "1k", "--compile")
    plain, compiled = (
        load(tmp_path / name / LATEST)["optimizers"][1]["state"] for name in ("plain", "compiled")
    )
    for number, state in plain.items():
        # The first mean of AdamW is the gradient times 0.1.
        mean, other = state["exp_avg"], compiled[number]["exp_avg"]
        assert (mean - other).norm() < 0.03 * mean.norm(), number


def test_a_signal_ends_a_leg_with_a_checkpoint(tmp_path, monkeypatch):
    step = train.Training._step

    def stopped_in_the_second_step(training, batch):
        if training.progress.steps == 1:
            signal.raise_signal(signal.SIGTERM)
        return step(training, batch)

    with monkeypatch.context() as patched:
        patched.setattr(train.Training, "_step", stopped_in_the_second_step)
        run(monkeypatch, tmp_path, "--tokens", "9k")
    assert load(tmp_path / LATEST)["progress"]["steps"] == 2


def test_a_leg_of_no_time_still_leaves_a_checkpoint(tmp_path, monkeypatch):
    run(monkeypatch, tmp_path, "--tokens", "9k", "--minutes", "0.001")
    assert log(tmp_path)[-1]["steps"] <= 1
    assert (tmp_path / LATEST).exists()


def test_attention_with_a_mask_is_that_of_the_processor():
    torch.manual_seed(2)
    q, k, v = (torch.randn(3, 2, 9, 16) for _ in range(3))
    prefix = [torch.randn(1, 2, 5, 16) for _ in range(2)]
    assert torch.allclose(
        shared_prefix_attention(q, k, v, *prefix), joined_attention(q, k, v, *prefix), atol=1e-5
    )


def test_the_gguf_is_loaded_and_no_file_is_written_over(tmp_path, monkeypatch):
    pytest.importorskip("gguf")
    run(monkeypatch, tmp_path, "--tokens", "1k")
    file = tmp_path / "model.gguf"
    monkeypatch.setattr(sys, "argv", ["export", "--run", str(tmp_path), "--out", str(file)])
    export.main()
    before = file.read_bytes()
    assert before[:4] == b"GGUF"
    with pytest.raises(SystemExit, match="exists; name another file"):
        export.main()
    assert file.read_bytes() == before
    assert restore(tmp_path / LATEST).shape.layers == 1
