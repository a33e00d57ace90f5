"""The scores that compare a path with the golden ones: PC, PC-KTC, PC+HLR and efficiency, with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from core_eval.path.edit_row import GraphRow, TreeRow
from core_eval.path.golden import GoldenGraph
from core_eval.path.metrics import concordance, efficiency
from core_eval.path.order import on_graph, on_tree
from core_eval.path.refinement import refine
from core_eval.path.suffix_graph import NO_SUFFIXES


@dataclass
class Aligned:
    """What aligning a path with the golden paths gives; `bounds` holds the scores that are not exact.

    A score that is not exact is given by its lower bound (efficiency None where that is 0).
    """

    path_correctness: float
    pc_ktc: float
    path_correctness_hlr: float
    efficiency: float | None
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)


def make_row(golden: GoldenGraph) -> TreeRow | GraphRow:
    """Return the empty path's row of alignment with the golden paths."""
    return GraphRow(golden.unfolded) if golden.tree is None else TreeRow(golden.tree)


def align(
    golden: GoldenGraph,
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
    spent = efficiency(calls, golden.whole_lengths)
    if is_golden and golden.acyclic:
        return Aligned(1.0, lam + (1.0 - lam) * concordance(len(path), 0), 1.0, spent)
    row = make_row(golden)
    for token in path:
        row.advance(token)
    correctness = row.best()
    if isinstance(row, TreeRow):
        assert golden.tree is not None
        order = most_in_order = on_tree(golden.tree, path, row.edits(), lam)
    else:
        order, most_in_order = on_graph(golden, path, row.edits(), lam)
    suffixes = golden.suffixes(end)
    refined, most_refined = refine(path, repairs, suffixes or NO_SUFFIXES)
    aligned = Aligned(correctness, order, refined, spent)
    if refined < most_refined:
        aligned.bounds["path_correctness_hlr"] = (refined, most_refined)
    if order < most_in_order:
        aligned.bounds["pc_ktc"] = (order, most_in_order)
    if golden.tree is not None and not golden.tree.complete:
        _add_bounds(aligned, golden, path, repairs, end, calls, lam)
    return aligned


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
        row = GraphRow(golden.unfolded)
        for token in path:
            row.advance(token)
        highest = row.best()
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
        if low < high:
            aligned.bounds[name] = (low, high)
