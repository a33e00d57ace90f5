"""Compiles a task's automaton into the table of the guard on a device's chip (docs: the firmware).

Each argument of a call becomes one byte, its cell. A number falls between two cuts, which are decimals: a
number that is written as the shortest text of its double compares with them as the double does. A text is a
word of the table. A symbol is a range of cells for each argument, and a disc where two numbers bound one
distance. The core that decides by the table is `guard/guard.c`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from core_eval.path.patterns import Anything, Exact, Near, Pattern, Range
from core_eval.path.symbols import ANY_ARGUMENTS, ROUNDING, Symbol, most_specific_first
from core_eval.text.values import is_number
from devices.registry import shipped_tools

if TYPE_CHECKING:
    from core_eval.path import TaskAutomaton
    from devices.device_type import DeviceType
    from devices.tool import Tool

VERSION = 2
MOST_BYTES = 1056
"""Size of the longest table: the rover's board has 2 kB for its stack then."""
MOST_STATES = 255
MOST_SYMBOLS = 254
MOST_CUTS = 250
MOST_RADIUS = 2.1
"""Largest tolerance of two numbers that bound one distance: it has 31 bits in 1e-9."""
BLOCKS = 0x01
MOST_ARGUMENTS = 8
READS, PASSES, TOOL_SHIFT, MOST_TOOLS = 0x01, 0x02, 3, 31
EACH, MOST_DISCS, MOST_ENTRIES = 0x01, 127, 255
MISSING, OTHER, FIRST_CELL, LAST_CELL = 0, 1, 2, 255
STAYS = 0xFF
STEPS = 0x80
"""Of a run of symbols: each leads one state further than the one before it."""
MOST_RUN = 0x7F
NUMBERS, WORDS = 0, 1
ABOVE_ZERO, POWER_ZERO, MOST_POWER = 0x80, 0x40, 62


class ChipMode(StrEnum):
    """How the guard on the chip treats harmful calls."""

    OBSERVE = "observe"
    """It counts them."""
    BLOCK = "block"
    """It rejects them, but for those towards the safe state."""


class GuardTableError(ValueError):
    """A task that the chip's guard cannot hold; the text is one line that says why."""


@dataclass(frozen=True)
class GuardTable:
    """A task's table.

    Attributes:
        data: as the chip reads it.
        states: the automaton's states by the chip's numbers.
    """

    data: bytes
    states: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its CRC-32 in hexadecimal, by which the chip names the table that it holds."""
        return f"{zlib.crc32(self.data):08X}"


Cut = tuple[Decimal, int]
"""A number, and 1 where it lies below the cut too, 0 where above."""


@dataclass
class _Argument:
    """An argument of a tool, by whose cells symbols differ."""

    place: int
    cuts: list[Cut] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def take(self, pattern: Pattern) -> None:
        if isinstance(pattern, Exact) and isinstance(pattern.value, str):
            if pattern.value not in self.words:
                self.words.append(pattern.value)
        else:
            self.cuts += (cut for cut in _cuts(pattern) if cut is not None)

    def close(self) -> None:
        if self.words and self.cuts:
            raise GuardTableError("one argument is both text and a number")
        if len(self.words) > MOST_CUTS:
            raise GuardTableError(f"an argument has {len(self.words)} words; there is room for {MOST_CUTS}")
        self.cuts = sorted(set(self.cuts))
        if len(self.cuts) > MOST_CUTS:
            raise GuardTableError(f"an argument has {len(self.cuts)} limits; there is room for {MOST_CUTS}")

    def cells(self, pattern: Pattern | None) -> tuple[int, int]:
        """Return the first and the last cell that fit a pattern; None: the argument must be missing."""
        if pattern is None:
            return MISSING, MISSING
        if isinstance(pattern, Anything):
            return (MISSING if pattern.may_be_missing else OTHER), LAST_CELL
        if isinstance(pattern, Exact) and isinstance(pattern.value, str):
            word = FIRST_CELL + self.words.index(pattern.value)
            return word, word
        low, high = _cuts(pattern)
        first = FIRST_CELL + (0 if low is None else self.cuts.index(low) + 1)
        last = FIRST_CELL + (len(self.cuts) if high is None else self.cuts.index(high))
        return first, last

    def written(self) -> bytes:
        if self.words:
            body = bytes([self.place << 1 | WORDS, len(self.words)]) + b"".join(
                map(_written_word, self.words)
            )
        else:
            keys = [_key(value) for value, _ in self.cuts]
            size = max(map(len, keys), default=0)
            body = bytes([self.place << 1 | NUMBERS, len(keys), size])
            body += b"".join(key + _rest(key) * (size - len(key)) for key in keys)
            sides = sum((1 - side) << place for place, (_, side) in enumerate(self.cuts))
            body += sides.to_bytes((len(keys) + 7) // 8, "little")
        return (len(body) + 2).to_bytes(2, "little") + body


def _cuts(pattern: Pattern) -> tuple[Cut | None, Cut | None]:
    """Return the cuts below and above the numbers that fit; None: there is no such limit."""
    if isinstance(pattern, Exact) and is_number(pattern.value):
        low = high = pattern.value
    elif isinstance(pattern, Near | Range):
        low, high = pattern.span
    else:
        raise GuardTableError(f"the pattern {pattern.plain()} is neither a range of numbers nor a text")
    return (
        None if low == -math.inf else _shortest(low, 0, -math.inf),
        None if high == math.inf else _shortest(high, 1, math.inf),
    )


def _shortest(limit: float, side: int, away: float) -> Cut:
    """Return the cut beside a limit that has the fewest digits: between it and the next double away."""
    here, there = (Decimal(repr(value)) for value in (limit, math.nextafter(limit, away)))
    if len(there.normalize().as_tuple().digits) < len(here.normalize().as_tuple().digits):
        return there, 1 - side
    return here, side


def _key(value: Decimal) -> bytes:
    """Return bytes that compare as numbers do: the power of ten of 0.DIGITS with the sign, and the digits.

    There are two digits a byte; all bits are inverted where it is negative. Bytes that the chip adds are left
    out at the end.
    """
    if not value:
        return bytes([ABOVE_ZERO])
    sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(digits)
    if abs(power) >= MOST_POWER:
        raise GuardTableError(f"the limit {value} is too large or too small")
    padded = (*digits, 0)[: len(digits) + len(digits) % 2]
    packed = bytes(padded[at] << 4 | padded[at + 1] for at in range(0, len(padded), 2))
    return bytes(byte ^ 0xFF * sign for byte in (ABOVE_ZERO + POWER_ZERO + power, *packed))


def _rest(key: bytes) -> bytes:
    """Return the byte with which a key goes on."""
    return b"\0" if key[0] & ABOVE_ZERO else b"\xff"


def _written_word(word: str) -> bytes:
    text = word.encode()
    if len(text) > 255:
        raise GuardTableError(f"the text {word[:20]!r}... has {len(text)} bytes; there is room for 255")
    return bytes([len(text)]) + text


@dataclass(frozen=True)
class _ChipSymbol:
    """A symbol as the chip knows it: for each argument the cells that fit, and the disc, if any."""

    name: str
    cells: tuple[tuple[int, int], ...]
    disc: int | None

    def overlaps(self, other: _ChipSymbol) -> bool:
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(self.cells, other.cells, strict=True))


class _ToolTable:
    """The symbols of one tool, by which a call of it finds its own."""

    def __init__(self, symbols: Sequence[Symbol], names: Sequence[str]) -> None:
        used = {
            name
            for symbol in symbols
            for name, pattern in symbol.arguments.items()
            if name != ANY_ARGUMENTS and not (isinstance(pattern, Anything) and pattern.may_be_missing)
        }
        if any(not symbol.arguments for symbol in symbols):
            used |= set(names)
        self.arguments = {name: _Argument(place) for place, name in enumerate(names) if name in used}
        if unknown := used - set(names):
            raise GuardTableError(f"the device has no argument {min(unknown)!r}")
        self.discs: list[tuple[int, int, bytes]] = []
        for symbol in symbols:
            for name, pattern in symbol.arguments.items():
                if name in self.arguments and not isinstance(pattern, Anything):
                    self.arguments[name].take(pattern)
        for argument in self.arguments.values():
            argument.close()
        self.symbols = [self._symbol(symbol) for symbol in symbols]
        # The most specific comes first. Where no two overlap, in the order of their cells: runs are longer.
        if not any(one.overlaps(other) for one, other in combinations(self.symbols, 2)):
            self.symbols.sort(key=lambda symbol: symbol.cells)

    def _symbol(self, symbol: Symbol) -> _ChipSymbol:
        exact = ANY_ARGUMENTS not in symbol.arguments and not symbol.arguments
        free: Pattern | None = None if exact else Anything()
        cells = tuple(
            argument.cells(symbol.arguments.get(name, free)) for name, argument in self.arguments.items()
        )
        return _ChipSymbol(symbol.name, cells, self._disc(symbol))

    def _disc(self, symbol: Symbol) -> int | None:
        axes = [
            (place, pattern)
            for place, name in enumerate(self.arguments)
            if isinstance(pattern := symbol.arguments.get(name), Near) and pattern.together
        ]
        # One alone bounds no more than its own range.
        if len(axes) < 2:
            return None
        radii = [pattern.span[1] - pattern.value for _, pattern in axes]
        if len(axes) > 2 or not math.isclose(*radii, rel_tol=ROUNDING) or not 0 < radii[0] <= MOST_RADIUS:
            raise GuardTableError(
                f"{symbol.name}: tolerances that hold together must be two equal ones, up to {MOST_RADIUS}"
            )
        radius = round(radii[0] * (1 + ROUNDING) * 1e9)
        parts = [*(round(Decimal(repr(pattern.value)) * 10**9) for _, pattern in axes), radius]
        written = b"".join((part & 0xFFFFFFFF).to_bytes(4, "little") for part in parts)
        disc = (axes[0][0], axes[1][0], written)
        if disc not in self.discs:
            self.discs.append(disc)
        return self.discs.index(disc)

    def written(self, first: int) -> bytes:
        """Write it; its symbols have the numbers from `first` on."""
        entries = self._entries()
        if (
            len(self.arguments) > MOST_ARGUMENTS
            or len(self.discs) > MOST_DISCS
            or len(entries) > MOST_ENTRIES
        ):
            raise GuardTableError("there is no room for so many arguments, discs or symbols")
        body = bytes([first, len(self.arguments), len(self.discs), len(entries)])
        body += b"".join(bytes([x << 4 | y]) + written for x, y, written in self.discs)
        body += b"".join(argument.written() for argument in self.arguments.values())
        return body + b"".join(entries)

    def _entries(self) -> list[bytes]:
        """Return the symbols; a row of them, each with the next cell of the last argument, is one entry."""
        entries, at = [], 0
        while at < len(self.symbols):
            symbol, count = self.symbols[at], 1
            while at + count < len(self.symbols) and _goes_on(symbol, count, self.symbols[at + count]):
                count += 1
            cells = [cell for pair in symbol.cells for cell in pair]
            if count > 1:
                cells[-1] += count - 1
            disc = 0 if symbol.disc is None else symbol.disc + 1
            entries.append(bytes([disc << 1 | (EACH if count > 1 else 0), *cells]))
            at += count
        return entries


def _goes_on(first: _ChipSymbol, count: int, other: _ChipSymbol) -> bool:
    """Return whether a symbol takes the cell that is `count` behind the one that the first takes."""
    if not first.cells or (first.disc, other.disc) != (None, None) or first.cells[:-1] != other.cells[:-1]:
        return False
    cell = first.cells[-1][0]
    return first.cells[-1] == (cell, cell) and other.cells[-1] == (cell + count, cell + count)


class _Compiler:
    def __init__(self, automaton: TaskAutomaton, device: DeviceType, mode: ChipMode) -> None:
        self._automaton = automaton
        self._device = device
        self._mode = mode
        self._free = {symbol.tool for symbol in automaton.symbols.values() if symbol.is_free_read}

    @cached_property
    def edges(self) -> Mapping[str, Mapping[str, str]]:
        """For each symbol its edges, but for the self-loops of reads, which loop everywhere."""
        edges: dict[str, dict[str, str]] = {name: {} for name in self._automaton.symbols}
        for (source, symbol), target in self._automaton.delta.items():
            if source != target or self._automaton.symbols[symbol].tool not in self._free:
                edges[symbol][source] = target
        return edges

    def check(self) -> None:
        """Raise GuardTableError where a chip cannot follow the automaton."""
        automaton = self._automaton
        if automaton.reading != 2:
            raise GuardTableError(f"the chip knows reading 2 of what is harmful, not {automaton.reading}")
        for symbol in automaton.symbols.values():
            if symbol.tool not in self._device.by_name:
                raise GuardTableError(
                    f"{symbol.tool} is no tool of the {self._device.name}: its chip does not see it"
                )
            if symbol.fact is not None:
                raise GuardTableError(
                    f"{symbol.name} asks for a fact, which a chip does not look for in an answer"
                )
        if automaton.also_free:
            raise GuardTableError(
                f"its prompt asks to try {automaton.also_free[0].name}, which the chip has no place for"
            )
        if len(automaton.states) > MOST_STATES:
            raise GuardTableError(
                f"it has {len(automaton.states)} states; the chip has room for {MOST_STATES}"
            )

    def tools(self) -> dict[str, _ToolTable]:
        """Return the tools that have symbols with edges, in the device's order."""
        by_tool = most_specific_first(self._automaton.symbols.values())
        found = {}
        for tool in self._device.tools:
            symbols = by_tool.get(tool.name, [])
            # A last symbol without an edge decides as no symbol does.
            while symbols and not self.edges[symbols[-1].name]:
                symbols.pop()
            if symbols:
                try:
                    found[tool.name] = _ToolTable(symbols, list(tool.parameters()["properties"]))
                except GuardTableError as error:
                    raise GuardTableError(f"{tool.name}: {error}") from None
        return found

    def compile(self) -> GuardTable:
        self.check()
        tools = self.tools()
        symbols = [symbol.name for tool in tools.values() for symbol in tool.symbols]
        if len(symbols) > MOST_SYMBOLS:
            raise GuardTableError(f"it has {len(symbols)} symbols; the chip has room for {MOST_SYMBOLS}")
        if len(tools) > MOST_TOOLS:
            raise GuardTableError(f"its symbols have {len(tools)} tools; the chip has room for {MOST_TOOLS}")
        states = self._numbered(symbols)
        rows = self._rows(states, symbols)
        mode = BLOCKS if self._mode is ChipMode.BLOCK else 0
        head = bytes([VERSION, mode, len(states), len(self._device.tools)])
        accepting = sum(
            1 << number for number, state in enumerate(states) if state in self._automaton.accepting
        )
        head += accepting.to_bytes((len(states) + 7) // 8, "little")
        first = 0
        parts = {tool: place for place, tool in enumerate(tools, 1)}
        for tool in self._device.tools:
            head += bytes([self._flags(tool.name) | parts.get(tool.name, 0) << TOOL_SHIFT])
        bodies = []
        for tool_table in tools.values():
            bodies.append(tool_table.written(first))
            first += len(tool_table.symbols)
        at = len(head) + 2 * (len(states) + len(bodies))
        places: dict[bytes, int] = {}
        for block in dict.fromkeys((*rows, *bodies)):
            places[block] = at
            at += len(block)
        directory = b"".join(places[block].to_bytes(2, "little") for block in (*rows, *bodies))
        data = head + directory + b"".join(places)
        if len(data) > MOST_BYTES:
            raise GuardTableError(f"its table has {len(data)} bytes; the chip has room for {MOST_BYTES}")
        return GuardTable(data, tuple(states))

    def _flags(self, tool: str) -> int:
        passing = passes(self._device, self._device.by_name[tool])
        return (READS if tool in self._free else 0) | (PASSES if passing else 0)

    def _numbered(self, symbols: Sequence[str]) -> list[str]:
        """Return the states, breadth first from the start, so that runs of symbols lead to runs of states."""
        order = [self._automaton.start]
        seen = set(order)
        for state in order:
            for symbol in symbols:
                target = self.edges[symbol].get(state)
                if target is not None and target not in seen:
                    seen.add(target)
                    order.append(target)
        return order

    def _rows(self, states: Sequence[str], symbols: Sequence[str]) -> list[bytes]:
        number = {state: place for place, state in enumerate(states)}
        rows = []
        for state in states:
            targets = [self.edges[symbol].get(state) for symbol in symbols]
            codes = [
                None if target is None else STAYS if target == state else number[target] for target in targets
            ]
            runs = list(_runs(codes))
            if len(runs) > 255:
                raise GuardTableError(f"state {state} has {len(runs)} runs of edges; there is room for 255")
            rows.append(bytes([len(runs)]) + b"".join(map(bytes, runs)))
        return rows


def _runs(codes: Sequence[int | None]) -> Iterable[tuple[int, int, int]]:
    """Yield runs of symbols: the first one, their number with STEPS or not, the state of the first."""
    at = 0
    while at < len(codes):
        code = codes[at]
        if code is None:
            at += 1
            continue
        same = _length(codes, at, 0)
        steps = 1 if code == STAYS else _length(codes, at, 1)
        yield at, max(same, steps) | (STEPS if steps > same else 0), code
        at += max(same, steps)


def _length(codes: Sequence[int | None], at: int, step: int) -> int:
    """Return for how many symbols the state goes on by a step."""
    first = codes[at]
    assert first is not None
    count = 1
    while count < MOST_RUN and at + count < len(codes) and codes[at + count] == first + step * count != STAYS:
        count += 1
    if first == STAYS:
        while count < MOST_RUN and at + count < len(codes) and codes[at + count] == STAYS:
            count += 1
    return count


def passes(device: DeviceType, tool: Tool) -> bool:
    """Return whether a tool is let through wherever it is harmful: towards rest, or a retreat."""
    return tool in shipped_tools(device) and (tool.towards_safe or tool.retreat)


def compile_guard(
    automaton: TaskAutomaton, device: DeviceType, mode: ChipMode = ChipMode.BLOCK
) -> GuardTable:
    """Return the table of a task for the chip of a device.

    Raises:
        GuardTableError: the task does not fit.
    """
    return _Compiler(automaton, device, mode).compile()
