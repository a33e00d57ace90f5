"""Runs the tests against deliberate bugs (mutants) in the critical modules, and says which no test noticed.

mutmut makes the mutants and runs, for each, the tests that execute the changed function. This script draws a
seeded sample, leaves out what was judged before (an interrupted run goes on where it stopped), and holds the
survivors against `equivalent.yaml`: changes that no test can tell, each with its reason.

Exit status: 0 where at least `--goal` of the mutants that are not equivalent were noticed, 1 where fewer
were, 2 where the mutants could not be run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.yaml")
NOTICED = frozenset({1, 3, 24, 36, 37, 152, -24, -11, -9, 245, 247})
"""mutmut's codes for a failed test, a time-out and a crash."""
STATUS = {0: "survived", 33: "executed by no test", None: "not run"}
TRIES = 3
TEXTS = re.compile(
    r"log\.|Error\(|Refusal\(|Exception\(|message|reason|help=|description|title|RuntimeWarning"
)

SQL = re.compile(r'"(SELECT|INSERT|UPDATE) |" WHERE |= \?')


@dataclass(frozen=True)
class Mutant:
    """One deliberate bug: its name, and the lines that it takes out and puts in."""

    name: str
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def function(self) -> str:
        """Dotted name of the function that it changes."""
        return self.name.rpartition("__mutmut_")[0].replace("ǁ", ".").replace(".x_", ".").replace(".x.", ".")

    @property
    def only_rewords(self) -> bool:
        """Whether it changes nothing but the text of a message, which tests check by a word or two."""
        if not TEXTS.search(" ".join(self.removed)) or len(self.removed) != len(self.added):
            return False
        return all(
            _without_texts(a) == _without_texts(b) for a, b in zip(self.removed, self.added, strict=True)
        )

    @property
    def only_recases_sql(self) -> bool:
        """Whether it changes nothing but upper and lower case of SQL's words and names, which SQL ignores."""
        old, new = " ".join(self.removed), " ".join(self.added)
        # A literal in quotes would be another one.
        return old.lower() == new.lower() and SQL.search(old) is not None and "'" not in old


def _without_texts(line: str) -> str:
    return re.sub(r"""f?"(?:[^"\\]|\\.)*"|f?'(?:[^'\\]|\\.)*'|\bNone\b""", '""', line.strip())


def _mutmut(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("mutmut")), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def results() -> dict[str, int | None]:
    """Exit code of the tests by mutant; None where they have not run yet."""
    found: dict[str, int | None] = {}
    for path in sorted(MUTANTS.rglob("*.py.meta")):
        found.update(json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"])
    return found


def drawn(names: Iterable[str], count: int, seed: int) -> list[str]:
    """Draw so many (0: all) by a seed: after a change of some functions, mostly the same of the others."""
    ranked = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    return sorted(ranked[: count or None])


def forget(names: Collection[str]) -> None:
    """Drop the verdicts on these mutants."""
    for path in MUTANTS.rglob("*.py.meta"):
        data = json.loads(path.read_text(encoding="utf-8"))
        codes = data["exit_code_by_key"]
        codes.update(dict.fromkeys(codes.keys() & set(names)))
        path.write_text(json.dumps(data, indent=4), encoding="utf-8")


def mutant(name: str) -> Mutant:
    """The mutant of that name with its change."""
    lines = _mutmut("show", name).stdout.splitlines()
    removed = tuple(line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("---"))
    added = tuple(line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++"))
    return Mutant(name, removed, added)


def equivalents() -> dict[tuple[str, str], str]:
    """Reason by (function, added text) of the changes that no test can tell."""
    listed = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or []
    return {(entry["function"], " ".join(entry["becomes"].split())): entry["reason"] for entry in listed}


def main() -> int:
    """Draw, run, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="how many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--only", default="", help="part of a mutant's name, such as firmware_bridge.codec")
    parser.add_argument("--goal", type=float, default=0.95, help="share that must be noticed")
    parser.add_argument("--children", type=int, default=2, help="processes at once")
    parser.add_argument("--again", action="store_true", help="judge survivors again, after a change of tests")
    parser.add_argument("--batch", type=int, default=50, help="mutants between two progress lines")
    chosen = parser.parse_args()

    print(
        "making the mutants, and running the tests once to learn which test executes which function ...",
        flush=True,
    )
    made = _mutmut("run", "no.such.mutant")
    known = results()
    if not known or "Failed to" in made.stdout:
        print(made.stdout[-2000:], made.stderr[-2000:], file=sys.stderr)
        return 2
    names = drawn([name for name in known if chosen.only in name], chosen.sample, chosen.seed)
    todo = [name for name in names if known[name] is None or (chosen.again and known[name] not in NOTICED)]
    forget(todo)
    print(
        f"{len(known)} mutants in all, {len(names)} drawn with seed {chosen.seed}, {len(todo)} still to run"
    )
    for first in range(0, len(todo), chosen.batch):
        if not _judge(todo[first : first + chosen.batch], chosen.children):
            return 2
        print(f"{min(first + chosen.batch, len(todo))} of {len(todo)} run", flush=True)
    return report(names, chosen.goal)


def _judge(names: list[str], children: int) -> bool:
    """Run the tests against these mutants, and again where mutmut broke off; whether all were judged."""
    for _ in range(TRIES):
        ran = _mutmut("run", "--max-children", str(children), *names)
        codes = results()
        names = [name for name in names if codes.get(name) is None]
        if not names:
            return True
        print(f"mutmut broke off with status {ran.returncode}, {len(names)} to go", flush=True)
    print(ran.stdout[-2000:], ran.stderr[-2000:], "not run: ", *names, sep="\n", file=sys.stderr)
    return False


def report(names: list[str], goal: float) -> int:
    """Print what no test noticed, and the share that was noticed."""
    codes = results()
    listed = equivalents()
    count: Counter[str] = Counter()
    for name in names:
        code = codes.get(name)
        if code in NOTICED:
            count["noticed"] += 1
            continue
        change = mutant(name)
        if change.only_rewords:
            count["reworded"] += 1
        elif change.only_recases_sql or (change.function, " ".join(" ".join(change.added).split())) in listed:
            count["equivalent"] += 1
        else:
            count["survived"] += 1
            print(f"{STATUS.get(code, f'exit {code}')}: {name}")
            for line in change.removed:
                print(f"    - {line}")
            for line in change.added:
                print(f"    + {line}")
    judged = count["noticed"] + count["survived"]
    share = count["noticed"] / judged if judged else 1.0
    print(
        f"{count['noticed']} of {judged} noticed ({100 * share:.1f} %); beside them "
        f"{count['equivalent']} equivalent and {count['reworded']} that only reword a message"
    )
    return 0 if share >= goal else 1


if __name__ == "__main__":
    sys.exit(main())
