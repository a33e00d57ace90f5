"""Writes a task's automaton as Graphviz DOT, optionally with the path of a trace."""

from __future__ import annotations

from collections.abc import Iterable

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.report.pictures.automaton_layout import TracePath, drawable, edges_of
from core_eval.text.visible_text import visible

PATH_INK = "#1769aa"
HARM = "#c62828"
INK = "#37474f"
FAINT = "#78909c"


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def to_dot(automaton: TaskAutomaton, calls: Iterable[Call] = ()) -> str:
    """Return the automaton as Graphviz DOT, with the path of a trace if one is given."""
    path = TracePath.of(automaton, calls)
    automaton = drawable(automaton, path)
    lines = [
        "digraph task {",
        "  rankdir=LR;",
        f'  node [shape=circle, fontname="sans-serif", color="{INK}"];',
        f'  edge [fontname="sans-serif", fontsize=10, color="{INK}"];',
        "  start_ [shape=point];",
        f"  start_ -> {_quoted(automaton.start)};",
    ]
    for state in automaton.states:
        shape = "doublecircle" if state in automaton.accepting else "circle"
        colour = f', color="{PATH_INK}", penwidth=2' if state in path.visited else ""
        lines.append(f"  {_quoted(state)} [shape={shape}{colour}];")
    for edge, symbols in edges_of(automaton).items():
        taken = path.progress.get(edge)
        label = "\n".join(symbols) + (f"\ncall {_numbers(taken)}" if taken else "")
        style = f', color="{PATH_INK}", fontcolor="{PATH_INK}", penwidth=2' if taken else ""
        lines.append(f"  {_quoted(edge[0])} -> {_quoted(edge[1])} [label={_quoted(label)}{style}];")
    for state, loops in automaton.loops.items():
        if loops:
            made = [number for number, _ in path.loops.get(state, [])]
            label = "\n".join(loops) + (f"\ncall {_numbers(made)}" if made else "")
            colour = f', color="{PATH_INK}", fontcolor="{PATH_INK}"' if made else f', color="{FAINT}"'
            both = f"{_quoted(state)} -> {_quoted(state)}"
            lines.append(f"  {both} [label={_quoted(label)}, style=dotted{colour}];")
    for state, attempts in path.harmful.items():
        for number, name in attempts:
            lines.append(f'  "harm {number}" [shape=plaintext, label="x", fontcolor="{HARM}"];')
            label = _quoted(f"{number}: {name}")
            style = f'color="{HARM}", fontcolor="{HARM}", style=dashed'
            lines.append(f'  {_quoted(state)} -> "harm {number}" [label={label}, {style}];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    text = visible(text, "\n")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
