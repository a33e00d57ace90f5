"""Aligns a path with the orders of all parts of a set of symbols, none of which is listed.

A symbol may stand in the set several times. A golden path has `m` of the symbols. Of the `t` that the path
has too, each as often as both have it, it holds at most `min(t, m)`;
then the least edit distance to a path of `n` calls is `max(n, m) - min(t, m)`, by the construction of
`staged_alignment`, which leaves these symbols in the order of the calls. So the best golden path by edits is
also the best by order; but where it has a symbol more often than the path, the copy that is put in may stand
before the others, and then only bounds of the order are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core_eval.path.aligned import Aligned
from core_eval.path.body_rows import candidate_bodies
from core_eval.path.metrics import concordance, efficiency, similarity


def optional_correctness(stage: Sequence[int], path: Sequence[int]) -> float:
    """Return the path correctness of a path."""
    return _best(stage, path, len(stage))


def _best(stage: Sequence[int], path: Sequence[int], longest: int) -> float:
    """Return the path correctness by golden paths of at most this length."""
    edits = _edits(len(path), _shared(stage, path), longest)
    return max(similarity(len(path), length, each) for length, each in enumerate(edits))


def align_optional(
    stage: Sequence[int],
    ahead: Sequence[Sequence[int]],
    path: Sequence[int],
    repairs: Sequence[tuple[int, ...] | None],
    *,
    calls: int,
    lam: float,
    exact: bool,
) -> Aligned:
    """Align a condensed path with all golden paths; the other parameters are those of `align`.

    Args:
        stage: the symbols.
        ahead: those that are left at the end, in one tuple or none.
        exact: whether PC+HLR is computed; else it is bounded.
    """
    correctness = optional_correctness(stage, path)
    shared = _shared(stage, path)
    in_order = (1.0 - lam) * concordance(shared, 0)
    order = lam * _best(stage, path, shared + sum(symbol not in path for symbol in stage)) + in_order
    left = ahead[0] if ahead else ()
    low, high = _refined(left, path, repairs) if exact else _bounds(left, path, repairs)
    aligned = Aligned(correctness, order, low, efficiency(calls, (2 << len(stage)) - 1))
    aligned.bound("pc_ktc", order, lam * correctness + in_order)
    aligned.bound("path_correctness_hlr", low, high)
    return aligned


def _shared(stage: Sequence[int], path: Sequence[int]) -> int:
    return (Counter(stage) & Counter(path)).total()


def _edits(calls: int, shared: int, most: int) -> list[int]:
    """Return the least edits to a golden path of each length, from 0 to `most`."""
    return [max(calls, length) - min(shared, length) for length in range(most + 1)]


def _refined(
    left: Sequence[int], path: Sequence[int], repairs: Sequence[tuple[int, ...] | None]
) -> tuple[float, float]:
    """Return PC+HLR twice: bodies are aligned with each beginning of the path, suffixes with each rest."""
    calls, kept = len(path), repairs.count(None)
    rests = [_edits(calls - at, _shared(left, path[at:]), len(left)) for at in range(calls + 1)]
    best = max(
        similarity(calls, kept + more + suffix, min(row[at] + rests[at][suffix] for at in range(calls + 1)))
        for more, row in enumerate(candidate_bodies(path, repairs))
        for suffix in range(len(left) + 1)
    )
    return best, best


def _bounds(
    left: Sequence[int], path: Sequence[int], repairs: Sequence[tuple[int, ...] | None]
) -> tuple[float, float]:
    calls, kept = len(path), repairs.count(None)
    alien = sum(token < 0 for token in path)
    most = kept + sum(bool(repair) for repair in repairs) + len(left)
    lengths = range(kept, most + 1)
    high = max(similarity(calls, length, max(alien, abs(calls - length))) for length in lengths)
    return similarity(calls, kept, calls - kept), high
