"""Draws a task's automaton as Graphviz DOT or SVG, optionally with the path of a trace.

Progress edges are lines, self-loops are listed under their state (those that every state has, once below the
picture), and the path of the trace has its own colour, with the number of each call. Harmful attempts are
attached to the state in which they were made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from xml.sax.saxutils import escape

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.report.pictures.automaton_layout import Edge, Layout, arrange
from core_eval.report.pictures.automaton_trace import TracePath
from core_eval.text.visible_text import visible

PATH_INK = "#1769aa"
HARM = "#c62828"
INK = "#37474f"
FAINT = "#78909c"
PAPER = "#ffffff"
_RADIUS = 20.0
_LETTER = 6.3
_LONGEST_LABEL = 44
_LONGEST_NOTE = 34
_MARGIN = 60.0
_LINE = 13.0
_LABEL_X, _LABEL_Y = 0.384, 0.282
"""The label's position on a bent edge, as shares of its width and height."""
_MARKER = (
    '<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
)


def _edges(automaton: TaskAutomaton) -> dict[Edge, list[str]]:
    """Return the progress edges; symbols between the same two states are grouped."""
    edges: dict[Edge, list[str]] = {}
    for source, out in automaton.progress.items():
        for symbol, target in out:
            edges.setdefault((source, target), []).append(symbol)
    return edges


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def to_dot(automaton: TaskAutomaton, calls: Iterable[Call] = ()) -> str:
    """Return the automaton as Graphviz DOT, with the path of a trace if one is given."""
    path = TracePath.of(automaton, calls)
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
    for edge, symbols in _edges(automaton).items():
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


def to_svg(automaton: TaskAutomaton, calls: Iterable[Call] = ()) -> str:
    """Return the automaton as an SVG picture, with the path of a trace if one is given."""
    path = TracePath.of(automaton, calls)
    edges = _edges(automaton)
    everywhere = _everywhere(automaton)
    labels = {edge: _edge_lines(symbols, path.progress.get(edge)) for edge, symbols in edges.items()}
    notes = {state: _notes(automaton, path, state, everywhere) for state in automaton.states}
    nodes = [automaton.start, *(state for state in automaton.states if state != automaton.start)]
    widths = {state: _wide(line for line, _ in notes[state]) for state in nodes}
    layout = arrange(
        nodes,
        list(edges),
        gaps=_gaps(labels, widths),
        heights={state: 2 * _RADIUS + 36 + _LINE * max(len(notes[state]), 2) for state in nodes},
        margin=_MARGIN,
        widths=widths,
    )
    layout = _cropped(layout, labels, notes)
    legend = _legend(everywhere, layout.width)
    size = f"{layout.width:.0f}", f"{layout.height + (_LINE + 2) * len(legend):.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" '
        f'width="{size[0]}" height="{size[1]}" font-family="sans-serif" font-size="11">',
        "<defs>",
        *(_MARKER.format(name=name, colour=colour) for name, colour in (("ink", INK), ("trace", PATH_INK))),
        "</defs>",
        f'<rect width="{size[0]}" height="{size[1]}" fill="{PAPER}"/>',
    ]
    drawn = [
        _svg_edge(edge, labels[edge], layout, taken=edge in path.progress)
        for edge in sorted(edges, key=path.progress.__contains__)
    ]
    # Labels are drawn last, so that no line crosses one.
    parts += [line for line, _ in drawn]
    parts += [text for _, texts in drawn for text in texts]
    for state in nodes:
        visited = path.begun and state in path.visited
        parts += _svg_state(automaton, state, notes[state], layout, visited=visited)
    for row, line in enumerate(legend):
        parts.append(_text(12, layout.height + (_LINE + 2) * row, line, FAINT, anchor="start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _everywhere(automaton: TaskAutomaton) -> tuple[str, ...]:
    """Return the symbols that are a self-loop in every state."""
    loops = [automaton.loops[state] for state in automaton.states]
    return tuple(symbol for symbol in loops[0] if all(symbol in others for others in loops))


def _gaps(labels: Mapping[Edge, list[str]], widths: Mapping[str, float]) -> dict[Edge, float]:
    """Return the space between layers that each edge's label needs.

    Where edges diverge or meet they are bent, and their labels must clear the notes of adjacent states.
    """
    sources, targets = Counter(edge[0] for edge in labels), Counter(edge[1] for edge in labels)
    gaps = {}
    for edge, lines in labels.items():
        label = _wide(lines)
        gaps[edge] = label + 2 * _RADIUS + 24
        if sources[edge[0]] > 1 or targets[edge[1]] > 1:
            beside = max(widths[edge[0]], 2 * _RADIUS)
            gaps[edge] = max(gaps[edge], (label + beside) / 2 / _LABEL_X)
    return gaps


def _cropped(
    layout: Layout, labels: Mapping[Edge, list[str]], notes: Mapping[str, list[tuple[str, str]]]
) -> Layout:
    """Crop the empty margin above and below."""
    passed = [y for route in layout.routes.values() for _, y in route]
    most_lines = max((len(lines) for lines in labels.values()), default=0)
    top = min([y for _, y in layout.places.values()] + passed) - max(_RADIUS + 8, 14 + 12 * most_lines)
    ends = [layout.places[state][1] + _RADIUS + _LINE * len(lines) for state, lines in notes.items()]
    bottom = layout.height if layout.backward else max(ends + passed) + 24
    return Layout(
        places={state: (x, y - top) for state, (x, y) in layout.places.items()},
        routes={edge: tuple((x, y - top) for x, y in route) for edge, route in layout.routes.items()},
        backward=layout.backward,
        width=layout.width,
        height=bottom - top,
    )


def _legend(everywhere: Iterable[str], width: float) -> list[str]:
    """Return the lines that name the self-loops of every state."""
    lines: list[str] = []
    line = "in every state:"
    for symbol in everywhere:
        item = f" \u21bb {_cut(symbol)}"
        if _wide([line + item]) > width - 24:
            lines.append(line)
            line = ""
        line += item
    return [*lines, line] if everywhere else []


def _wide(lines: Iterable[str]) -> float:
    return _LETTER * max(map(len, lines), default=0)


def _cut(text: str, longest: int = _LONGEST_LABEL) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _edge_lines(symbols: list[str], taken: list[int] | None) -> list[str]:
    return [*map(_cut, symbols), *([f"call {_numbers(taken)}"] if taken else [])]


def _notes(
    automaton: TaskAutomaton, path: TracePath, state: str, everywhere: Collection[str]
) -> list[tuple[str, str]]:
    """Return the lines under a state: its own self-loops, the self-loops taken, and harmful attempts."""
    made: dict[str, list[int]] = {}
    for number, symbol in path.loops.get(state, []):
        made.setdefault(symbol, []).append(number)
    lines = []
    for symbol in automaton.loops[state]:
        calls = f": call {_numbers(made[symbol])}" if symbol in made else ""
        if calls or symbol not in everywhere:
            lines.append((f"\u21bb {_cut(symbol)}{calls}", PATH_INK if symbol in made else FAINT))
    attempts = path.harmful.get(state, [])
    return lines + [(f"\u2717 {number}: {_cut(name, _LONGEST_NOTE)}", HARM) for number, name in attempts]


def _svg_edge(edge: Edge, lines: list[str], layout: Layout, *, taken: bool) -> tuple[str, list[str]]:
    """Return the line and its label."""
    (x0, y0), (x1, y1) = layout.places[edge[0]], layout.places[edge[1]]
    colour, marker, width = (PATH_INK, "trace", 2.5) if taken else (INK, "ink", 1.2)
    if edge in layout.backward:
        low = layout.height - 24
        start, end = y0 + _RADIUS, y1 + _RADIUS
        path = f"M{x0:.1f} {start:.1f}C{x0:.1f} {low:.1f} {x1:.1f} {low:.1f} {x1:.1f} {end:.1f}"
        middle = ((x0 + x1) / 2, (y0 + y1) / 8 + low * 3 / 4)
    else:
        stops = [(x0 + _RADIUS, y0), *layout.routes[edge], (x1 - _RADIUS, y1)]
        path = f"M{stops[0][0]:.1f} {stops[0][1]:.1f}"
        for (ax, ay), (bx, by) in pairwise(stops):
            bend = (bx - ax) / 2
            path += f"C{ax + bend:.1f} {ay:.1f} {bx - bend:.1f} {by:.1f} {bx:.1f} {by:.1f}"
        (ax, ay), (bx, by) = stops[0], stops[1]
        # The label is before the middle of a bent curve, so that labels of two crossing edges do not overlap.
        at = (0.5, 0.5) if abs(ay - by) < 1 else (_LABEL_X, _LABEL_Y)
        middle = (ax + at[0] * (bx - ax), ay + at[1] * (by - ay))
    stroke = f'fill="none" stroke="{colour}" stroke-width="{width}" marker-end="url(#{marker})"'
    top = middle[1] - 5 - 12 * (len(lines) - 1)
    texts = [_text(middle[0], top + 12 * row, line, colour, halo=True) for row, line in enumerate(lines)]
    return f'<path d="{path}" {stroke}/>', texts


def _svg_state(
    automaton: TaskAutomaton, state: str, notes: list[tuple[str, str]], layout: Layout, *, visited: bool
) -> list[str]:
    x, y = layout.places[state]
    colour, width = (PATH_INK, 2.5) if visited else (INK, 1.2)
    parts = [f"<g><title>{escape(visible(state))}</title>"]
    if state == automaton.start:
        into = f"M{x - _RADIUS - 22:.1f} {y:.1f}H{x - _RADIUS:.1f}"
        parts.append(f'<path d="{into}" stroke="{INK}" marker-end="url(#ink)"/>')
    rings = [(_RADIUS, PAPER, width)]
    if state in automaton.accepting:
        rings.append((_RADIUS - 4, "none", 1.0))
    for radius, fill, stroke in rings:
        circle = f'cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"'
        parts.append(f'<circle {circle} stroke="{colour}" stroke-width="{stroke}"/>')
    parts.append(_text(x, y + 4, state if len(state) <= 6 else state[:5] + "…", colour))
    for row, (line, line_colour) in enumerate(notes, 1):
        parts.append(_text(x, y + _RADIUS + _LINE * row, line, line_colour, halo=True))
    return [*parts, "</g>"]


def _text(x: float, y: float, text: str, colour: str, *, halo: bool = False, anchor: str = "middle") -> str:
    around = f' stroke="{PAPER}" stroke-width="4" paint-order="stroke"' if halo else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}"{around}>{escape(visible(text))}</text>'
