"""How fast a GGUF reads and writes on this machine: `python -m training.speed --threads 1`."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from agents.backends.llama_backend import SHIPPED_MODEL
from agents.backends.llama_engine import LlamaEngine
from agents.formats.answer_grammar import answer_grammar
from training.conversations import native_pieces
from training.system_turns import system_turn
from training.transcripts import HELD_OUT, episode

WRITTEN = 256


def main() -> None:
    """Parse the command line and print the speeds as JSON: the best of the repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=SHIPPED_MODEL)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    begun = time.monotonic()
    engine = LlamaEngine(args.model, n_ctx=4096, n_threads=args.threads)
    loaded = time.monotonic() - begun
    story = episode(HELD_OUT)
    prompt = engine.vocabulary.tokenize(system_turn(story.device) + native_pieces(story)[0][0])
    reading = min(_seconds_to_read(engine, prompt) for _ in range(args.repeats))
    speeds = {
        "load_s": round(loaded, 3),
        "prompt_tokens": len(prompt),
        "read_tokens_per_s": round(len(prompt) / reading),
    }
    grammar = answer_grammar(story.device.schemas())
    for name, rules in (("write_tokens_per_s", None), ("write_tokens_per_s_with_grammar", grammar)):
        best = min(_seconds_a_token(engine, prompt, rules) for _ in range(args.repeats))
        speeds[name] = round(1 / best)
    engine.close()
    print(json.dumps(speeds))


def _seconds_to_read(engine: LlamaEngine, prompt: list[int]) -> float:
    engine.rewind(0)
    begun = time.monotonic()
    list(engine.evaluate(prompt))
    return time.monotonic() - begun


def _seconds_a_token(engine: LlamaEngine, prompt: list[int], grammar: str | None) -> float:
    """Return seconds a token, over answers to one prompt that are begun anew until enough is written."""
    written, seconds = 0, 0.0
    while written < WRITTEN:
        engine.rewind(len(prompt) - 1)
        list(engine.evaluate(prompt[-1:]))
        sampler = engine.sampler(grammar=grammar)
        begun = time.monotonic()
        token = sampler.next()
        while not engine.vocabulary.ends(token):
            written += 1
            list(engine.evaluate([token]))
            token = sampler.next()
        seconds += time.monotonic() - begun
        sampler.close()
        written += 1
    return seconds / written


if __name__ == "__main__":
    main()
