"""How well the check of groundedness does on traces that it was not made on.

    python benchmarks/groundedness_held_out.py FOLDER

FOLDER holds the files of `FILES` (MIT); docs/results/2026-11-28-groundedness.md names where they come from.
Each is imported, and each labelled value of `groundedness_held_out.jsonl` is looked up in its log. Printed
are the tables of that page, and each value on which label and check differ.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.groundedness import GIVEN, NOWHERE, changed, figures, label_of, share
from core_eval.log import LogReader
from core_eval.rules.episode import logged_calls, told_at_first

LABELS = Path(__file__).with_suffix(".jsonl")
OF_GROK_3 = "llm_agent_grok-3_user_simulator_grok-3.json"
OF_GROK_4_FAST = "llm_agent_grok-4-fast-reasoning_user_simulator_grok-4-fast-reasoning.json"
FILES = {
    "telecom": f"2025-10-05T07:52:52.930199_telecom_{OF_GROK_3}",
    "telecom-workflow": f"2025-10-05T22:26:20.526995_telecom-workflow_{OF_GROK_3}",
    "airline-grok-4-fast": f"2025-10-06T06:45:09.212115_airline_{OF_GROK_4_FAST}",
    "airline-grok-3": f"2025-10-13T00:01:41.624853_airline_{OF_GROK_3}",
}
TRIVIAL = "trivial"
Key = tuple[str, str, int, str]


class Looked(NamedTuple):
    """A value, where the check finds it, and where a changed one in its place."""

    value: Any
    place: str
    told: str
    changed: str | None


def labels() -> dict[Key, dict[str, Any]]:
    """Return the rows of the labels."""
    with LABELS.open() as lines:
        rows = [json.loads(line) for line in lines]
    return {(row["file"], row["trace"], row["call"], row["argument"]): row for row in rows}


def looked_up(folder: Path, work: Path) -> Iterator[tuple[Key, Looked]]:
    """Yield each value of the files with its key in the labels."""
    chance = random.Random(0)
    for name, file in FILES.items():
        log = work / f"{name}.db"
        command = [sys.executable, "-m", "core_eval.cli.entry", "import", folder / file, "-o", log]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with LogReader(log) as reader:
            for number in reader.episode_ids():
                episode = reader.episode(number)
                told = told_at_first(reader, episode)
                for k, made in enumerate(logged_calls(reader, episode, [])):
                    told.hear(made.call.heard)
                    for argument, place in told.places(made.call):
                        other = None
                        if place.kind in GIVEN:
                            wrong = replace(argument, value=changed(argument.value, chance))
                            other = label_of(told.place(wrong, made.call))
                        key = (name, str((episode.imported or {})["id"]), k, argument.path)
                        yield key, Looked(argument.value, label_of(place), str(place), other)
                    told.take(made.call)


def row(name: str, counts: Counter[tuple[str, str]]) -> str:
    """Return a row of the table: a place that is said and is there, and nowhere that is said and is so."""
    has, nowhere = (
        figures(counts, is_meant) for is_meant in (lambda one: one != NOWHERE, lambda one: one == NOWHERE)
    )
    return "| " + " | ".join([name, str(counts.total()), *has, *nowhere]) + " |"


def confusion(rows: Sequence[tuple[dict[str, Any], Looked]]) -> Counter[tuple[str, str]]:
    """Return how many values have which label and which place, without trivial ones."""
    return Counter((one["label"], found.place) for one, found in rows if one["label"] != TRIVIAL)


def main() -> None:
    """Print the figures."""
    known = labels()
    with tempfile.TemporaryDirectory() as work:
        found = {key: one for key, one in looked_up(Path(sys.argv[1]), Path(work)) if key in known}
    if missing := known.keys() - found.keys():
        raise SystemExit(f"{len(missing)} labelled values are not in the files, as {min(missing)}")
    rows = [(known[key], one) for key, one in found.items()]
    same = sum(one["first"] == one["second"] for one in known.values())
    print(f"{len(rows)} values; the two passes agree on {same}")
    print("| values | n | a place: precision | recall | nowhere: precision | recall |\n|" + "---|" * 6)
    drawn = [one for one in rows if one[0]["drawn"]]
    print(row("drawn", confusion(drawn)))
    print(row("drawn, telecom", confusion([one for one in drawn if one[0]["file"].startswith("telecom")])))
    print(row("drawn, airline", confusion([one for one in drawn if one[0]["file"].startswith("airline")])))
    # Of a composed text it is known without a look that it stands nowhere as it is.
    hard = [one for one in rows if not one[0]["literal"] and one[0]["argument"] != "summary"]
    print(row("all not letter by letter", confusion(hard)))
    trivial = Counter(one.place for label, one in rows if label["label"] == TRIVIAL)
    print(f"trivial: {dict(trivial)}")
    derived = Counter(one.place for label, one in rows if label["label"] == "derived")
    print(f"derived: {dict(derived)}")
    other = [one.changed for label, one in rows if one.changed is not None and label["label"] != TRIVIAL]
    print(f"changed values that stand nowhere: {share(other.count(NOWHERE), len(other))}")
    for label, one in rows:
        if label["label"] != TRIVIAL and (label["label"] == NOWHERE) != (one.place == NOWHERE):
            where = f"{label['file']} {label['trace']} call {label['call']} {label['argument']}"
            print(f"differs: {where} = {one.value!r}: {label['label']}; {one.told}")


if __name__ == "__main__":
    main()
