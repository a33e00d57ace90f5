"""The chip guard's core compiled for this machine, and random sequences of calls by which it is held against
the scorer."""

from __future__ import annotations

import ctypes
import json
import math
import random
import re
import subprocess
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from firmware_native import NativeRover
from paths import STANDINS

from configs.task import Task
from configs.tasks_loader import list_tasks
from core_eval.call_status import CallStatus
from core_eval.path.calls import Call, StepKind
from core_eval.path.disc import Disc
from core_eval.path.patterns import Exact, Near, Range
from core_eval.path.scorer import OnlineScorer
from core_eval.path.symbols import Symbol
from firmware_bridge.firmware.build import FIRMWARE_FOLDER
from firmware_bridge.firmware.guard_table import (
    MOST_ARGUMENTS,
    ChipMode,
    GuardTable,
    GuardTableError,
    compile_guard,
    passes,
)
from firmware_bridge.guard_loader import PIECE_BYTES, code_of
from firmware_bridge.lines import LineDecoder, to_line

CORE = FIRMWARE_FOLDER / "guard" / "guard.c"
CHECK, DECIMAL = CORE.with_name("guard_check.c"), CORE.with_name("decimal.c")
DEVICES = ("farm_rover", "robotic_arm", "so101_arm")
KINDS = (StepKind.PROGRESS, StepKind.LOOP, StepKind.HARMFUL)
ENDS = {status: number for number, status in enumerate(("ok", "rejected", "blocked", "invalid", "fault"))}
MISSING, NUMBER, TEXT, OTHER = range(4)
MOST_CALLS = 14
MASK_BITS = 256
SMALL = ("-mcall-prologues", "-fno-move-loop-invariants")
"""As the firmware's Makefile has it."""
TOOLS_AT = 3
"""Where a table has the number of its device's tools."""


class Value(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_uint8), ("text", ctypes.c_char_p))


class Run(ctypes.Structure):
    _fields_ = (
        ("state", ctypes.c_uint8),
        ("counts", ctypes.c_uint16 * 9),
        ("harm", ctypes.c_uint8 * (MASK_BITS // 8)),
    )


def value_of(given: Any) -> Value:
    if isinstance(given, str):
        return Value(TEXT, given.encode())
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Value(NUMBER, json.dumps(given).encode())
    return Value(OTHER, None)


class NativeGuard:
    """The core in a library of its own, so that its variables are its own."""

    def __init__(self, folder: Path) -> None:
        library = folder / "guard.so"
        command = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fshort-enums"]
        subprocess.run(
            [*command, "-shared", "-fPIC", "-o", str(library), str(CORE), str(CHECK), str(DECIMAL)],
            check=True,
        )
        self._library = ctypes.CDLL(str(library))
        for name in ("guard_judge", "guard_ended", "guard_forbids", "guard_accepted", "guard_told"):
            getattr(self._library, name).restype = ctypes.c_uint8
        self.run = Run.in_dll(self._library, "guard_run")
        self._data = b""

    def use(self, data: bytes, tools: int | None = None) -> None:
        self._data = data
        tools = data[TOOLS_AT] if tools is None else tools
        length = ctypes.c_uint16(len(data))
        assert self._library.guard_check(self._data, length, ctypes.c_uint8(tools)) & 0xFF
        self._library.guard_use(self._data)
        self.begin()

    def begin(self) -> None:
        self._library.guard_begin()

    def judge(self, tool: int, values: list[Value]) -> StepKind:
        given = (Value * MOST_ARGUMENTS)(*values)
        return KINDS[self._library.guard_judge(ctypes.c_uint8(tool), given)]

    @property
    def forbids(self) -> bool:
        return bool(self._library.guard_forbids())

    @property
    def accepted(self) -> bool:
        return bool(self._library.guard_accepted())

    def told(self, symbol: int) -> StepKind:
        return KINDS[self._library.guard_told(ctypes.c_uint8(symbol))]

    def ended(self, status: str) -> StepKind:
        return KINDS[self._library.guard_ended(ctypes.c_uint8(ENDS[status]))]


def guarded_tasks(mode: ChipMode = ChipMode.BLOCK) -> Iterator[tuple[Task, GuardTable]]:
    """The shipped tasks of rovers and arms that a chip can hold."""
    for task in list_tasks():
        if task.device.name in DEVICES:
            try:
                yield task, compile_guard(task.automaton, task.device, mode)
            except GuardTableError:
                continue


class Calls:
    """Random calls of a task's device: what its symbols take, at and beside their limits, and what no symbol
    takes."""

    def __init__(self, task: Task, chance: random.Random) -> None:
        self._task, self._chance = task, chance
        self._names = {tool.name: list(tool.parameters()["properties"]) for tool in task.device.tools}
        self._texts = {
            (tool.name, name)
            for tool in task.device.tools
            for name, schema in tool.parameters()["properties"].items()
            if schema["type"] == "string"
        }
        self._symbols = list(task.automaton.symbols.values())
        self._numbers: dict[tuple[str, str], list[float]] = {}
        self._words: dict[tuple[str, str], list[str]] = {}
        for symbol in self._symbols:
            for name, pattern in symbol.arguments.items():
                if isinstance(pattern, Near | Range):
                    spots = [edge for edge in pattern.span if math.isfinite(edge)]
                    self._numbers.setdefault((symbol.tool, name), []).extend([*spots, pattern.example()])
                elif isinstance(pattern, Exact):
                    self._words.setdefault((symbol.tool, name), []).append(pattern.value)
        self.tools = {tool.name: place for place, tool in enumerate(task.device.tools)}
        self.table = compile_guard(task.automaton, task.device)
        self._own = [symbol for symbol in self._symbols if symbol.tool not in self.tools]

    def draw(self, state: str) -> tuple[str, dict[str, Any]]:
        """One call; half of them by an edge of the state."""
        symbols = self._task.automaton.symbols
        progress = [
            edge for edge in self._task.automaton.progress[state] if symbols[edge[0]].tool in self.tools
        ]
        if progress and self._chance.random() < 0.5:
            symbol = symbols[self._chance.choice(progress)[0]]
            return symbol.tool, self._fitting(symbol)
        tool = self._chance.choice(list(self.tools))
        return tool, self._any(tool)

    def without_device(self, state: str) -> Call | None:
        """A call of a tool that the device does not have, where there is one: mostly one that is progress."""
        if not self._own or self._chance.random() < 0.7:
            return None
        symbol = self._chance.choice(
            [one for one in self._own if (state, one.name) in self._task.automaton.delta] or self._own
        )
        told = "nothing" if symbol.fact is None or self._chance.random() < 0.2 else symbol.fact.written
        return Call(symbol.tool, symbol.example(), CallStatus.OK, {"answer": told})

    def values(self, tool: str, arguments: Mapping[str, Any]) -> list[Value]:
        """Its arguments as the chip gets them."""
        return [value_of(arguments[name]) if name in arguments else Value(MISSING, None)
                for name in self._names[tool]]  # fmt: skip

    def _fitting(self, symbol: Symbol) -> dict[str, Any]:
        arguments = symbol.example()
        for name, value in arguments.items():
            if isinstance(value, int | float) and self._chance.random() < 0.6:
                arguments[name] = self._near(symbol.arguments[name].span, value)  # type: ignore[union-attr]
        if symbol.disc is not None and self._chance.random() < 0.3:
            x, y, disc = symbol.disc
            arguments[x], arguments[y] = self.at_the_edge(disc)
        return arguments

    def at_the_edge(self, disc: Disc) -> tuple[float, float]:
        """A place within some nanometres of a disc's edge."""
        angle = self._chance.uniform(0, math.tau)
        radius = disc.radius + self._chance.uniform(-3, 3)
        return (disc.x + radius * math.cos(angle)) / 1e9, (disc.y + radius * math.sin(angle)) / 1e9

    def _near(self, span: tuple[float, float], value: float) -> float:
        low, high = (value if math.isinf(edge) else edge for edge in span)
        inside = self._chance.uniform(low, high)
        return self._chance.choice(
            (
                low,
                high,
                inside,
                round(inside, 3),
                math.nextafter(low, -9),
                math.nextafter(high, 99),
                round(inside),
            )
        )

    def _any(self, tool: str) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name in self._names[tool]:
            if self._chance.random() < 0.1:
                continue
            if (tool, name) in self._texts:
                words = self._words.get((tool, name), ["nothing"])
                arguments[name] = self._chance.choice([*words, words[0] + "s", words[0][:-1], "plant_A", "é"])
            else:
                known = self._numbers.get((tool, name), [0.0, 1.0])
                spot = self._chance.choice(known)
                arguments[name] = self._chance.choice(
                    (
                        *(spot, math.nextafter(spot, 99), math.nextafter(spot, -99), int(spot), -spot),
                        *(spot + self._chance.gauss(0, 1), self._chance.uniform(-20, 20)),
                        *(1e-7, 12345678.9, 0),
                    )
                )
        return arguments


def check_sequence(
    guard: NativeGuard,
    task: Task,
    calls: Calls,
    chance: random.Random,
    mode: ChipMode,
    tape: list[tuple[bytes, str]] | None = None,
) -> int:
    """Make one sequence on both sides, compare verdicts and figures, and return its number of calls."""
    scorer = OnlineScorer(task.automaton)
    safe = {tool.name for tool in task.device.tools if tool.towards_safe or tool.retreat}
    harm: list[bool] = []
    guard.begin()
    length = chance.randint(1, MOST_CALLS)
    for _ in range(length):
        if (own := calls.without_device(scorer.state)) is not None:
            told = scorer.step(own)
            number = calls.table.number_of(told)
            assert guard.told(number) == told.kind, (task.id, own, told)
            if tape is not None:
                tape.append((bytes([TOLD, number]), told.kind[0].upper() + "."))
            if told.kind is StepKind.PROGRESS:
                harm.append(False)
            continue
        tool, arguments = calls.draw(scorer.state)
        peeked = scorer.peek(Call(tool, arguments))
        values = calls.values(tool, arguments)
        said = guard.judge(calls.tools[tool], values)
        assert said == peeked.kind, (task.id, scorer.state, tool, arguments, said, peeked)
        forbidden = mode is ChipMode.BLOCK and peeked.kind is StepKind.HARMFUL and tool not in safe
        assert guard.forbids == forbidden, (task.id, scorer.state, tool, arguments)
        status = (
            "blocked"
            if forbidden
            else chance.choices(("ok", "rejected", "fault", "invalid"), (8, 1, 1, 1))[0]
        )
        if tape is not None:
            tape.append(
                (_on_tape(calls.tools[tool], values, status), said[0].upper() + ("!" if forbidden else "."))
            )
        ended = guard.ended(status)
        verdict = scorer.step(Call(tool, arguments, CallStatus(status)))
        assert status == "fault" or ended == verdict.kind, (task.id, tool, arguments, status, ended, verdict)
        if verdict.kind in (StepKind.PROGRESS, StepKind.HARMFUL):
            harm.append(verdict.kind is StepKind.HARMFUL)
    check_figures(guard, scorer, harm)
    return length


def _on_tape(tool: int, values: list[Value], status: str) -> bytes:
    texts = [value.text or b"" for value in values]
    given = (bytes([value.kind, len(text)]) + text for value, text in zip(values, texts, strict=True))
    return bytes([tool, len(values)]) + b"".join(given) + bytes([ENDS[status]])


def check_figures(guard: NativeGuard, scorer: OnlineScorer, harm: list[bool]) -> None:
    """Compare counts, prefix criticality and harm rate with the scorer's."""
    scores, run = scorer.scores(), guard.run
    counts = [scores.calls, sum(not one for one in harm), scores.loops, scores.off_path]
    assert list(run.counts[:4]) == counts
    assert run.counts[4] + run.counts[5] == scores.refused_writes
    assert list(run.counts[6:]) == [scores.invalid_calls, scores.faults, scores.condensed]
    assert guard.accepted == scores.accepted
    mask = int.from_bytes(bytes(run.harm), "big") >> (MASK_BITS - len(harm))
    assert mask == sum(one << place for place, one in enumerate(reversed(harm)))
    if harm:
        exact = 1 - Fraction(mask, 2 ** len(harm) - 1)
        assert math.isclose(exact, scores.prefix_criticality, abs_tol=1e-12)
        assert Fraction(mask.bit_count(), len(harm)) == Fraction(scores.harmful_calls, scores.condensed)


def hostile_frames(
    rover: NativeRover, table: GuardTable, task: Task, frames: int, seed: int, overheard: str
) -> int:
    """Send frames of a host that does what it likes but has no key; return how many calls were judged.

    An AssertionError where one ran that the table forbids. The episode has just begun.

    Args:
        overheard: the code with which the owner has loaded the table.
    """
    chance, decoder = random.Random(seed), LineDecoder()
    calls, scorer = Calls(task, chance), OnlineScorer(task.automaton)
    passing = {tool.name for tool in task.device.tools if passes(task.device, tool)}
    sent: dict[int, tuple[str, dict[str, Any]]] = {}
    judged = counted = 0
    for number in range(frames):
        rover.hear(_hostile_frame(chance, number, calls, scorer, sent, table, overheard, counted))
        # Mostly it waits for the answer.
        for _ in range(40 if chance.random() < 0.9 else 1):
            rover.pass_time(1 if number in sent else 0.003)
            for frame in map(json.loads, decoder.feed(rover.said())):
                if frame["op"] == "result" and (call := sent.pop(frame["id"], None)) is not None:
                    judged += _check_result(frame, call, scorer, passing)
                    counted += "guard" in frame
                elif frame["op"] == "status":
                    counted = frame["guard"].get("calls", counted)
            if number not in sent:
                break
        moves = rover.duty != (0, 0) or rover.switched & 0x7F
        assert not (moves and len(sent) == 0), (number, rover.switched)
    return judged


def _hostile_frame(
    chance: random.Random,
    number: int,
    calls: Calls,
    scorer: OnlineScorer,
    sent: dict[int, tuple[str, dict[str, Any]]],
    table: GuardTable,
    overheard: str,
    counted: int,
) -> bytes:
    kind = chance.random()
    if kind < 0.85:
        tool, arguments = calls.draw(scorer.state)
        sent[number] = (tool, arguments)
        message = {"v": 1, "op": "call", "id": number, "tool": tool, "args": arguments}
    elif kind < 0.88:
        at = chance.choice((*range(0, len(table.data), 160), chance.randrange(1100)))
        data = chance.choice((table.data[at : at + 160], chance.randbytes(chance.randrange(150))))
        message = {"v": 1, "op": "guard", "at": at, "data": data.hex().upper()}
    elif kind < 0.94:
        mac = chance.choice((overheard, chance.randbytes(16).hex().upper()))
        length = chance.choice((0, len(table.data), chance.randrange(3000)))
        message = {"v": 1, "op": "guard", "length": length, "sum": table.name, "mac": mac}
    elif kind < 0.96:
        mac = chance.choice((overheard, chance.randbytes(16).hex().upper()))
        message = {"v": 1, "op": "guard", "told": chance.randrange(260), "calls": counted, "mac": mac}
    elif kind < 0.98:
        message = {"v": 1, "op": chance.choices(("reset", "estop", "hello", "init"), (20, 1, 5, 5))[0]}
    else:
        return chance.randbytes(chance.randrange(600)).replace(b"\x18", b"") + b"\n"
    return to_line(json.dumps(message).encode())


def _check_result(
    frame: dict[str, Any], call: tuple[str, dict[str, Any]], scorer: OnlineScorer, passing: set[str]
) -> bool:
    tool, arguments = call
    code = frame.get("error", {}).get("code")
    forbidden = scorer.peek(Call(tool, arguments)).kind is StepKind.HARMFUL and tool not in passing
    if frame["status"] == "fault":
        # It ran: a stop ended it.
        assert not forbidden, frame
        return True
    if "guard" not in frame:
        # The guard had no table, or another one was coming in.
        assert frame["status"] != "ok" or tool == "lock_safety_mode", frame
        return False
    if frame["status"] != "invalid":
        assert forbidden == (code == "guard"), (frame, call, scorer.state)
    verdict = scorer.step(Call(tool, arguments, CallStatus(frame["status"]), frame.get("value")))
    assert frame["guard"] == verdict.kind, (frame, call)
    return True


class GuardHost:
    """A host of a native rover that has just been powered up, which says what it likes.

    Args:
        compiled: the rover's library.
        folder: for its own copy.
        eeprom: what its EEPROM holds; None: nothing yet.
    """

    def __init__(self, compiled: Path, folder: Path, eeprom: bytes | None = None) -> None:
        self.rover = NativeRover(compiled, Path(tempfile.mkdtemp(dir=folder)))
        if eeprom is not None:
            self.rover.eeprom[:] = eeprom
        self.rover.pass_time(0.001)
        self._decoder = LineDecoder()
        self.call = self.rover.call

    def say(self, op: str, **keys: Any) -> list[dict[str, Any]]:
        """Send a message, and return what it says within 60 ms."""
        self.rover.hear(to_line(json.dumps({"v": 1, "op": op, **keys}).encode()))
        until = self.rover.seconds + 0.06
        while self.rover.seconds < until:
            self.rover.pass_time(until - self.rover.seconds)
        return [json.loads(frame) for frame in self._decoder.feed(self.rover.said())]

    def guard(self, op: str = "hello", **keys: Any) -> dict[str, Any]:
        """Send a message, and return the guard in the status that answers it."""
        *_, status = [frame for frame in self.say(op, **keys) if frame["op"] == "status"]
        guard: dict[str, Any] = status["guard"]
        return guard

    def load(self, table: bytes, key: bytes | None = None) -> dict[str, Any]:
        """Load a table, and return the guard's status."""
        generation = self.guard()["generation"] + 1
        for at in range(0, len(table), PIECE_BYTES):
            piece = table[at : at + PIECE_BYTES].hex().upper()
            assert self.guard("guard", at=at, data=piece)["state"] == "loading"
        mac = {} if key is None else {"mac": code_of(table, generation, key)}
        return self.guard("guard", length=len(table), sum=f"{zlib.crc32(table):08X}", **mac)

    def settle(self) -> None:
        """Let what is to go into the EEPROM go there."""
        count = -1
        while count != (count := len(self.rover.writes)):
            self.say("hello")


END_OF_BATCH, END_OF_SEQUENCE, TOLD = 0xFF, 0xFE, 0xFD
MOST_BATCH_BYTES = 24_000
STRING_H = """#include <stddef.h>
void *memset(void *to, int byte, size_t count);
void *memcpy(void *to, const void *from, size_t count);
"""
LINKER_SCRIPT = """
MEMORY { flash (rx) : ORIGIN = 0, LENGTH = 256K  ram (rwx) : ORIGIN = 0x20000000, LENGTH = 16K }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > flash
  .bss (NOLOAD) : { *(.bss*) *(.data*) *(COMMON) } > ram
  stack_end = ORIGIN(ram) + LENGTH(ram);
}
"""


@dataclass(frozen=True)
class Size:
    """Bytes of a part of the guard, compiled by itself."""

    flash: int
    ram: int


def size_of(name: str, chip: str, folder: Path) -> Size:
    """Compile a file of the guard for a chip (`avr`: ATmega2560, `arm`: Cortex-M0+) and return its size."""
    prefix, flags = {
        "avr": ("avr", ["-mmcu=atmega2560", "-fno-common", *SMALL]),
        "arm": ("arm-none-eabi", ["-mcpu=cortex-m0plus", "-mthumb", "-ffreestanding", f"-I{folder}"]),
    }[chip]
    (folder / "string.h").write_text(STRING_H)
    part, source = str(folder / "part.o"), str(CORE.with_name(name))
    command = [f"{prefix}-gcc", *flags, "-std=gnu11", "-Os", "-fshort-enums", "-c", "-o", part, source]
    subprocess.run(command, check=True)
    told = subprocess.check_output([f"{prefix}-size", part], text=True).splitlines()[1].split()
    return Size(int(told[0]), int(told[1]) + int(told[2]))


@dataclass
class Batch:
    """Sequences of calls of one task, and what a chip must say to them."""

    table: bytes
    stream: bytearray = field(default_factory=bytearray)
    said: list[str] = field(default_factory=list)
    sequences: int = 0
    calls: int = 0

    def add(
        self, guard: NativeGuard, task: Task, calls: Calls, chance: random.Random, mode: ChipMode
    ) -> None:
        """Add a sequence, which the native core has made as the scorer does."""
        tape: list[tuple[bytes, str]] = []
        self.calls += check_sequence(guard, task, calls, chance, mode, tape)
        for made, said in tape:
            self.stream += made
            self.said.append(said)
        self.stream.append(END_OF_SEQUENCE)
        run = guard.run
        told = [run.state, guard.accepted, *run.counts, *run.harm[:4]]
        self.said.append(bytes(map(int, told)).hex().upper())
        self.sequences += 1

    def header(self) -> str:
        rows = {"table": self.table, "calls": bytes([*self.stream, END_OF_BATCH])}
        flash = "#ifdef __AVR__\n#include <avr/pgmspace.h>\n#else\n#define PROGMEM\n#endif\n"
        text = f"{flash}#define END_OF_BATCH {END_OF_BATCH}\n#define END_OF_SEQUENCE {END_OF_SEQUENCE}\n"
        text += f"#define TOLD {TOLD}\n"
        for name, data in rows.items():
            body = ", ".join(map(str, data))
            text += f"#define {name.upper()}_BYTES {len(data)}\n"
            text += f"static const uint8_t batch_{name}[] PROGMEM = {{{body}}};\n"
        return text


def make_batch(
    guard: NativeGuard, task: Task, sequences: int, chance: random.Random, mode: ChipMode
) -> Batch:
    """That many sequences of a task, or fewer where the chip has no room for more."""
    batch = Batch(compile_guard(task.automaton, task.device, mode).data)
    guard.use(batch.table)
    calls = Calls(task, chance)
    while batch.sequences < sequences and len(batch.stream) < MOST_BATCH_BYTES:
        batch.add(guard, task, calls, chance, mode)
    return batch


def check_on_chip(folder: Path, batch: Batch, chip: str) -> int:
    """Make a batch's calls on an emulated chip, and return the most cycles that a judgement took.

    Args:
        chip: `avr` (ATmega2560) or `arm` (Cortex-M0), whose emulator counts no cycles.
    """
    (folder / "batch.h").write_text(batch.header())
    program, include = folder / "guard.elf", [f"-I{folder}", f"-I{CORE.parent}"]
    sources = [str(STANDINS / "guard_chip.c"), str(CORE), str(DECIMAL), "-o", str(program)]
    plain = ["-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror", "-fshort-enums", *include]
    if chip == "avr":
        build = ["avr-gcc", "-mmcu=atmega2560", *SMALL, "-DF_CPU=16000000UL", *plain, *sources]
        run = ["simavr", "-m", "atmega2560", "-f", "16000000", str(program)]
    else:
        (folder / "string.h").write_text(STRING_H)
        (folder / "chip.ld").write_text(LINKER_SCRIPT)
        build = ["arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb", "-ffreestanding", "-nostdlib", *plain]
        build += ["-fno-tree-loop-distribute-patterns", "-T", str(folder / "chip.ld"), *sources, "-lgcc"]
        run = [
            "qemu-system-arm",
            "-machine",
            "microbit",
            "-nographic",
            "-semihosting",
            "-kernel",
            str(program),
        ]
    built = subprocess.run(build, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        run, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600
    )
    output = done.stdout + done.stderr
    told = re.findall(r"[PLH][.!][0-9A-F]{4}|[0-9A-F]{30}", re.sub(r"\x1b\[[0-9;]*m|\.?\r?\n", "", output))
    assert [one[:2] if one[0] in "PLH" and len(one) == 6 else one for one in told] == batch.said, output[
        -2000:
    ]
    return max(int(one[2:], 16) for one in told if len(one) == 6)
