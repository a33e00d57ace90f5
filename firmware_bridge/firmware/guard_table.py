"""Compiles a task's automaton into the table of the guard on a device's chip (docs: the firmware).

Each argument of a call becomes one byte, its cell. A number falls between two cuts, which are decimals: a
number that is written as the shortest text of its double compares with them as the double does. A text is a
word of the table. A symbol is a range of cells for each argument, and a disc where two numbers bound one
distance. The core that decides by the table is `guard/guard.c`; how it reads numbers is in `guard/decimal.h`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from core_eval.path.calls import StepKind, StepVerdict
from core_eval.path.disc import LEAST_RADIUS, Disc
from core_eval.path.patterns import Anything, Exact, Near, Pattern, Range
from core_eval.path.symbols import ANY_ARGUMENTS, Symbol, most_specific_first
from core_eval.text.values import is_number
from devices.registry import shipped_tools

if TYPE_CHECKING:
    from core_eval.path.automaton import TaskAutomaton
    from devices.device_type import DeviceType
    from devices.tool import Tool

VERSION = 3
MOST_BYTES = 1056
"""Size of the longest table: the rover's board has 2 kB for its stack then."""
MOST_BLOCKS = 254
"""States, and tools that have symbols."""
MOST_SYMBOLS = 254
NO_SYMBOL = 254
MOST_CUTS = 125
MOST_RADIUS = 2.1
"""Largest tolerance of two numbers that bound one distance: it has 31 bits in 1e-9."""
HEAD_BYTES = 6
BLOCKS = 0x01
MOST_ARGUMENTS = 8
READS, FORBIDS, PART_SHIFT, MOST_PARTS = 0x01, 0x02, 2, 62
MOST_ENTRIES = 255
MISSING, OTHER, FIRST_CELL, LAST_CELL = 0, 1, 2, 127
STAYS = -1
MOST_RUN, EACH = 128, 0x80
"""How many symbols one entry may have, and its mark where each has a number, or a state, of its own."""
NUMBER, TEXT = 1, 2
ZERO, POWER_ZERO, MOST_POWER = 0x80, 0xC0, 28
DIGIT, BELOW_A_DIGIT = 3, 2
"""What is added to a digit, and what is above the end of a number, but below any further digit of it."""
WITHOUT_SYMBOLS = bytes([0, 1, 0])


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
        told: the chip's numbers of the symbols that the host tells it, as the device has no such tool.
    """

    data: bytes
    states: tuple[str, ...]
    told: Mapping[str, int]

    @property
    def name(self) -> str:
        """Its CRC-32 in hexadecimal, by which the chip names the table that it holds."""
        return f"{zlib.crc32(self.data):08X}"

    def number_of(self, verdict: StepVerdict) -> int:
        """Return the number by which the chip is told of a call of a tool that the device does not have."""
        return (
            self.told[verdict.symbol] if verdict.kind is StepKind.PROGRESS and verdict.symbol else NO_SYMBOL
        )


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
            self.words.append(pattern.value)
        else:
            self.cuts += (cut for cut in _cuts(pattern) if cut is not None)

    def close(self) -> None:
        if self.words and self.cuts:
            raise GuardTableError("one argument is both text and a number")
        self.words = sorted(set(self.words), key=str.encode)
        self.cuts = sorted(set(self.cuts))
        for many, what in ((self.words, "words"), (self.cuts, "limits")):
            if len(many) > MOST_CUTS:
                raise GuardTableError(f"an argument has {len(many)} {what}; there is room for {MOST_CUTS}")

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
        kind, pads = TEXT, [(word.encode(), b"\0") for word in self.words]
        if not self.words:
            kind, pads = NUMBER, [_key(*cut) for cut in self.cuts]
        # A text ends with a zero.
        size = max((len(key) for key, _ in pads), default=0) + (kind == TEXT)
        if size > 255:
            raise GuardTableError(f"a text has {size - 1} bytes; there is room for 254")
        head = bytes([self.place, kind, FIRST_CELL + len(pads), size])
        return head + b"".join(key + pad * (size - len(key)) for key, pad in pads)


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


def _key(value: Decimal, side: int) -> tuple[bytes, bytes]:
    """Return the bytes of a cut, which compare with a number's as they do, and the byte that pads them."""
    sign, digits, exponent = value.normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(digits)
    if value and abs(power) > MOST_POWER:
        raise GuardTableError(f"the limit {value} is too large or too small")
    nibbles = [digit + DIGIT for digit in digits] if value else []
    nibbles.append(BELOW_A_DIGIT if side != sign else 0)
    nibbles += [0] * (len(nibbles) % 2)
    packed = (high << 4 | low for high, low in zip(nibbles[::2], nibbles[1::2], strict=True))
    inverted = 0xFF * sign
    key = bytes(byte ^ inverted for byte in (POWER_ZERO + power if value else ZERO, *packed))
    return key, bytes([inverted])


@dataclass(frozen=True)
class _ChipSymbol:
    """A symbol as the chip knows it: for each argument the cells that fit, and the disc, if any."""

    name: str
    cells: tuple[tuple[int, int], ...]
    disc: Disc | None

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
        if unknown := used - set(names):
            raise GuardTableError(f"the device has no argument {min(unknown)!r}")
        self.axes = self._axes(symbols)
        # The chip looks for a distance in the first two.
        order = sorted(used - set(self.axes), key=names.index)
        places = {name: names.index(name) for name in (*self.axes, *order)}
        self.arguments = {name: _Argument(place) for name, place in places.items()}
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
        return _ChipSymbol(symbol.name, cells, None if symbol.disc is None else symbol.disc[2])

    def _axes(self, symbols: Sequence[Symbol]) -> tuple[str, ...]:
        """Return the two arguments that bound one distance, if any do."""
        axes: set[tuple[str, ...]] = set()
        for symbol in symbols:
            near = [
                name
                for name, pattern in symbol.arguments.items()
                if isinstance(pattern, Near) and pattern.together
            ]
            if symbol.disc is not None and (symbol.disc[2].radius < MOST_RADIUS * 1e9):
                axes.add(symbol.disc[:2])
            # One alone bounds no more than its own range.
            elif len(near) > 1:
                raise GuardTableError(
                    f"{symbol.name}: tolerances that hold together must be two equal ones, "
                    f"{LEAST_RADIUS} to {MOST_RADIUS}"
                )
        if len(axes) > 1:
            raise GuardTableError("its distances are those of different arguments")
        return axes.pop() if axes else ()

    def written(self, first: int) -> bytes:
        """Write it; its symbols have the numbers from `first` on."""
        entries = []
        for number, count in self._runs():
            symbol = self.symbols[number]
            cells = [part for low, high in symbol.cells for part in (low, high - low)]
            if cells:
                cells[-1] += count - 1 + EACH * (count > 1)
            discs = [b""]
            if self.axes:
                discs = EVERYWHERE if symbol.disc is None else [_written_disc(symbol.disc)]
            entries += [bytes([first + number, *cells]) + disc for disc in discs]
        if len(self.arguments) > MOST_ARGUMENTS or len(entries) > MOST_ENTRIES:
            raise GuardTableError("there is no room for so many arguments or symbols")
        body = bytes([len(self.arguments), len(entries[0])])
        body += b"".join(argument.written() for argument in self.arguments.values())
        return body + bytes([len(entries)]) + b"".join(entries)

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Yield the first of each row of symbols that take one cell of the last argument after the other.

        Beside it is how many they are.
        """
        at = 0
        while at < len(self.symbols):
            count = 1
            while at + count < len(self.symbols) and self._goes_on(at, count):
                count += 1
            yield at, count
            at += count

    def _goes_on(self, at: int, count: int) -> bool:
        """Return whether a symbol takes the cell that is `count` behind the one that the first takes."""
        first, other = self.symbols[at], self.symbols[at + count]
        if (
            not first.cells
            or (first.disc, other.disc) != (None, None)
            or first.cells[:-1] != other.cells[:-1]
        ):
            return False
        cell = first.cells[-1][0]
        return first.cells[-1] == (cell, cell) and other.cells[-1] == (cell + count, cell + count)


def _written_disc(disc: Disc) -> bytes:
    """Write a disc as the chip reads it, modulo 2^32: so the farthest place is 2^31 away twice."""
    places = (part % 2**32 for part in (disc.x, disc.y))
    square = min(disc.radius**2, 2**63 - 1) + 2**63
    return b"".join(part.to_bytes(4, "little") for part in places) + square.to_bytes(8, "little")


EVERYWHERE = [_written_disc(Disc(corner, corner, 2**32)) for corner in (0, 1)]
"""Two discs that hold every place: each lacks one, the farthest."""


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
                if symbol.tool not in self._free:
                    raise GuardTableError(
                        f"{symbol.tool} is no tool of the {self._device.name}, and no free read"
                    )
            elif symbol.fact is not None:
                raise GuardTableError(
                    f"{symbol.name} asks for a fact, which a chip does not look for in an answer"
                )
        if automaton.also_free:
            raise GuardTableError(
                f"its prompt asks to try {automaton.also_free[0].name}, which the chip has no place for"
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
        tool_of = {name: symbol.tool for name, symbol in self._automaton.symbols.items()}
        own = [
            name for name, edges in self.edges.items() if edges and tool_of[name] not in self._device.by_name
        ]
        told = {name: place for place, name in enumerate(own, len(symbols))}
        symbols += own
        if len(symbols) > MOST_SYMBOLS:
            raise GuardTableError(f"it has {len(symbols)} symbols; the chip has room for {MOST_SYMBOLS}")
        if len(tools) > MOST_PARTS:
            raise GuardTableError(f"its symbols have {len(tools)} tools; the chip has room for {MOST_PARTS}")
        states = self._numbered(symbols)
        if len(states) + len(tools) > MOST_BLOCKS:
            room = MOST_BLOCKS - len(tools)
            raise GuardTableError(f"it has {len(states)} states; the chip has room for {room}")
        rows = self._rows(states, symbols)
        parts = {tool: place for place, tool in enumerate(tools, 2)}
        flags = bytes(
            self._flags(tool.name) | parts.get(tool.name, 1) << PART_SHIFT for tool in self._device.tools
        )
        bodies = []
        first = 0
        for tool_table in tools.values():
            bodies.append(tool_table.written(first))
            first += len(tool_table.symbols)
        accepting = sum(state not in self._automaton.accepting for state in states)
        start = states.index(self._automaton.start)
        mode = BLOCKS if self._mode is ChipMode.BLOCK else 0
        head = bytes([VERSION, mode, accepting, len(flags), 2 + len(bodies), start])
        blocks = [flags, WITHOUT_SYMBOLS, *bodies, *rows]
        at = HEAD_BYTES + 2 * len(blocks)
        places: dict[bytes, int] = {}
        for block in dict.fromkeys(blocks):
            places[block] = at
            at += len(block)
        directory = b"".join(places[block].to_bytes(2, "little") for block in blocks)
        data = head + directory + b"".join(places)
        if len(data) > MOST_BYTES:
            raise GuardTableError(f"its table has {len(data)} bytes; the chip has room for {MOST_BYTES}")
        return GuardTable(data, tuple(states), told)

    def _flags(self, tool: str) -> int:
        passing = passes(self._device, self._device.by_name[tool])
        forbids = self._mode is ChipMode.BLOCK and not passing
        return (READS if tool in self._free else 0) | (FORBIDS if forbids else 0)

    def _numbered(self, symbols: Sequence[str]) -> list[str]:
        """Return the states, breadth first from the start, so that runs of symbols lead to runs of states.

        The accepting ones come last.
        """
        order = [self._automaton.start]
        seen = set(order)
        for state in order:
            for symbol in symbols:
                target = self.edges[symbol].get(state)
                if target is not None and target not in seen:
                    seen.add(target)
                    order.append(target)
        return sorted(order, key=lambda state: state in self._automaton.accepting)

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


def _runs(codes: Sequence[int | None]) -> Iterator[tuple[int, int, int]]:
    """Yield runs of symbols: the state of the first, the first, how many more.

    EACH is added to these where each leads one state further than the one before it.
    """
    at = 0
    while at < len(codes):
        code = codes[at]
        if code is None:
            at += 1
            continue
        same = _length(codes, at, 0)
        steps = 1 if code == STAYS else _length(codes, at, 1)
        yield code & 0xFF, at, max(same, steps) - 1 + EACH * (steps > same)
        at += max(same, steps)


def _length(codes: Sequence[int | None], at: int, step: int) -> int:
    """Return for how many symbols the state goes on by a step."""
    first = codes[at]
    assert first is not None
    count = 1
    while count < MOST_RUN and at + count < len(codes) and codes[at + count] == first + step * count:
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
