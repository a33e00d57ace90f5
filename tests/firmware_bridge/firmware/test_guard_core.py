"""The guard's core in C, on this machine, against the scorer in Python."""

import math
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import chip_guard
import pytest
from paths import STANDINS

from configs.tasks_loader import load_task
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.patterns import Anything, Exact, Near, Pattern, Range
from core_eval.path.scorer import OnlineScorer
from core_eval.path.symbols import Symbol
from devices.device_type import DeviceType
from devices.registry import device_type
from firmware_bridge.firmware.guard_table import MOST_BYTES, ChipMode, GuardTableError, compile_guard

SEQUENCES = 40
"""Of each task; `benchmarks/chip_guard.py` makes 100,000 over all tasks."""
MOST_CYCLES = 3_200
"""Of a judgement at 16 MHz."""
MOST_FLASH = {"guard.c": 1_024, "decimal.c": 760}
TASKS = ("water_two_plants", "arm_inventory_then_tidy", "arm_no_stack", "ask_dose_twice")

pytestmark = [pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"), pytest.mark.firmware]


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> chip_guard.NativeGuard:
    return chip_guard.NativeGuard(tmp_path_factory.mktemp("guard"))


@pytest.mark.parametrize("name", TASKS)
def test_it_decides_every_call_as_the_scorer_does(guard: chip_guard.NativeGuard, name: str) -> None:
    chance, task = random.Random(28), load_task(name)
    calls = chip_guard.Calls(task, chance)
    for mode in ChipMode:
        guard.use(compile_guard(task.automaton, task.device, mode).data)
        for _ in range(SEQUENCES):
            chip_guard.check_sequence(guard, task, calls, chance, mode)


def _arm() -> DeviceType:
    return device_type("robotic_arm")


SYMBOLS = (Symbol("open", "open_gripper", {}), Symbol("close", "close_gripper", {}))


def _small_tables(most: int) -> Iterator[TaskAutomaton]:
    """All automata of up to two states over two symbols, and of three to eight states each row that one can
    have, beside a chain that leads to it."""
    for states in range(1, most + 1):
        names = [f"q{number}" for number in range(states)]
        chain = {(names[at], "open"): names[at + 1] for at in range(states - 1)}
        rows = list(product([None, *names], repeat=2))
        for row in product(rows, repeat=states) if states <= 2 else product(range(states), rows):
            delta = dict(chain)
            given = enumerate(row) if states <= 2 else [row]
            for at, targets in given:
                for symbol, target in zip(SYMBOLS, targets, strict=True):
                    delta.pop((names[at], symbol.name), None)
                    if target is not None:
                        delta[names[at], symbol.name] = target
            yield TaskAutomaton(
                states=names, symbols=SYMBOLS, start="q0", accepting=names, delta=delta, reading=2
            )


@pytest.mark.parametrize("most", [3, pytest.param(8, marks=pytest.mark.nightly)])
def test_every_call_in_every_state_of_every_small_table(guard: chip_guard.NativeGuard, most: int) -> None:
    arm, count = _arm(), 0
    tools = [list(arm.by_name).index(symbol.tool) for symbol in SYMBOLS]
    for automaton in _small_tables(most):
        table = compile_guard(automaton, arm)
        guard.use(table.data)
        for state, place in product(table.states, (0, 1)):
            guard.run.state = table.states.index(state)
            scorer = OnlineScorer(automaton)
            scorer.state = state
            call = Call(SYMBOLS[place].tool, {})
            assert guard.judge(tools[place], []) == scorer.peek(call).kind
            guard.ended("ok")
            scorer.step(call)
            assert table.states[guard.run.state] == scorer.state
            count += 1
    assert count > 400


LIMITS = (0.1, 3.359375, 1e-9, 123456.789, 4.050000000000001, 1e22, 17, math.pi)


@pytest.mark.parametrize("limit", [sign * limit for limit in LIMITS for sign in (1, -1)])
def test_limits_hold_to_the_last_bit_of_a_double(guard: chip_guard.NativeGuard, limit: float) -> None:
    device = device_type("farm_rover")
    wait = list(device.by_name).index("wait")
    below, above = (math.nextafter(limit, side) for side in (-math.inf, math.inf))
    values = [
        limit,
        below,
        above,
        -limit,
        0,
        -0.0,
        limit * 10,
        limit / 10,
        int(limit),
        round(limit, 2),
        1e300,
    ]
    values += [random.Random(3).uniform(-2, 2) * limit for _ in range(20)]
    for low, high in product((None, below, limit, above, 0), repeat=2):
        if low is not None and high is not None and low > high:
            continue
        automaton = _of_numbers("wait", seconds=Range(low, high))
        guard.use(compile_guard(automaton, device).data)
        for value in values:
            verdict = OnlineScorer(automaton).peek(Call("wait", {"seconds": value}))
            assert guard.judge(wait, [chip_guard.value_of(value)]) == verdict.kind, (low, high, value)


def _of_numbers(tool: str, **patterns: Pattern) -> TaskAutomaton:
    symbol = Symbol("a", tool, patterns)
    return TaskAutomaton(
        states=["p", "q"], symbols=[symbol], start="p", accepting=["q"], delta={("p", "a"): "q"}, reading=2
    )


@pytest.mark.parametrize("text", ["1.50", "15e-1", "0.00015E+4", "1.5000000000000000000", "150e-002"])
def test_a_number_is_what_it_says_however_it_is_written(guard: chip_guard.NativeGuard, text: str) -> None:
    wait = list(device_type("farm_rover").by_name).index("wait")
    for low, high in ((1.5, 1.5), (-1.5, -1.5), (0, 1.4999), (1.5001, 99)):
        guard.use(
            compile_guard(_of_numbers("wait", seconds=Range(low, high)), device_type("farm_rover")).data
        )
        for written in (text, f"-{text}"):
            value = chip_guard.Value(chip_guard.NUMBER, written.encode())
            fits = low <= float(written) <= high
            assert (guard.judge(wait, [value]) == "progress") is fits, (low, high, written)


def test_a_distance_is_decided_alike_to_the_nanometre(guard: chip_guard.NativeGuard) -> None:
    task, chance = load_task("water_two_plants"), random.Random(28)
    calls, kinds = chip_guard.Calls(task, chance), set()
    discs = {symbol.disc[2] for symbol in task.automaton.symbols.values() if symbol.disc is not None}
    assert discs
    for disc in discs:
        x, y = (
            Near(centre / 1e9, disc.radius / (1 + 1e-9) / 1e9, together=True) for centre in (disc.x, disc.y)
        )
        automaton = _of_numbers("move_to", x=x, y=y)
        guard.use(compile_guard(automaton, task.device).data)
        for _ in range(200):
            arguments = dict(zip("xy", calls.at_the_edge(disc), strict=True))
            kind = OnlineScorer(automaton).peek(Call("move_to", arguments)).kind
            assert guard.judge(calls.tools["move_to"], calls.values("move_to", arguments)) == kind, arguments
            kinds.add(kind)
    assert len(kinds) == 2


def test_beside_a_distance_there_may_be_every_place(guard: chip_guard.NativeGuard) -> None:
    rover = device_type("farm_rover")
    symbols = [
        Symbol("near", "move_to", {"x": Near(1, 1, together=True), "y": Near(1, 1, together=True)}),
        Symbol("there", "move_to", {"x": Anything(), "y": Anything(), "yaw": Exact(2)}),
    ]
    delta = {("p", "near"): "p", ("p", "there"): "q"}
    automaton = TaskAutomaton(
        states=["p", "q"], symbols=symbols, start="p", accepting=["q"], delta=delta, reading=2
    )
    guard.use(compile_guard(automaton, rover).data)
    # The farthest from a corner modulo 2^32, and one beside it.
    for place in (2**31 / 1e9, (2**31 + 1) / 1e9, 0, 7.5):
        given = [chip_guard.value_of(value) for value in (place, place, 2)]
        assert guard.judge(list(rover.by_name).index("move_to"), given) == "progress", place


def test_a_table_for_another_device_is_not_sound(guard: chip_guard.NativeGuard) -> None:
    data = compile_guard(_of_numbers("wait", seconds=Range(0, 1)), device_type("farm_rover")).data
    guard.use(data)
    with pytest.raises(AssertionError):
        guard.use(data, tools=data[chip_guard.TOOLS_AT] + 1)


def test_whatever_the_table_and_the_calls_no_byte_outside_is_read(tmp_path: Path) -> None:
    """Under the address and undefined-behaviour sanitisers; a seed is a run again."""
    program = f"{tmp_path}/fuzz"
    command = ["cc", "-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += ["-fshort-enums", f"-I{chip_guard.CORE.parent}", "-o", program]
    built = subprocess.run(
        [
            *command,
            str(STANDINS / "guard_fuzz.c"),
            str(chip_guard.CORE),
            str(chip_guard.CHECK),
            str(chip_guard.DECIMAL),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if "libasan" in built.stderr:
        pytest.skip("no sanitisers")
    assert built.returncode == 0, built.stderr
    table = compile_guard(load_task("water_two_plants").automaton, device_type("farm_rover"))
    done = subprocess.run([program, "28", "50000"], input=table.data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    tables, _, sound = done.stdout.partition(b" tables, ")
    assert (tables, int(sound.split()[0]) > 3000) == (b"50000", True), done.stdout


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ("round_of_water", "it has 562 states; the chip has room for 250"),
        ("rover_somebody_weeds_there", "asks for a fact"),
    ],
)
def test_a_task_that_does_not_fit_says_why(task: str, why: str) -> None:
    loaded = load_task(task)
    with pytest.raises(GuardTableError, match=why) as raised:
        compile_guard(loaded.automaton, loaded.device)
    assert "\n" not in str(raised.value)


def test_a_table_that_is_too_long_says_so() -> None:
    symbols = [Symbol(f"s{n}", "wait", {"seconds": Range(n / 7, n / 7 + 0.1)}) for n in range(62)]
    automaton = TaskAutomaton(
        states=["p", "q"], symbols=symbols, start="p", accepting=["q"], reading=2,
        delta={("p", symbol.name): "q" for symbol in symbols},
    )  # fmt: skip
    with pytest.raises(
        GuardTableError, match=rf"its table has \d+ bytes; the chip has room for {MOST_BYTES}"
    ):
        compile_guard(automaton, device_type("farm_rover"))


EMULATED = {"avr": ("avr-gcc", "simavr"), "arm": ("arm-none-eabi-gcc", "qemu-system-arm")}


@pytest.mark.parametrize("chip", EMULATED)
def test_on_a_chip_it_decides_alike(guard: chip_guard.NativeGuard, tmp_path: Path, chip: str) -> None:
    if missing := [command for command in EMULATED[chip] if shutil.which(command) is None]:
        pytest.skip(f"needs {', '.join(missing)}")
    chance = random.Random(28)
    batch = chip_guard.make_batch(guard, load_task("water_two_plants"), 30, chance, ChipMode.BLOCK)
    most = chip_guard.check_on_chip(tmp_path, batch, chip)
    assert batch.calls > 150 and most < MOST_CYCLES


def test_what_a_small_chip_does_in_its_own_words_is_what_c_says(tmp_path: Path) -> None:
    if missing := [command for command in EMULATED["avr"] if shutil.which(command) is None]:
        pytest.skip(f"needs {', '.join(missing)}")
    program = str(tmp_path / "machine.elf")
    build = [
        "avr-gcc",
        "-mmcu=atmega2560",
        *chip_guard.SMALL,
        "-std=gnu11",
        "-Os",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]
    build += [f"-I{chip_guard.CORE.parent}", "-o", program, str(STANDINS / "machine_chip.c")]
    subprocess.run(build, check=True)
    run = ["simavr", "-m", "atmega2560", "-f", "16000000", program]
    done = subprocess.run(
        run, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=60
    )
    assert re.search(r"\b0000\.", re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)), done


def test_the_core_takes_little_of_a_chip(tmp_path: Path) -> None:
    if shutil.which("avr-gcc") is None:
        pytest.skip("needs avr-gcc")
    ram = 0
    for name, most in MOST_FLASH.items():
        size = chip_guard.size_of(name, "avr", tmp_path)
        assert size.flash <= most, name
        ram += size.ram
    assert ram <= 64
    makefile = (chip_guard.CORE.parents[1] / "Makefile").read_text()
    assert f"SMALL := {' '.join(chip_guard.SMALL)}\n" in makefile
