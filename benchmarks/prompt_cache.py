"""What a kept prompt saves a process that starts, on a model of Qwen3-0.6B's shape with random weights.

python benchmarks/prompt_cache.py [--repeats 3] [--threads N] [--layers 28] [--keep FOLDER]

Each start is a process of its own: it loads the model, checks the first prompt of a task, and answers with
eight tokens; without a cache, with an empty one, and with that of the start before, side by side. Printed as
JSON, means of the repeats: seconds to the first token (`check`, then `answer`), evaluated tokens, memory,
the kept file's size, and the ratios to the start without a cache. The answers must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

from agent import write_model

from agents.agent import EpisodeContext, Limits
from agents.backends.llama_backend import LlamaBackend
from agents.backends.llama_engine import physical_cores
from agents.backends.prompt_cache import usual_folder
from agents.options import ModelOptions
from agents.scaffolds.native import NativeScaffold
from configs.tasks_loader import load_task
from core_eval.run.resource_usage import peak_memory

STARTS = ("off", "empty", "kept")


def started(path: Path, cache: bool, threads: int) -> dict[str, Any]:
    """Load the model, answer once, and return the figures of this process."""
    task = load_task("water_one_plant")
    given = {"n_ctx": 4096, "kv_type": "q8_0", "n_threads": threads, "prompt_cache": cache}
    options = ModelOptions.model_validate(given | {"answer_tokens": 8, "max_seconds": 36_000})
    agent = NativeScaffold(LlamaBackend(path, options), answer_tokens=8)
    context = EpisodeContext(task.prompt, task.offered.tools, limits=options.limits(Limits()))
    begun = time.monotonic(), time.process_time()
    agent.check(context)
    checked = time.monotonic()
    agent.start(context)
    usage = agent.act(None).usage
    figures = {
        "check_s": checked - begun[0],
        "first_token_s": checked - begun[0] + usage.first_token_seconds,
        "cpu_s": time.process_time() - begun[1],
        "evaluated": usage.input_tokens,
        "peak_mb": (peak_memory(os.getpid()) or 0) / 1e6,
    }
    agent.close()
    return figures | {"text": usage.text}


def main() -> None:
    """Parse the command line, measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=physical_cores())
    parser.add_argument("--layers", type=int, default=28, help="28: Qwen3-0.6B's; fewer for a quick look")
    parser.add_argument("--keep", type=Path, help="a folder in which the model is kept")
    parser.add_argument("--start", nargs=2, metavar=("FILE", "CACHE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.start:
        print(json.dumps(started(Path(args.start[0]), args.start[1] == "on", args.threads)))
        return
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in STARTS}
    with tempfile.TemporaryDirectory() as folder:
        path = (args.keep or Path(folder)) / f"random-{args.layers}.gguf"
        if not path.is_file():
            write_model(path, args.layers)
        for number in range(args.repeats):
            os.environ["XDG_CACHE_HOME"] = f"{folder}/{number}"
            for name in STARTS:
                command = [sys.executable, __file__, "--threads", str(args.threads)]
                done = subprocess.run(
                    [*command, "--start", str(path), "off" if name == "off" else "on"],
                    stdout=subprocess.PIPE, text=True, check=True,
                )  # fmt: skip
                found[name].append(json.loads(done.stdout))
        kept = sum(one.stat().st_size for one in usual_folder().iterdir())
    texts = {row.pop("text") for rows in found.values() for row in rows}
    assert len(texts) == 1, "the answers differ"
    figures: dict[str, Any] = {
        name: {key: round(mean(row[key] for row in rows), 3) for key in rows[0]}
        for name, rows in found.items()
    }
    for clock in ("first_token_s", "cpu_s"):
        ratios = {name: round(figures[name][clock] / figures["off"][clock], 3) for name in STARTS[1:]}
        figures[f"{clock}_ratio"] = ratios
    figures |= {
        "file_mb": round(kept / 1e6, 1),
        "threads": args.threads,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
