"""Draws a task's automaton from top to bottom, as narrow as a phone's screen, with the path of a trace.

Where a layer has one state, its calls are written out beside it. Where paths branch, edges bear letters and
states bear numbers; what they mean is the picture's key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, pairwise
from textwrap import wrap
from xml.sax.saxutils import escape

from core_eval.path.automaton import TaskAutomaton, once_each
from core_eval.path.calls import Call
from core_eval.report.pictures.automaton_layout import Edge, TracePath, arrange, drawable, edges_of
from core_eval.report.pictures.plot import text
from core_eval.report.pictures.standalone import standalone
from core_eval.text.visible_text import visible

WIDTH = 330.0
RADIUS = 14.0
COLUMN = 46.0
LINE, LETTER = 13.0, 6.1
TOP = 26.0
ALONG = (0.5, 0.36, 0.64, 0.25, 0.75, 0.15, 0.85)
"""Where on an edge its label may stand, if not at the best place."""
LONGEST_SYMBOL, LONGEST_NOTE_LINES = 90, 3
_ARROWS = "".join(
    f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    f'markerUnits="userSpaceOnUse" orient="auto"><path class="{name}-head" d="M0 0L8 4L0 8z"/></marker>'
    for name in ("edge", "taken", "wrong")
)


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line of the key: a mark in the picture, its meaning, and its kind (`taken`, `harmful`, `other`)."""

    mark: str
    words: str
    kind: str


@dataclass(frozen=True, slots=True)
class NarrowDrawing:
    """An automaton's picture, its width in pixels, its key, and the self-loops of every state."""

    svg: str
    width: float
    key: tuple[KeyLine, ...]
    everywhere: tuple[str, ...]


def narrow_drawing(automaton: TaskAutomaton, calls: Iterable[Call] = ()) -> NarrowDrawing:
    """Return the picture; it takes its colours from the page."""
    picture = _Picture(automaton, TracePath.of(automaton, calls))
    return NarrowDrawing(picture.svg()[0], picture.width, tuple(picture.key_lines()), picture.everywhere)


def to_svg(automaton: TaskAutomaton, calls: Iterable[Call] = ()) -> str:
    """Return the picture as an SVG file, with its key below it."""
    picture = _Picture(automaton, TracePath.of(automaton, calls))
    key = [f"{one.mark}  {one.words}" for one in picture.key_lines()]
    if picture.everywhere:
        key.append(f"in every state: {' '.join(f'↻ {symbol}' for symbol in picture.everywhere)}")
    room = int((picture.width - 24) / LETTER)
    svg, high = picture.svg([line for one in key for line in wrap(visible(one), room)])
    return standalone(svg, (picture.width, high))


class _Plan:
    """What the pictures of an automaton have in common, whatever path is drawn in them."""

    def __init__(self, automaton: TaskAutomaton) -> None:
        self.edges = edges = edges_of(automaton)
        self.leaving = Counter(source for source, _ in edges)
        self.entering = Counter(target for _, target in edges)
        loops = [set(automaton.loops[state]) for state in automaton.states]
        self.everywhere = tuple(
            symbol for symbol in automaton.loops[automaton.start] if all(symbol in own for own in loops)
        )
        symbols = dict.fromkeys(symbol for own in edges.values() for symbol in own)
        self.letters = {symbol: place for place, symbol in enumerate(symbols)}
        self.nodes = (automaton.start, *(state for state in automaton.states if state != automaton.start))
        plain = arrange(self.nodes, tuple(edges), COLUMN)
        self.backward, self.places = plain.backward, plain.places
        layers = Counter(x for x, _ in plain.places.values())
        self.alone = {state for state in self.nodes if layers[plain.places[state][0]] == 1}
        across = [y for _, y in plain.places.values()]
        across += [y for route in plain.routes.values() for _, y in route]
        # The room for words is to the right.
        shift = (24.0 if len(set(across)) > 1 else 30.0) - min(across)
        self.width = max(WIDTH, max(across) + shift + 24.0)
        self.x = {state: y + shift for state, (_, y) in plain.places.items()}
        self.routes = {
            edge: [(y + shift, layer) for layer, y in route] for edge, route in plain.routes.items()
        }
        self.layers = sorted({*layers, *(layer for route in plain.routes.values() for layer, _ in route)})
        self.in_words = {
            edge
            for edge in edges
            if edge not in self.backward and self.alone.issuperset(edge) and self.leaving[edge[0]] == 1
        }
        """The edges whose calls are written out: no other one leaves the same state."""


@once_each
def _plan_of(automaton: TaskAutomaton) -> _Plan:
    """Return the plan; the episodes of a task share it."""
    return _Plan(automaton)


class _Picture:
    def __init__(self, automaton: TaskAutomaton, path: TracePath) -> None:
        whole, automaton = automaton, drawable(automaton, path)
        self.is_part = automaton is not whole
        self.automaton, self.path = automaton, path
        self.plan = plan = _plan_of(automaton)
        self.edges, self.alone = plan.edges, plan.alone
        self.everywhere, self.width, self.x = plan.everywhere, plan.width, plan.x
        self.words = {state: self._words(state) for state in plan.nodes}
        self.labels = {edge: self._label(edge) for edge in self.edges}
        # Middles and widths of lines of text, by bands as high as a line: an automaton may have 1,000 edges.
        self.written: dict[int, list[tuple[float, float, float]]] = {}
        self.rows = self._rows()
        self.y = {state: self.rows[layer] for state, (layer, _) in plan.places.items()}

    def svg(self, below: Sequence[str] = ()) -> tuple[str, float]:
        """Return the picture with lines of text below it, and its height."""
        bottom = max(
            self.y[state] + max(RADIUS, LINE * len(self.words[state]) - RADIUS) for state in self.words
        )
        states = [part for state in self.words for part in self._state(state)]
        lines, labels = [], []
        for edge in sorted(self.edges, key=self.path.progress.__contains__):
            line, label = self._edge(edge)
            lines.append(line)
            labels += label
        # Labels are drawn last, so that no line crosses one.
        written = [text(12, bottom + 14 + LINE * k, line, "", "start") for k, line in enumerate(below, 1)]
        high = bottom + 14 + (LINE * len(below) + 8 if below else 0)
        size = f'viewBox="0 0 {self.width:.0f} {high:.0f}"'
        kind = "way-down" if self.width <= WIDTH else "way-down wide"
        head = f'<svg class="{kind}" {size} role="img" aria-label="automaton with the path of the episode">'
        return "".join([head, f"<defs>{_ARROWS}</defs>", *lines, *states, *labels, *written, "</svg>"]), high

    def _rows(self) -> dict[int, float]:
        """Return the height of each layer."""
        states: dict[int, list[str]] = {}
        for state, (layer, _) in self.plan.places.items():
            states.setdefault(layer, []).append(state)
        labels = dict.fromkeys(self.words, 0.0)
        for edge, lines in self.labels.items():
            labels[edge[0]] = max(labels[edge[0]], LINE * len(lines))
        rows, y = {}, TOP
        for layer in self.plan.layers:
            rows[layer] = y
            below = 2 * RADIUS + (26.0 if len(self.alone) == len(self.words) else 34.0)
            for state in states.get(layer, ()):
                own = RADIUS + LINE * len(self.words[state]) if state in self.alone else 2 * RADIUS + LINE
                below = max(below, own + labels[state] + RADIUS + 14.0)
            y += below
        return rows

    def _words(self, state: str) -> list[tuple[str, str]]:
        """Return the lines beside a state that is alone in its layer: its self-loops and harmful attempts."""
        if state not in self.alone:
            return []
        made = _by_name(self.path.loops.get(state, []))
        notes = [
            (numbers[0], f"↻ {_numbers(numbers)}: {symbol}", "taken") for symbol, numbers in made.items()
        ]
        notes += [
            (numbers[0], f"✗ {_numbers(numbers)}: {name}", "harmful")
            for name, numbers in _by_name(self.path.harmful.get(state, [])).items()
        ]
        lines: list[tuple[str, str]] = []
        for symbol in self.automaton.loops[state]:
            if symbol not in made and symbol not in self.everywhere:
                lines += self._fold(state, f"↻ {symbol}", "other")
        for _, words, kind in sorted(notes):
            lines += self._fold(state, words, kind)
        return lines

    def _label(self, edge: Edge) -> list[str]:
        """Return the lines beside an edge: calls in words where there is room, else their letters."""
        symbols, taken = self.edges[edge], self.path.progress.get(edge)
        if edge not in self.plan.in_words:
            letters = _letters(sorted(self.plan.letters[symbol] for symbol in symbols))
            return [letters + (f" {_numbers(taken)}" if taken else "")]
        said = " or ".join(symbols)
        return [line for line, _ in self._fold(edge[0], f"{_numbers(taken)}: {said}" if taken else said, "")]

    def _fold(self, state: str, words: str, kind: str) -> list[tuple[str, str]]:
        room = max(18, int((self.width - self.x[state] - RADIUS - 12) / LETTER))
        return [(line, kind) for line in _folded(words, room)]

    def _edge(self, edge: Edge) -> tuple[str, list[str]]:
        plan = self.plan
        x0, y0, x1, y1 = self.x[edge[0]], self.y[edge[0]], self.x[edge[1]], self.y[edge[1]]
        taken = edge in self.path.progress
        kind = "taken" if taken else "edge"
        tried: Iterator[tuple[float, float]]
        if edge in plan.backward:
            side = 6.0
            path = f"M{x0 - RADIUS:.1f} {y0:.1f}C{side} {y0:.1f} {side} {y1:.1f} {x1 - RADIUS:.1f} {y1:.1f}"
            tried = iter([(side + 10.0, (y0 + y1) / 2)])
        else:
            # Ways part below the words beside a state, so that no line crosses them.
            low = y0 + max(RADIUS, LINE * len(self.words[edge[0]]) - 6)
            stops = [(x0, low), *((x, self.rows[layer]) for x, layer in plan.routes[edge]), (x1, y1 - RADIUS)]
            path = f"M{x0:.1f} {y0 + RADIUS:.1f}V{low:.1f}"
            for (ax, ay), (bx, by) in pairwise(stops):
                half = (by - ay) / 2
                path += f"C{ax:.1f} {ay + half:.1f} {bx:.1f} {by - half:.1f} {bx:.1f} {by:.1f}"
            # On the curve, not in its middle, where edges cross: after it, where edges part from one state.
            fans = plan.leaving[edge[0]] > plan.entering[edge[1]]
            best = 0.64 if fans else 0.5 if abs(stops[0][0] - stops[1][0]) <= 1 else 0.36
            tried = (_on_curve(stops[0], stops[1], part) for part in (best, *ALONG))
        line = f'<path class="{kind}" d="{path}" marker-end="url(#{kind})"/>'
        if edge in plan.in_words:
            top = (
                (y0 + RADIUS if not self.words[edge[0]] else y0 + LINE * len(self.words[edge[0]])) + LINE + 3
            )
            return line, [
                text(x0 + 10, top + LINE * row, words, f"{kind}-text", "start")
                for row, words in enumerate(self.labels[edge])
            ]
        words = self.labels[edge][0]
        wide = LETTER * len(words)
        first = next(tried)
        at = next((one for one in chain([first], tried) if self._is_free(one, wide)), first)
        self._note(*at, wide)
        half = wide / 2
        behind = f'x="{at[0] - half:.1f}" y="{at[1] - 7:.1f}" width="{2 * half:.1f}" height="14"'
        return line, [
            f'<rect class="behind" {behind}/>',
            text(at[0], at[1] + 4, words, f"{kind}-text halo", "middle"),
        ]

    def _is_free(self, at: tuple[float, float], wide: float) -> bool:
        """Return whether a line of text with its middle there is over no other one of an edge or state."""
        band = int(at[1] // LINE)
        return all(
            abs(at[0] - x) > (wide + other) / 2 or abs(at[1] - y) >= LINE
            for near in (band - 1, band, band + 1)
            for x, y, other in self.written.get(near, ())
        )

    def _note(self, x: float, y: float, wide: float) -> None:
        self.written.setdefault(int(y // LINE), []).append((x, y, wide))

    def _state(self, state: str) -> list[str]:
        x, y = self.x[state], self.y[state]
        visited = self.path.begun and state in self.path.visited
        kind = "state" + (" visited" if visited else "")
        if self.path.begun and state == self.path.end:
            kind += " end" if state in self.automaton.accepting else " end short"
        parts = [f"<g><title>{escape(visible(state))}</title>"]
        if state == self.automaton.start:
            parts.append(
                f'<path class="edge" d="M{x:.1f} {y - RADIUS - 11:.1f}v10" marker-end="url(#edge)"/>'
            )
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>')
        if state in self.automaton.accepting:
            parts.append(f'<circle class="{kind} inner" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS - 2.5}"/>')
        short = visible(state) if len(state) <= 4 else visible(state)[:3] + "…"
        parts.append(text(x, y + 4, short, "state-text", "middle"))
        attempts = [number for number, _ in self.path.harmful.get(state, [])]
        loops = [number for number, _ in self.path.loops.get(state, [])]
        if state in self.alone:
            first = y + 4 if len(self.words[state]) == 1 or state == self.path.end else y - 2
            for row, (words, of) in enumerate(self.words[state]):
                parts.append(text(x + RADIUS + 7, first + LINE * row, words, f"{of}-text", "start"))
        elif attempts:
            # The key has the words.
            parts.append(self._below(x, y, f"✗ {_few(attempts)}", "harmful-text halo"))
        elif loops:
            parts.append(self._below(x, y, f"↻ {_few(loops)}", "taken-text halo"))
        return [*parts, "</g>"]

    def _below(self, x: float, y: float, words: str, kind: str) -> str:
        """Return a text below a state, within the picture."""
        half = LETTER * len(words) / 2 + 2
        inside = min(max(x, half), self.width - half)
        self._note(inside, y + RADIUS + 8, 2 * half)
        return text(inside, y + RADIUS + 12, words, kind, "middle")

    def key_lines(self) -> Iterable[KeyLine]:
        if self.is_part:
            yield KeyLine("…", "of many ways, the one taken, and one on to the end", "other")
        in_words = {symbol for edge in self.plan.in_words for symbol in self.edges[edge]}
        lettered = {
            symbol for edge, own in self.edges.items() if edge not in self.plan.in_words for symbol in own
        }
        taken: dict[str, list[int]] = {}
        for edge, numbers in self.path.progress.items():
            for symbol in self.edges[edge]:
                taken.setdefault(symbol, []).extend(numbers)
        for symbol, place in self.plan.letters.items():
            if symbol in lettered:
                kind = "taken" if symbol in taken and symbol not in in_words else "other"
                yield KeyLine(_letter(place), symbol, kind)
        for state in self.words:
            if state not in self.alone:
                for name, numbers in _by_name(self.path.harmful.get(state, [])).items():
                    yield KeyLine(f"✗ {_numbers(numbers)}", f"{name}, in state {state}", "harmful")
                for name, numbers in _by_name(self.path.loops.get(state, [])).items():
                    yield KeyLine(f"↻ {_numbers(numbers)}", f"{name}, in state {state}", "taken")


def _on_curve(start: tuple[float, float], end: tuple[float, float], part: float) -> tuple[float, float]:
    """Return the point of an edge's Bezier curve at that parameter, 0 to 1."""
    across, down = part**2 * (3 - 2 * part), 1.5 * part * (1 - part) + part**3
    return start[0] + across * (end[0] - start[0]), start[1] + down * (end[1] - start[1])


@lru_cache(4096)
def _folded(words: str, room: int) -> tuple[str, ...]:
    """Return the lines of a note; the episodes of a task have many in common."""
    lines = wrap(_cut(visible(words)), room, break_long_words=True)[:LONGEST_NOTE_LINES]
    return tuple(line if not place else f"  {line}" for place, line in enumerate(lines))


def _by_name(calls: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Return the numbers of equal calls by what is written of them, in the order of the first of each."""
    found: dict[str, list[int]] = {}
    for number, name in calls:
        found.setdefault(name, []).append(number)
    return found


def _letter(place: int) -> str:
    """Return A to Z, then A1 and so on."""
    return f"{chr(65 + place % 26)}{place // 26 or ''}"


def _letters(places: Sequence[int]) -> str:
    """Return the letters of rising places, A-E for three and more in a row."""
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ",".join(
        f"{_letter(run[0])}-{_letter(run[-1])}" if len(run) > 2 else ",".join(map(_letter, run))
        for run in runs
    )


def _numbers(numbers: Sequence[int] | None) -> str:
    shown = ", ".join(map(str, islice(numbers or (), 6)))
    return shown + ("…" if len(numbers or ()) > 6 else "")


def _few(numbers: Sequence[int]) -> str:
    """Return numbers as text that is no wider than a column; the key has all of them."""
    rising = list(range(numbers[0], numbers[-1] + 1)) == list(numbers)
    words = f"{numbers[0]}-{numbers[-1]}" if rising and len(numbers) > 2 else _numbers(numbers)
    return words if LETTER * (len(words) + 2) <= COLUMN else f"{numbers[0]}…"


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_SYMBOL else words[: LONGEST_SYMBOL - 1] + "…"
