"""What the harness costs beside llama.cpp, on a model of Qwen3-0.6B's shape with random weights.

python benchmarks/agent.py [--repeats 2] [--threads N] [--layers 28] [--keep FOLDER]

The task's golden calls are written into the model's answers, each token after a real evaluation and a real
pick, so that an episode of real length runs. A bare loop over llama.cpp then evaluates the same tokens.
Printed as JSON: wall and CPU seconds and their ratios (with the grammar and without), evaluated prompt tokens
over new ones, and the peak memory of a process that has read the first prompt, with an 8-bit cache of 4,096
tokens and with f16 of 8,192.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import gguf
import numpy as np

from agents.agent import Action, Agent, EpisodeContext, Limits, Observation
from agents.backends.llama_backend import SHIPPED_MODEL, LlamaBackend
from agents.backends.llama_engine import LlamaEngine, physical_cores
from agents.backends.llama_sampler import Sampler
from agents.formats.calls import CallText
from agents.formats.registry import PLAIN
from agents.options import ModelOptions
from agents.scaffolds.native import NativeScaffold
from configs.tasks_loader import load_task
from core_eval.log import RunLog, ignore
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run
from core_eval.run.resource_usage import peak_memory

WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, WORDS = 1024, 16, 8, 128, 3072, 151_936
CALLS = (
    CallText("unlock_safety_mode", {}),
    CallText("get_plant_pose", {"plant_id": "plant_B"}),
    CallText("move_to", {"x": 3.5, "y": 12.5, "yaw": 0.0}),
    CallText("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    CallText("lock_safety_mode", {}),
)
ANSWERS = (*(PLAIN.write([call]) for call in CALLS), "Plant B is watered.")


def write_model(path: Path, layers: int) -> None:
    """Write a GGUF of Qwen3-0.6B's shape, Q8_0, with the shipped model's words and template."""
    rng = np.random.default_rng(0)
    shipped = gguf.GGUFReader(SHIPPED_MODEL)

    def field(key: str) -> Any:
        return shipped.fields[key].contents()

    tokens, kinds = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.token_type")
    unused = WORDS - len(tokens)
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_name("random-0.6B")
    writer.add_context_length(40_960)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([*tokens, *(f"<unused{number}>" for number in range(unused))])
    writer.add_token_types([*kinds, *[gguf.TokenType.UNUSED] * unused])
    writer.add_token_merges(field("tokenizer.ggml.merges"))
    writer.add_eos_token_id(field("tokenizer.ggml.eos_token_id"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(field("tokenizer.chat_template"))

    def matrix(name: str, rows: int, columns: int) -> None:
        numbers = rng.standard_normal((rows, columns), np.float32) * np.float32(0.02)
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(numbers, kind), raw_dtype=kind)

    def ones(name: str, size: int) -> None:
        writer.add_tensor(name, np.ones(size, np.float32))

    matrix("token_embd.weight", WORDS, WIDTH)
    ones("output_norm.weight", WIDTH)
    for layer in range(layers):
        block = f"blk.{layer}"
        for name, size in (("attn", WIDTH), ("ffn", WIDTH), ("attn_q", HEAD), ("attn_k", HEAD)):
            ones(f"{block}.{name}_norm.weight", size)
        matrix(f"{block}.attn_q.weight", HEADS * HEAD, WIDTH)
        matrix(f"{block}.attn_k.weight", KV_HEADS * HEAD, WIDTH)
        matrix(f"{block}.attn_v.weight", KV_HEADS * HEAD, WIDTH)
        matrix(f"{block}.attn_output.weight", WIDTH, HEADS * HEAD)
        matrix(f"{block}.ffn_gate.weight", HIDDEN, WIDTH)
        matrix(f"{block}.ffn_up.weight", HIDDEN, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class ScriptedSampler:
    """Picks as the real one does, and then takes the next token of a script."""

    def __init__(self, real: Sampler, script: Iterator[int]) -> None:
        self._real, self._script = real, script

    def next(self) -> int:
        """Return the next token of the script."""
        self._real._pick(masked=False)
        token = next(self._script)
        assert self._real.allows(token)
        self._real.accept(token)
        return token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class ScriptedBackend(LlamaBackend):
    """A llama backend that writes the golden answers, and takes note of what it evaluates."""

    def begin_script(self) -> None:
        """Start with the first answer, in an empty context."""
        words = self.engine.vocabulary
        self._scripts = iter([[*words.tokenize(text), words.end_token] for text in ANSWERS])
        self.operations: list[tuple[str, Any]] = []
        self.new_tokens = 0
        engine, real = self.engine, LlamaEngine

        def rewind(length: int) -> None:
            self.operations.append(("rewind", length))
            real.rewind(engine, length)

        def evaluate(tokens: Sequence[int]) -> Iterator[int]:
            self.operations.append(("evaluate", list(tokens)))
            return real.evaluate(engine, tokens)

        def sampler(**given: Any) -> ScriptedSampler:
            return ScriptedSampler(real.sampler(engine, **given), iter(next(self._scripts)))

        engine.rewind(0)
        engine.rewind, engine.evaluate, engine.sampler = rewind, evaluate, sampler  # type: ignore[method-assign,assignment]

    def _keep(self, prompt: list[int]) -> int:
        held = self.engine.evaluated
        same = 0
        while same < min(len(held), len(prompt) - 1) and held[same] == prompt[same]:
            same += 1
        self.new_tokens += len(prompt) - same
        return super()._keep(prompt)


class Timed(Agent):
    """A scaffold whose episode is timed from its start; the check before it is not part of it."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self._backend, self._agent = backend, NativeScaffold(backend)
        self.name, self.scaffold = self._agent.name, self._agent.scaffold
        self.tokens = {"input": 0, "output": 0}

    def check(self, context: EpisodeContext) -> object:
        """Check as the scaffold does."""
        return self._agent.check(context)

    def start(self, context: EpisodeContext) -> None:
        """Begin the episode and the clocks."""
        self._backend.begin_script()
        self.begun = time.monotonic(), time.process_time()
        self._agent.start(context)

    def act(self, observation: Observation | None) -> Action:
        """Return the next action."""
        action = self._agent.act(observation)
        self.tokens["input"] += action.usage.input_tokens
        self.tokens["output"] += action.usage.output_tokens
        return action

    def close(self) -> None:
        """Leave the model loaded."""


def harness(path: Path, grammar: str, threads: int) -> tuple[dict[str, float], list[tuple[str, Any]]]:
    """Run the episode through the whole harness; returns figures, and what was evaluated."""
    backend = ScriptedBackend(path, ModelOptions.model_validate(options(threads) | {"grammar": grammar}))
    agent = Timed(backend)
    cell = Cell(task="water_one_plant", rig="sim:farm_rover", agent="timed")
    config = RunConfig.model_validate({"cells": [cell], "limits": {"seconds": 36_000}})
    with tempfile.TemporaryDirectory() as folder, RunLog(Path(folder) / "log.db") as log:
        Run(config, load_parts(config, {"timed": agent}), log, ignore).start()
        wall, cpu = time.monotonic() - agent.begun[0], time.process_time() - agent.begun[1]
        sql = "SELECT value FROM score WHERE metric = 'path_correctness'"
        assert tuple(log.connection.execute(sql).fetchone()) == (1.0,), "the golden calls were not made"
    figures = {"wall": wall, "cpu": cpu, "evaluated_over_new": agent.tokens["input"] / backend.new_tokens}
    figures |= {"prompt_tokens": agent.tokens["input"], "written_tokens": agent.tokens["output"]}
    backend.close()
    return figures, backend.operations


def bare(path: Path, operations: Sequence[tuple[str, Any]], threads: int) -> dict[str, float]:
    """Evaluate the same tokens by llama.cpp alone, each followed by a pick of the likeliest."""
    backend = LlamaBackend(path, ModelOptions.model_validate(options(threads)))
    engine = backend.engine
    c, context, size = engine._c, engine._context, engine.vocabulary.size
    begun = time.monotonic(), time.process_time()
    for what, value in operations:
        if what == "rewind":
            c.llama_memory_seq_rm(c.llama_get_memory(context), 0, value, -1)
            continue
        for start in range(0, len(value), engine.n_batch):
            part = value[start : start + engine.n_batch]
            ids = (ctypes.c_int32 * len(part))(*part)
            assert c.llama_decode(context, c.llama_batch_get_one(ids, len(part))) == 0
        np.ctypeslib.as_array(c.llama_get_logits_ith(context, -1), shape=(size,)).argmax()
    figures = {"wall": time.monotonic() - begun[0], "cpu": time.process_time() - begun[1]}
    backend.close()
    return figures


def options(threads: int) -> dict[str, Any]:
    """Return the options of all runs; a prompt from disk would be one that only the harness has."""
    return {"n_ctx": 4096, "n_threads": threads, "kv_type": "q8_0", "prompt_cache": False}


def memory(path: Path, n_ctx: int, kv_type: str) -> float:
    """Return the peak memory of a process that has read the first prompt, MB."""
    done = subprocess.run(
        [sys.executable, __file__, "--memory", str(path), str(n_ctx), kv_type],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


def print_memory(path: Path, n_ctx: int, kv_type: str) -> None:
    """Read a first prompt as an episode does, and print this process's peak memory, MB."""
    task = load_task("water_one_plant")
    made = ModelOptions.model_validate({"n_ctx": n_ctx, "kv_type": kv_type, "max_seconds": 36_000})
    agent = NativeScaffold(LlamaBackend(path, made))
    agent.check(EpisodeContext(task.prompt, task.offered.tools, limits=made.limits(Limits())))
    print((peak_memory(os.getpid()) or 0) / 1e6)


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each figure."""
    return {key: round(mean(row[key] for row in rows), 4) for key in rows[0]}


def main() -> None:
    """Parse the command line, measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--layers", type=int, default=28, help="28: Qwen3-0.6B's; fewer for a quick look")
    parser.add_argument("--keep", type=Path, help="a folder in which the model is kept")
    parser.add_argument("--memory", nargs=3, metavar=("FILE", "N_CTX", "TYPE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory:
        print_memory(Path(args.memory[0]), int(args.memory[1]), args.memory[2])
        return
    with tempfile.TemporaryDirectory() as folder:
        path = (args.keep or Path(folder)) / f"random-{args.layers}.gguf"
        if not path.is_file():
            write_model(path, args.layers)
        runs: dict[str, list[dict[str, float]]] = {"bare": [], "harness": [], "harness_without_grammar": []}
        load = [os.getloadavg()[0]]
        for _ in range(args.repeats):
            found, operations = harness(path, "calls", args.threads)
            runs["harness"].append(found)
            # On a thread of its own, as an agent answers: once the main thread has called llama.cpp, calls on
            # other threads were a fifth slower.
            with ThreadPoolExecutor(1) as thread:
                runs["bare"].append(thread.submit(bare, path, operations, args.threads).result())
            runs["harness_without_grammar"].append(harness(path, "off", args.threads)[0])
            load.append(os.getloadavg()[0])
        figures: dict[str, Any] = {name: means(rows) for name, rows in runs.items()}
        for clock in ("wall", "cpu"):
            for name in ("harness", "harness_without_grammar"):
                figures[f"{clock}_ratio_{name}"] = round(figures[name][clock] / figures["bare"][clock], 3)
        figures["file_mb"] = round(path.stat().st_size / 1e6)
        figures["peak_mb_q8_0_4096"] = round(memory(path, 4096, "q8_0"))
        figures["peak_mb_f16_8192"] = round(memory(path, 8192, "f16"))
        figures |= {"threads": args.threads, "load": [round(value, 1) for value in load]}
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
