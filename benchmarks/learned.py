"""How well automata learned from traces judge others: this kit's merging beside other learners.

    python benchmarks/learned.py LOG [--traces 20] [--seed 0]

Of each task of the log with enough accepted episodes so many are drawn, and each is judged by what is learned
from the others (`core_eval.learn.judging`). Compared are the prefix tree, which generalises nothing, and,
where AALpy is installed (`pip install aalpy`), its RPNI and EDSM with the rejected episodes as negative ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core_eval.cli.tasks_learn import TaskTraces, traces_of
from core_eval.learn.alphabet import Alphabet
from core_eval.learn.judging import Judged, Learner, leave_one_out, merging
from core_eval.learn.merging import writes_of
from core_eval.path.calls import Call
from core_eval.statistics.intervals import wilson

Calls = Sequence[Call]


def words(reads: frozenset[str], accepted: Sequence[Calls]) -> Callable[[Calls], tuple[str, ...]]:
    """Return what writes a trace as symbols; a call unlike those of the accepted ones is `?`."""
    alphabet = Alphabet(call for calls in accepted for call in writes_of(calls, reads))
    return lambda calls: tuple(alphabet.name(call) or "?" for call in writes_of(calls, reads))


def prefix_tree(reads: frozenset[str]) -> Learner:
    """Accept just the courses that were seen."""

    def learner(accepted: Sequence[Calls], _: Sequence[Calls]) -> Callable[[Calls], bool]:
        word = words(reads, accepted)
        seen = {word(calls) for calls in accepted}
        return lambda calls: word(calls) in seen

    return learner


def aalpy(reads: frozenset[str], algorithm: str) -> Learner:
    """Learn by AALpy."""
    from aalpy.learning_algs import run_EDSM, run_RPNI  # type: ignore[import-not-found,unused-ignore]

    def learner(accepted: Sequence[Calls], rejected: Sequence[Calls]) -> Callable[[Calls], bool]:
        word = words(reads, accepted)
        right = {word(calls) for calls in accepted}
        wrong = {word(calls) for calls in rejected} - right
        data = [(one, True) for one in right] + [(one, False) for one in wrong if "?" not in one]
        run = run_RPNI if algorithm == "RPNI" else run_EDSM
        dfa = run(data, automaton_type="dfa", print_info=False)
        return lambda calls: _runs(dfa, word(calls))

    return learner


def _runs(dfa: object, word: tuple[str, ...]) -> bool:
    state = dfa.initial_state  # type: ignore[attr-defined]
    for symbol in word:
        state = state.transitions.get(symbol)
        if state is None:
            return False
    return bool(state.is_accepting)


def share(part: int, of: int) -> str:
    """Return a share with its interval."""
    if not of:
        return "none"
    low, high = wilson(part / of, of, 0.95)
    return f"{part}/{of} = {part / of:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--traces", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = Random(given.seed)
    drawn: list[TaskTraces] = []
    for _, traces in sorted(traces_of(given.log, None, frozenset()).items()):
        if len(traces.accepted) >= given.traces:
            accepted = chance.sample(traces.accepted, given.traces)
            rejected = chance.sample(traces.rejected, min(given.traces, len(traces.rejected)))
            drawn.append(TaskTraces(accepted, rejected, traces.reads))
    print(f"{len(drawn)} tasks, {given.traces} accepted traces each")
    learners: dict[str, Callable[[frozenset[str]], Learner]] = {
        "merging": merging,
        "prefix tree": prefix_tree,
    }
    if find_spec("aalpy"):
        learners |= {
            "AALpy RPNI": lambda reads: aalpy(reads, "RPNI"),
            "AALpy EDSM": lambda reads: aalpy(reads, "EDSM"),
        }
    for name, learner in learners.items():
        total = Judged()
        for one in drawn:
            total += leave_one_out(one.accepted, one.rejected, reads=one.reads, learner=learner(one.reads))
        print(
            f"{name}: false harm {share(total.harmed, total.accepted)}, of unlike ones "
            f"{share(total.new_harmed, total.new)}; false accept "
            f"{share(total.passed.total(), total.planted.total())}; rejected missed "
            f"{share(total.missed, total.rejected)}"
        )


if __name__ == "__main__":
    main()
