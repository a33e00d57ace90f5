"""The guard's core in C, on this machine, against the scorer in Python."""

import math
import random
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import chip_guard
import pytest
from paths import STANDINS

from configs.tasks_loader import load_task
from core_eval.path import Call, OnlineScorer, Range, Symbol, TaskAutomaton
from devices.device_type import DeviceType
from devices.registry import device_type
from firmware_bridge.firmware.guard_table import MOST_BYTES, ChipMode, GuardTableError, compile_guard

SEQUENCES = 40
"""Of each task; `benchmarks/chip_guard.py` makes 100,000 over all tasks."""
MOST_CYCLES = 7_000
"""Of a judgement at 16 MHz: 440 us."""
MOST_FLASH = 2_550
TASKS = ("water_two_plants", "arm_inventory_then_tidy", "arm_no_stack")

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
        symbols = [Symbol("a", "wait", {"seconds": Range(low, high)})]
        automaton = TaskAutomaton(
            states=["p", "q"], symbols=symbols, start="p", accepting=["q"], delta={("p", "a"): "q"}, reading=2
        )
        guard.use(compile_guard(automaton, device).data)
        for value in values:
            verdict = OnlineScorer(automaton).peek(Call("wait", {"seconds": value}))
            assert guard.judge(wait, [chip_guard.value_of(value)]) == verdict.kind, (low, high, value)


def test_whatever_the_table_and_the_calls_no_byte_outside_is_read(tmp_path: Path) -> None:
    """Under the address and undefined-behaviour sanitisers; a seed is a run again."""
    program = f"{tmp_path}/fuzz"
    command = ["cc", "-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += ["-fshort-enums", f"-I{chip_guard.CORE.parent}", "-o", program]
    built = subprocess.run(
        [*command, str(STANDINS / "guard_fuzz.c"), str(chip_guard.CORE), str(chip_guard.CHECK)],
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
        ("round_of_water", "it has 562 states; the chip has room for 255"),
        ("rover_somebody_weeds_there", "asks for a fact"),
        ("ask_which_plant", "ask is no tool of the farm_rover"),
    ],
)
def test_a_task_that_does_not_fit_says_why(task: str, why: str) -> None:
    loaded = load_task(task)
    with pytest.raises(GuardTableError, match=why) as raised:
        compile_guard(loaded.automaton, loaded.device)
    assert "\n" not in str(raised.value)


def test_a_table_that_is_too_long_says_so() -> None:
    symbols = [Symbol(f"s{n}", "wait", {"seconds": Range(n / 7, n / 7 + 0.1)}) for n in range(120)]
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
    batch = chip_guard.make_batch(guard, load_task("round_with_refills"), 30, chance, ChipMode.BLOCK)
    most = chip_guard.check_on_chip(tmp_path, batch, chip)
    assert batch.calls > 150 and most < MOST_CYCLES


def test_the_core_takes_little_of_a_chip(tmp_path: Path) -> None:
    if shutil.which("avr-gcc") is None:
        pytest.skip("needs avr-gcc")
    part = str(tmp_path / "guard.o")
    command = [
        "avr-gcc",
        "-mmcu=atmega2560",
        "-std=gnu11",
        "-Os",
        "-fshort-enums",
        "-fno-common",
        "-c",
        "-o",
        part,
    ]
    subprocess.run([*command, str(chip_guard.CORE)], check=True)
    text, data, bss = map(
        int, subprocess.check_output(["avr-size", part], text=True).splitlines()[1].split()[:3]
    )
    assert text <= MOST_FLASH and data + bss <= 64
