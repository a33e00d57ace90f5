"""The scores that compare a path with the golden ones: PC, PC-KTC, PC+HLR and efficiency, with bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core_eval.path.aligned import Aligned
from core_eval.path.automaton import TaskAutomaton, once_each
from core_eval.path.edit_row import GraphRow, TreeRow, tree_edits, tree_work
from core_eval.path.golden import UNFOLDED_EDGES, GoldenGraph, golden_graph
from core_eval.path.metrics import concordance, efficiency, similarity
from core_eval.path.order import on_graph, on_tree
from core_eval.path.refinement import refine
from core_eval.path.staged_alignment import GoldenStages, StagedRow, align_stages
from core_eval.path.suffix_graph import NO_SUFFIXES

WORK = 40_000_000
"""Beyond so many processed machine words (about two seconds) PC and PC-KTC on a tree are given as bounds."""
EDGE_WORK = 20_000_000
"""Beyond so many edges times calls (about two seconds) PC and PC-KTC on a graph are given as bounds."""


Golden = GoldenGraph | GoldenStages


@once_each
def golden_of(automaton: TaskAutomaton) -> Golden:
    """Return the compiled golden paths of an automaton; they are cached."""
    if automaton.stages is None:
        return golden_graph(automaton)
    return GoldenStages(automaton, automaton.stages)


def make_row(golden: Golden) -> TreeRow | GraphRow | StagedRow:
    """Return the empty path's row of alignment with the golden paths."""
    if isinstance(golden, GoldenStages):
        return StagedRow(golden)
    return GraphRow(golden.unfolded) if golden.tree is None else TreeRow(golden.tree)


def align(
    golden: Golden,
    path: Sequence[int],
    repairs: Sequence[tuple[int, ...] | None],
    end: str,
    *,
    calls: int,
    is_golden: bool,
    lam: float,
) -> Aligned:
    """Align a condensed path with all golden paths.

    `repairs` holds None for each progress call and the legal self-loops for each harmful one; `end` is
    the state at the end, `calls` the length of the raw path. `is_golden` says that the path was accepted
    without harm.
    """
    if isinstance(golden, GoldenStages):
        return align_stages(golden, path, repairs, end, calls=calls, lam=lam)
    spent = efficiency(calls, golden.whole_lengths)
    if is_golden and golden.acyclic:
        return Aligned(1.0, lam + (1.0 - lam) * concordance(len(path), 0), 1.0, spent)
    tree, calls_kept = golden.tree, len(path)
    if tree is not None and tree_work(tree, calls_kept) <= WORK:
        edits = tree_edits(tree, path)
        correctness = highest = max(similarity(calls_kept, depth, edits[node]) for node, depth in tree.leaves)
        order = most_in_order = on_tree(tree, path, edits, lam)
    elif tree is None and (row := _graph_row(golden, path)) is not None:
        correctness = highest = row.best()
        order, most_in_order = on_graph(golden, path, row.edits(), lam)
    else:
        correctness, highest = _rough_correctness(golden, path, repairs, end)
        order, most_in_order = lam * correctness, lam * highest + (1.0 - lam)
    suffixes = golden.suffixes(end)
    refined, most_refined = refine(path, repairs, suffixes or NO_SUFFIXES)
    aligned = Aligned(correctness, order, refined, spent)
    aligned.bound("path_correctness", correctness, highest)
    aligned.bound("path_correctness_hlr", refined, most_refined)
    aligned.bound("pc_ktc", order, most_in_order)
    if golden.tree is not None and not golden.tree.complete:
        _add_bounds(aligned, golden, path, repairs, end, calls, lam)
    return aligned


def _graph_row(golden: GoldenGraph, path: Sequence[int]) -> GraphRow | None:
    """Return the whole path's row of alignment with a graph; None where that takes more than EDGE_WORK."""
    if golden.unfolded.size * len(path) > EDGE_WORK or golden.unfolded.size > UNFOLDED_EDGES:
        return None
    row = GraphRow(golden.unfolded)
    for token in path:
        row.advance(token)
    return row


def _rough_correctness(
    golden: GoldenGraph, path: Sequence[int], repairs: Sequence[tuple[int, ...] | None], end: str
) -> tuple[float, float]:
    """Bound path correctness in the time of a look at each call and each length.

    No alignment costs more than the longer of the two, nor less than that without the calls that can have a
    partner. The path's own progress with the shortest suffix is a golden path: its harmful calls are left
    out, and the suffix is added.
    """
    calls = len(path)
    partners = sum(min(count, golden.most.get(token, 0)) for token, count in Counter(path).items())
    lengths = [length for length, bit in enumerate(reversed(f"{golden.lengths:b}")) if bit == "1"]
    low = max(similarity(calls, length, max(calls, length)) for length in lengths)
    high = max(
        similarity(calls, length, max(calls, length) - min(partners, length, calls)) for length in lengths
    )
    if golden.acyclic and end in golden.number:
        to_go, kept = golden.to_go[golden.number[end]], repairs.count(None)
        low = max(low, similarity(calls, kept + to_go, calls - kept + to_go))
    return low, high


def _add_bounds(
    aligned: Aligned,
    golden: GoldenGraph,
    path: Sequence[int],
    repairs: Sequence[tuple[int, ...] | None],
    end: str,
    calls: int,
    lam: float,
) -> None:
    """Bound the scores of a cyclic graph whose simple paths are too many.

    The shortest of them give lower bounds; all walks of the length of a simple path, which include them,
    give upper ones.
    """
    highest = highest_refined = 1.0
    if golden.walks_are_few:
        row = _graph_row(golden, path)
        highest = 1.0 if row is None else row.best()
        walks = golden.walks(end)
        highest_refined = max(refine(path, repairs, walks)[1], refine(path, repairs, NO_SUFFIXES)[1])
    suffixes = golden.suffixes(end)
    if suffixes is None and end in golden.number:
        aligned.path_correctness_hlr = 0.0
    elif suffixes is None:
        highest_refined = refine(path, repairs, NO_SUFFIXES)[1]
    most = efficiency(calls, golden.walk_lengths)
    intervals = {
        "path_correctness": (aligned.path_correctness, highest),
        "pc_ktc": (aligned.pc_ktc, lam * highest + (1.0 - lam)),
        "path_correctness_hlr": (aligned.path_correctness_hlr, highest_refined),
        "efficiency": (aligned.efficiency or 0.0, most or 0.0),
    }
    for name, (low, high) in intervals.items():
        aligned.bound(name, low, high)
