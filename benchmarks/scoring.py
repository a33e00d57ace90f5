"""How long scoring takes: `python benchmarks/scoring.py [--repeats N]`, everything in this one process.

Prints medians of several runs for
1. `k` unordered steps, k = 2..10: PC, PC-KTC and PC+HLR each, beside listing all golden paths (or
   candidates) and comparing them with rapidfuzz, as far as that goes;
2. ten-call traces on a task of six steps and seven reads, all scores with HLR, beside rapidfuzz's edit
   distance of the same strings;
3. one online step;
4. long plans: a chain of 1,000 steps and six blocks of 30 steps in any order, all scores, with the bits that
   PC-KTC holds, and whether all are exact.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations, product
from math import factorial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rapidfuzz.distance import Levenshtein

from core_eval.path.alignment import make_row
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.edit_row import GraphRow
from core_eval.path.golden import golden_graph
from core_eval.path.metrics import concordance, similarity
from core_eval.path.order import OrderSearch, on_graph
from core_eval.path.order_graph import OrderGraph
from core_eval.path.plan import compile_plan
from core_eval.path.refinement import refine
from core_eval.path.scorer import OnlineScorer, score_path
from core_eval.path.suffix_graph import NO_SUFFIXES

LISTED = 50_000
"""Golden paths or candidates are listed up to this many; beyond it a run would take minutes."""

GOAL_MS = 50.0
GOAL_TRACES = 10_000
GOAL_STEP_US = 50.0
GOAL_LONG_S = 10.0


def timed(work: Callable[[], object], repeats: int) -> float:
    """Give the median seconds of several runs."""
    spent = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        spent.append(perf_counter() - start)
    return median(spent)


def unordered(k: int, reads: int = 2) -> TaskAutomaton:
    return compile_plan(
        [{"any_order": [f"step{n}" for n in range(k)]}] if k > 1 else ["step0"],
        free_reads=[f"read{n}" for n in range(reads)],
        file="benchmark",
        task=f"{k} unordered steps",
    )


def path_with_harm(k: int, seed: int) -> list[Call]:
    """All steps but one in random order, an unknown tool after the second, and the first step again."""
    order = [f"step{n}" for n in range(k)]
    Random(seed).shuffle(order)
    names = [*order[:2], "no_such_tool", *order[2 : k - 1], order[0]]
    return [Call(name, {}) for name in names]


def path_that_got_stuck(k: int, seed: int) -> list[Call]:
    """Two steps done, and five harmful calls: those two steps again and again, and an unknown tool."""
    first, second = Random(seed).sample([f"step{n}" for n in range(k)], 2)
    names = [first, first, "no_such_tool", second, first, second, "no_such_tool"]
    return [Call(name, {}) for name in names]


class Task:
    """A task and a path of it, taken apart for timing one score at a time."""

    def __init__(self, automaton: TaskAutomaton, calls: Sequence[Call]) -> None:
        self.golden = golden_graph(automaton)
        scorer = OnlineScorer(automaton)
        for call in calls:
            scorer.step(call)
        self.path, self.repairs, self.end = scorer._path, scorer._repairs, scorer.state
        self.automaton = automaton

    def path_correctness(self) -> float:
        """Align the path with the automaton, row by row."""
        row = make_row(self.golden)
        for token in self.path:
            row.advance(token)
        return row.best()

    def pc_ktc(self) -> float:
        """Align it with the unfolded automaton, edits and order at once."""
        row = GraphRow(self.golden.unfolded)
        for token in self.path:
            row.advance(token)
        return on_graph(self.golden, self.path, row.edits(), 0.5)[0]

    def order_bits(self) -> int:
        """Count the bits that the states hold in the widest pass of PC-KTC; none where a tree does."""
        if self.golden.tree is not None:
            return 0
        row = GraphRow(self.golden.unfolded)
        for token in self.path:
            row.advance(token)
        search = OrderSearch(OrderGraph(self.golden, self.path), self.path, row.edits(), 0.5)
        search.run()
        return search.bits

    def refined(self) -> float:
        """Align it with all its repaired candidates at once."""
        return refine(self.path, self.repairs, self.golden.suffixes(self.end) or NO_SUFFIXES)[0]


def listed_pc(path: list[int], k: int) -> float:
    return max(
        similarity(len(path), k, Levenshtein.distance(path, golden)) for golden in permutations(range(k))
    )


def listed_pc_ktc(path: list[int], k: int) -> float:
    first = {token: place for place, token in reversed(list(enumerate(path))) if token >= 0}
    common = sorted(first, key=first.__getitem__)
    pairs = [(a, b) for place, a in enumerate(common) for b in common[place + 1 :]]
    best = 0.0
    for golden in permutations(range(k)):
        rank = {token: place for place, token in enumerate(golden)}
        discordant = sum(rank[a] > rank[b] for a, b in pairs)
        edits = Levenshtein.distance(path, golden)
        best = max(best, (similarity(len(path), k, edits) + concordance(len(common), discordant)) / 2)
    return best


def listed_refined(task: Task, k: int) -> float:
    done = {token for token, repair in zip(task.path, task.repairs, strict=True) if repair is None}
    suffixes = list(permutations(sorted(set(range(k)) - done)))
    options = [
        [[token]] if repair is None else [[], *([legal] for legal in repair)]
        for token, repair in zip(task.path, task.repairs, strict=True)
    ]
    best = 0.0
    for choice in product(*options):
        body = [token for part in choice for token in part]
        for suffix in suffixes:
            candidate = [*body, *suffix]
            edits = Levenshtein.distance(task.path, candidate)
            best = max(best, similarity(len(task.path), len(candidate), edits))
    return best


def unordered_steps(repeats: int) -> None:
    print(
        f"k unordered steps, medians of {repeats} runs, ms; beside it listing up to {LISTED:,} with rapidfuzz"
    )
    heads = "".join(f"|{name:>8}{'listed':>10} " for name in ("PC", "PC-KTC", "HLR"))
    print(f"{'k':>2} {'golden':>9} {'states':>6} {'edges':>6} {heads}")
    slowest = 0.0
    for k in range(2, 11):
        task, stuck = (Task(unordered(k), path(k, k)) for path in (path_with_harm, path_that_got_stuck))
        rivals: list[tuple[Callable[[], float], Callable[[], float], int]] = [
            (task.path_correctness, partial(listed_pc, task.path, k), factorial(k)),
            (task.pc_ktc, partial(listed_pc_ktc, task.path, k), factorial(k)),
            (stuck.refined, partial(listed_refined, stuck, k), 3**5 * factorial(k - 2)),
        ]
        edges = sum(map(len, task.golden.edges))
        line = f"{k:>2} {factorial(k):>9,} {len(task.golden.edges):>6,} {edges:>6,} "
        for score, listing, candidates in rivals:
            milliseconds = timed(score, repeats) * 1e3
            slowest = max(slowest, milliseconds)
            beside = "-"
            if candidates <= LISTED:
                if abs(score() - listing()) > 1e-12:
                    raise SystemExit(f"k = {k}: the scorer and the listing disagree")
                beside = f"{timed(listing, repeats) * 1e3:.2f}"
            line += f"|{milliseconds:>8.3f}{beside:>10} "
        print(line)
    verdict = "met" if slowest < GOAL_MS else "missed"
    print(f"goal: below {GOAL_MS:.0f} ms each: {verdict} (slowest {slowest:.1f} ms)\n")


def random_trace(rng: Random) -> list[Call]:
    """Ten calls: the next step, any read, any step, or an unknown tool; about a third are harmful."""
    done, calls = 0, []
    for _ in range(10):
        drawn = rng.random()
        if drawn < 0.4 and done < 6:
            name = f"step{done}"
        elif drawn < 0.65:
            name = f"read{rng.randrange(7)}"
        elif drawn < 0.9:
            name = f"step{rng.randrange(6)}"
        else:
            name = "no_such_tool"
        done += name == f"step{done}"
        calls.append(Call(name, {}))
    return calls


def many_traces(repeats: int, automaton: TaskAutomaton, title: str, count: int) -> float:
    rng = Random(7)
    traces = [random_trace(rng) for _ in range(count)]
    scored = timed(lambda: [score_path(automaton, trace) for trace in traces], repeats)
    harmful = sum(score_path(automaton, trace).harmful_calls for trace in traces) / count
    letters = {name: chr(65 + n) for n, name in enumerate(dict.fromkeys(c.name for t in traces for c in t))}
    golden = ["".join(letters[tool] for tool in path) for path in automaton.golden_paths()]
    strings = ["".join(letters[call.name] for call in trace) for trace in traces]

    def distances() -> None:
        for string in strings:
            for path in golden:
                Levenshtein.distance(string, path)

    bare = timed(distances, repeats)
    rate = count / scored
    each, ratio = scored / count * 1e6, scored / bare
    print(f"{title}: {rate:,.0f} traces/s with all scores ({each:.1f} us each, {harmful:.1f} harmful calls)")
    print(f"  rapidfuzz distance alone to {len(golden)} golden: {count / bare:,.0f}/s; ratio {ratio:.1f}")
    return rate


def online_step(repeats: int, automaton: TaskAutomaton) -> float:
    rng = Random(11)
    traces = [random_trace(rng) for _ in range(500)]

    def follow(row: bool) -> Callable[[], None]:
        def run() -> None:
            for trace in traces:
                scorer = OnlineScorer(automaton)
                for call in trace:
                    scorer.step(call)
                    if row:
                        _ = scorer.path_correctness

        return run

    steps = sum(map(len, traces))
    verdict, aligned = (timed(follow(row), repeats) / steps * 1e6 for row in (False, True))
    print(
        f"one online step: {verdict:.2f} us for the verdict, {aligned:.2f} us with its row of the alignment"
    )
    return aligned


def long_plans(repeats: int) -> None:
    rng = Random(5)
    steps = [f"s{n}" for n in range(1000)]
    chain = compile_plan(steps, free_reads=["look"], file="benchmark", task="1,000 steps")
    blocks = [[f"b{block}_{step}" for step in range(30)] for block in range(6)]
    plan = compile_plan([{"any_order": blocks}], free_reads=["look"], file="benchmark", task="6 blocks of 30")
    in_blocks = [step for block in rng.sample(blocks, len(blocks)) for step in block]
    shuffled = rng.sample(in_blocks, len(in_blocks))
    cases: list[tuple[str, TaskAutomaton, list[str]]] = [
        ("chain of 1,000, one bad call", chain, [*steps[:4], "no_such_tool", *steps[4:990]]),
        ("chain of 1,000, a tenth of it done", chain, [*steps[:4], "no_such_tool", *steps[4:100]]),
        ("chain of 1,000, backwards", chain, steps[::-1]),
        ("6 blocks of 30, one bad call", plan, [*in_blocks[:7], "no_such_tool", *in_blocks[7:]]),
        ("6 blocks of 30, half of it done", plan, [*in_blocks[:3], "no_such_tool", *in_blocks[3:90]]),
        ("6 blocks of 30, backwards", plan, in_blocks[::-1]),
        ("6 blocks of 30, shuffled", plan, shuffled),
    ]
    print(f"{'long plans':<36} {'states':>6} {'calls':>5} {'bits':>12} {'seconds':>8}  exact")
    slowest = 0.0
    for name, automaton, path in cases:
        calls = [Call(step, {}) for step in path]
        scores = score_path(automaton, calls)
        seconds = timed(partial(score_path, automaton, calls), min(repeats, 3))
        slowest = max(slowest, seconds)
        bits = Task(automaton, calls).order_bits()
        gaps = ", ".join(f"{metric} {low:.4f} to {high:.4f}" for metric, (low, high) in scores.bounds.items())
        held = f"{bits:,}" if bits else "(tree)"
        sizes = f"{len(automaton.states):>6,} {len(calls):>5,} {held:>12}"
        print(f"{name:<36} {sizes} {seconds:>8.3f}  {gaps or 'yes'}")
    print(f"goal: below {GOAL_LONG_S:.0f} s each: {'met' if slowest < GOAL_LONG_S else 'missed'}\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--repeats", type=int, default=5)
    repeats = options.parse_args().repeats
    unordered_steps(repeats)
    reads = [f"read{n}" for n in range(7)]
    chain = compile_plan([f"step{n}" for n in range(6)], free_reads=reads, file="benchmark", task="six steps")
    rate = many_traces(repeats, chain, "six steps in order, seven reads", 3000)
    print(f"goal: {GOAL_TRACES:,} traces/s: {'met' if rate >= GOAL_TRACES else 'missed'}")
    many_traces(repeats, unordered(6, 7), "six steps in any order, seven reads", 300)
    step = online_step(repeats, chain)
    print(f"goal: below {GOAL_STEP_US:.0f} us: {'met' if step < GOAL_STEP_US else 'missed'}\n")
    long_plans(repeats)


if __name__ == "__main__":
    main()
