"""How well the check of groundedness tells where argument values come from, on labelled values.

    python benchmarks/groundedness.py [FOLDER]

The folder has `conversations.jsonl`, traces with prompt, tools and results, and `labels.jsonl`, with trace,
call, argument and label of each value; default: those of tests/core_eval/rules/groundedness. In a second part
each value that has a place is changed (a digit, a word, an amount), one at a time: it should have none then.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core_eval.path.calls import Call
from core_eval.rules.given_text import PlaceKind
from core_eval.rules.grounds import Place, Told
from core_eval.rules.tool_schemas import Argument
from core_eval.statistics.intervals import wilson
from core_eval.traces.trace_file import BadTrace, read_traces

LABELLED = Path(__file__).parents[1] / "tests" / "core_eval" / "rules" / "groundedness"
LEVEL = 0.95
NOWHERE = PlaceKind.NOWHERE.value
GIVEN = (PlaceKind.PROMPT, PlaceKind.CONVERSATION, PlaceKind.RESULT)


def placed(folder: Path) -> Iterator[tuple[tuple[Any, int, str], Told, Call, Argument, Place]]:
    """Yield each value with its key in the labels, what the agent was told before it, and its place."""
    path = folder / "conversations.jsonl"
    with path.open("rb") as lines:
        for trace in read_traces(lines, file=str(path)):
            if isinstance(trace, BadTrace):
                raise SystemExit(trace.error)
            told = Told(trace.prompt, trace.tools)
            for k, call in enumerate(trace.calls):
                told.hear(call.heard)
                for argument, place in told.places(call):
                    yield (trace.id, k, argument.path), told, call, argument, place
                told.take(call)


def label_of(place: Place) -> str:
    """Return the label that a place stands for."""
    return "given" if place.kind in GIVEN else place.kind.value


def confusion(folder: Path) -> Counter[tuple[str, str]]:
    """Return how many values have which label and which place."""
    with (folder / "labels.jsonl").open() as lines:
        rows = [json.loads(line) for line in lines]
    labels = {(row["trace"], row["call"], row["argument"]): row["label"] for row in rows}
    return Counter((labels[key], label_of(place)) for key, _, _, _, place in placed(folder))


def changed(value: Any, chance: random.Random) -> Any:
    """Return another value of the kind."""
    if not isinstance(value, str):
        return value + chance.randint(13, 400)
    digits = [at for at, character in enumerate(value) if character.isdigit()]
    if not digits:
        return f"{value[::-1]}x"
    at = chance.choice(digits)
    return f"{value[:at]}{(int(value[at]) + chance.randint(1, 9)) % 10}{value[at + 1 :]}"


def planted(folder: Path, seed: int = 0) -> Counter[str]:
    """Return where values seem to stand after they were changed."""
    chance, found = random.Random(seed), Counter[str]()
    for _, told, call, argument, place in placed(folder):
        if place.kind in GIVEN and not argument.schema.get("enum"):
            other = replace(argument, value=changed(argument.value, chance))
            found[label_of(told.place(other, call))] += 1
    return found


def share(right: int, of: int) -> str:
    """Return a share with its interval."""
    if not of:
        return "of none"
    low, high = wilson(right / of, of, LEVEL)
    return f"{right}/{of} = {right / of:.3f} ({low:.3f} to {high:.3f})"


def figures(counts: Counter[tuple[str, str]], is_meant: Any) -> tuple[str, str]:
    """Return precision and recall of one class of labels."""
    both = sum(n for (label, got), n in counts.items() if is_meant(label) and is_meant(got))
    got_all = sum(n for (_, got), n in counts.items() if is_meant(got))
    label_all = sum(n for (label, _), n in counts.items() if is_meant(label))
    return share(both, got_all), share(both, label_all)


def main() -> None:
    """Print the figures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else LABELLED
    counts = confusion(folder)
    print(f"{counts.total()} values")
    for name, is_meant in (
        ("has a place", lambda label: label != NOWHERE),
        ("stands nowhere", lambda label: label == NOWHERE),
        ("derived", lambda label: label == PlaceKind.DERIVED.value),
    ):
        precision, recall = figures(counts, is_meant)
        print(f"{name}: precision {precision}, recall {recall}")
    found = planted(folder)
    print(f"changed values that stand nowhere: {share(found[NOWHERE], found.total())}")


if __name__ == "__main__":
    main()
