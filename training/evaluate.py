"""Try a GGUF on held-out episodes through llama.cpp: `python -m training.evaluate`.

Each turn is written greedily after the expert's own history, by the same backend that drives a rig. A turn is
exact where it is the expert's call, argument for argument (or a last word where the expert's is one); an
episode is exact where all its turns are. Numbers are compared as JSON numbers: 3 equals 3.0.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

from agents.backends.backend import Message, Reply
from agents.backends.llama_backend import SHIPPED_MODEL, LlamaBackend
from agents.deadline import Deadline
from agents.formats.calls import CallText
from agents.options import ModelOptions
from agents.scaffolds.prompting import OPERATOR, TRAINED
from training.episode import Episode
from training.held_out_wordings import HELD_OUT_WORDS
from training.transcripts import HELD_OUT, episode
from training.wordings import SEEN


def main() -> None:
    """Parse the command line and print the figures as JSON, a line a device and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=SHIPPED_MODEL)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=HELD_OUT)
    parser.add_argument(
        "--other-words", action="store_true", help="prompts in the words that only held-out episodes use"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-grammar", action="store_true")
    parser.add_argument("--show", action="store_true", help="print each turn that is not exact")
    args = parser.parse_args()
    options = ModelOptions(n_threads=args.threads, grammar="off" if args.no_grammar else "calls")
    backend = LlamaBackend(args.model, options)
    counts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    wordings = HELD_OUT_WORDS if args.other_words else SEEN
    for seed in range(args.first_seed, args.first_seed + args.episodes):
        story = episode(seed, wordings)
        wrong = try_episode(backend, story, counts["all"], counts[story.device.name])
        for expected, got in wrong if args.show else ():
            print(f"{seed}: {story.prompt}\n  expected {expected}\n  got      {got}")
    backend.close()
    for name, count in counts.items():
        print(json.dumps({"which": name, **figures(count)}))


def try_episode(backend: LlamaBackend, story: Episode, *counts: dict[str, float]) -> list[tuple[str, str]]:
    """Add an episode's turns to the counts; returns the turns that are not exact: expected and got."""
    prompting = TRAINED if backend.trained_here else OPERATOR
    messages: list[Message] = [
        {"role": "system", "content": prompting.text(story.device.advice, True)},
        {"role": "user", "content": story.prompt},
    ]
    backend.start(0, prompting.schemas(story.device.tools))
    wrong = []
    declines = story.turns[-1].result is None
    for turn in story.turns if declines else [*story.turns, None]:
        if turn is None or turn.learn:
            begun = time.monotonic()
            reply = backend.answer(messages, tokens=200, deadline=Deadline(60.0))
            exact = not reply.items if turn is None else _is_call(reply, turn.tool, dict(turn.arguments))
            for count in counts:
                count["turns"] += 1
                count["exact_turns"] += exact
                count["evaluated"] += reply.usage.input_tokens
                count["cached"] += reply.usage.cached_tokens
                count["written"] += reply.usage.output_tokens
                count["seconds"] += time.monotonic() - begun
            if not exact:
                expected = story.answer if turn is None else f"{turn.tool} {json.dumps(turn.arguments)}"
                wrong.append((expected, reply.usage.text))
        if turn is not None and turn.result is not None:
            function = {"name": turn.tool, "arguments": dict(turn.arguments)}
            messages.append({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})
            messages.append({"role": "tool", "content": turn.result})
    for count in counts:
        count["episodes"] += 1
        count["exact_episodes"] += not wrong
    return wrong


def figures(count: dict[str, float]) -> dict[str, float]:
    """Return counts, shares and speeds."""
    return {
        "episodes": count["episodes"],
        "turns": count["turns"],
        "exact_turns": round(count["exact_turns"] / count["turns"], 4),
        "exact_episodes": round(count["exact_episodes"] / count["episodes"], 4),
        "tokens_evaluated": count["evaluated"],
        "tokens_cached": count["cached"],
        "tokens_written": count["written"],
        "seconds": round(count["seconds"], 2),
    }


def _is_call(reply: Reply, tool: str, arguments: dict[str, object]) -> bool:
    if len(reply.items) != 1 or not isinstance(reply.items[0].what, CallText):
        return False
    call = reply.items[0].what
    return call.name == tool and dict(call.arguments) == arguments


if __name__ == "__main__":
    main()
