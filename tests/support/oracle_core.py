"""A brute-force scorer, written from the formulas of CORE alone: listing all paths and candidates.

It shares no code with `core_eval.path`: tasks are plain dictionaries, calls `(symbol or None, status)`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product


@dataclass
class OracleTask:
    """`delta` maps (state, symbol) to a state; `alphabet` lists all symbols."""

    start: str
    accepting: set
    delta: dict
    alphabet: list

    def golden(self):
        """List `(tokens, states)` of all loop-free accepting paths over progress edges."""
        found = []

        def walk(tokens, states):
            if states[-1] in self.accepting:
                found.append((tuple(tokens), tuple(states)))
            for symbol in self.alphabet:
                target = self.delta.get((states[-1], symbol))
                if target is not None and target not in states:
                    walk([*tokens, symbol], [*states, target])

        walk([], [self.start])
        return found


def levenshtein(left, right):
    """Give the edit distance by the textbook recurrence."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) + 1):
        for j in range(len(right) + 1):
            if i == 0 or j == 0:
                table[i][j] = i + j
            else:
                table[i][j] = min(
                    table[i - 1][j] + 1,
                    table[i][j - 1] + 1,
                    table[i - 1][j - 1] + (left[i - 1] != right[j - 1]),
                )
    return table[-1][-1]


def correctness(left, right):
    distance = levenshtein(left, right)
    total = len(left) + len(right) + distance
    return 1.0 if total == 0 else 1.0 - 2.0 * distance / total


def tau_plus(path, golden):
    """Pair tokens by occurrence, take the golden places in path order, and compare all pairs."""
    seen, places = Counter(), {}
    for place, token in enumerate(golden):
        places[token, seen[token]] = place
        seen[token] += 1
    seen, ranks = Counter(), []
    for token in path:
        if (token, seen[token]) in places:
            ranks.append(places[token, seen[token]])
        seen[token] += 1
    if len(ranks) < 2:
        return 0.5
    signs = [1 if a < b else -1 for a, b in combinations(ranks, 2)]
    return (1.0 + sum(signs) / len(signs)) / 2.0


def oracle_scores(task, calls, beta=0.5, lam=0.5, faults_are_harm=False):
    """Give the scores of a path of `(symbol or None, status)` under the names of the scores file."""
    raw = [call for call in calls if faults_are_harm or call[1] != "fault"]
    state, path, mask, issued = task.start, [], [], []
    for place, (symbol, status) in enumerate(raw):
        target = task.delta.get((state, symbol)) if status == "ok" and symbol is not None else None
        if target == state:
            continue
        issued.append(state)
        own = status != "ok" or symbol is None
        path.append(("own", place) if own else symbol)
        mask.append(target is None)
        if target is not None:
            state = target
    golden = task.golden()
    n, size = len(raw), len(path)
    lengths = [len(tokens) for tokens, _ in golden if len(tokens) <= n]
    weights = sum(beta**k for k in range(size))
    choices = []
    for token, harmful, where in zip(path, mask, issued, strict=True):
        if harmful:
            legal = [symbol for symbol in task.alphabet if task.delta.get((where, symbol)) == where]
            choices.append([(), *((symbol,) for symbol in legal)])
        else:
            choices.append([(token,)])
    suffixes = {tokens[states.index(state) :] for tokens, states in golden if state in states} or {()}
    bodies = {sum(choice, ()) for choice in product(*choices)}
    return {
        "path_correctness": max(correctness(path, tokens) for tokens, _ in golden),
        "pc_ktc": max(lam * correctness(path, g) + (1 - lam) * tau_plus(path, g) for g, _ in golden),
        "prefix_criticality": 1.0 - sum(m * beta**k for k, m in enumerate(mask)) / weights if size else 1.0,
        "harmful_calls": sum(mask),
        "harmful_call_rate": sum(mask) / size if size else 0.0,
        "efficiency": (max(lengths) / n if n else 1.0) if lengths else None,
        "path_correctness_hlr": max(
            correctness(path, body + suffix) for body in bodies for suffix in suffixes
        ),
        "accepted": state in task.accepting,
    }
