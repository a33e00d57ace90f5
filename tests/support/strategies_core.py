"""Random automata and traces for the scorer's tests, drawn from any `random.Random`."""

from __future__ import annotations

from random import Random

from oracle_core import OracleTask

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.symbols import Symbol

LETTERS = "ABCDEFGHIJ"
BOUNDED = ("path_correctness", "pc_ktc", "path_correctness_hlr", "efficiency")
STATUSES = ["ok"] * 12 + ["rejected", "invalid", "blocked", "fault"]


def automaton_of(task: OracleTask) -> TaskAutomaton:
    named = [task.start, *(s for s, _ in task.delta), *task.delta.values(), *sorted(task.accepting)]
    return TaskAutomaton(
        states=list(dict.fromkeys(named)),
        symbols=[Symbol(name, f"tool_{name}", {}) for name in task.alphabet],
        start=task.start,
        accepting=sorted(task.accepting),
        delta=task.delta,
    )


def calls_of(trace: list[tuple[str | None, str]]) -> list[Call]:
    return [Call("no_such_tool" if s is None else f"tool_{s}", {}, status) for s, status in trace]


def lattice(rng: Random, most: int = 4):
    """Tokens in any order, which may repeat, behind a chain and before one; accepted early now and then."""
    inner = [rng.choice(LETTERS[:5]) for _ in range(rng.randint(0, most))]
    before = [rng.choice(LETTERS[:6]) for _ in range(rng.randint(0, 2))]
    after = [rng.choice(LETTERS[:6]) for _ in range(rng.randint(0, 2))]
    delta, state, accepting = {}, "start", set()
    for place, token in enumerate(before):
        delta[state, token] = state = f"before{place}"
    full = "".join(sorted(inner))
    names = {full: state}
    todo = [full]
    for left in todo:
        for token in sorted(set(left)):
            rest = left.replace(token, "", 1)
            if rest not in names:
                names[rest] = f"left_{rest}"
                todo.append(rest)
            delta[names[left], token] = names[rest]
    state = names[""]
    for place, token in enumerate(after):
        if rng.random() < 0.4:
            accepting.add(state)
        delta[state, token] = state = f"after{place}"
    return delta, "start", accepting | {state}


def graph(rng: Random, cyclic: bool = False):
    """Any graph: choices, joins, dead ends, several accepting states."""
    count = rng.randint(1, 6)
    density = rng.choice([0.3, 0.6, 0.9])
    delta = {}
    for source in range(count):
        for token in LETTERS[: rng.randint(1, 5)]:
            target = rng.randint(0 if cyclic else source + 1, count)
            if target != source and rng.random() < density:
                delta[f"q{source}", token] = f"q{target}"
    accepting = {f"q{rng.randint(0, count)}" for _ in range(rng.randint(1, 3))}
    return delta, "q0", accepting


def with_loops(rng: Random, shape) -> OracleTask:
    """Add self-loops everywhere or here and there; where nothing is golden, the start accepts."""
    delta, start, accepting = shape
    states = sorted({start, *(s for s, _ in delta), *delta.values(), *accepting})
    alphabet = [*LETTERS[:6], "R", "S"]
    rng.shuffle(alphabet)
    for symbol in alphabet[: rng.randint(0, 3)]:
        everywhere = rng.random() < 0.5
        for state in states:
            if (state, symbol) not in delta and (everywhere or rng.random() < 0.5):
                delta[state, symbol] = state
    task = OracleTask(start, set(accepting), delta, alphabet)
    if not task.golden():
        task.accepting.add(start)
    return task


def trace(rng: Random, task: OracleTask, longest: int = 9, harms: int = 5) -> list[tuple[str | None, str]]:
    """Calls that follow the automaton more or less, and otherwise are anything at all."""
    tame = rng.choice([0.0, 0.4, 0.7, 0.95])
    state, calls, harmful = task.start, [], 0
    for _ in range(rng.randint(0, longest)):
        ways = [a for (s, a), target in task.delta.items() if s == state and target != s]
        if ways and rng.random() < tame:
            symbol, status = rng.choice(ways), "ok"
        else:
            symbol, status = rng.choice([*task.alphabet, None]), rng.choice(STATUSES)
        target = task.delta.get((state, symbol)) if status == "ok" else None
        harmful += target is None
        if harmful > harms:
            break
        calls.append((symbol, status))
        state = target or state
    return calls


def check_bounds(scores, expected):
    """Assert that every score is exact, or has the exact one between its bounds."""
    for name in BOUNDED:
        found, exact = getattr(scores, name), expected[name]
        if name in scores.bounds:
            low, high = scores.bounds[name]
            assert low < high
            assert low - 1e-12 <= (exact or 0.0) <= high + 1e-12, name
            assert (found or 0.0) == low
        elif exact is None:
            assert found is None
        else:
            assert abs(found - exact) <= 1e-12, name
    assert scores.exact is (not scores.bounds)
