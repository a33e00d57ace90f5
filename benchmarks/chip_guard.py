"""The chip's guard against the scorer: tables, random sequences, emulated chips, a hostile host.

`python -m benchmarks.chip_guard PART...` prints the figures of docs/results: `tables`, `size`, `sequences`,
`avr`, `arm`, `hostile`; all of them where none is named.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from configs.task import Task
from configs.tasks_loader import list_tasks, load_task
from firmware_bridge.firmware.guard_table import ChipMode, GuardTableError, compile_guard
from firmware_bridge.guard_loader import code_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import chip_guard
from firmware_native import compile_rover

MHZ = 16
KEY = bytes(range(16))
OF_ONE_HOST = 5_000
"""Frames of a hostile host until the owner begins another episode."""


def tables() -> None:
    """Print the sizes of the tables, and which tasks have none."""
    sizes, reasons = {}, {}
    for task in list_tasks():
        if task.device.name in chip_guard.DEVICES:
            try:
                sizes[task.id] = len(compile_guard(task.automaton, task.device).data)
            except GuardTableError as error:
                reasons[task.id] = str(error)
    largest = max(sizes, key=lambda task: sizes[task])
    print(
        f"{len(sizes)} of {len(sizes) + len(reasons)} tasks have a table: median "
        f"{statistics.median(sizes.values()):g} bytes, largest {sizes[largest]} ({largest}), "
        f"together {sum(sizes.values())}"
    )
    for task, reason in reasons.items():
        print(f"  {task}: {reason}")


def shares(count: int, tasks: list[Task]) -> Iterator[tuple[Task, ChipMode, int]]:
    """Yield for each task and mode how many of so many sequences it has."""
    parts = [(task, mode) for task in tasks for mode in ChipMode]
    for place, (task, mode) in enumerate(parts):
        yield task, mode, count * (place + 1) // len(parts) - count * place // len(parts)


def sequences(count: int, seed: int, folder: Path) -> None:
    """Make random sequences over all tasks natively; raises AssertionError at the first difference."""
    chance, began, calls = random.Random(seed), time.monotonic(), 0
    guard = chip_guard.NativeGuard(folder)
    tasks = [task for task, _ in chip_guard.guarded_tasks()]
    for task, mode, share in shares(count, tasks):
        guard.use(compile_guard(task.automaton, task.device, mode).data)
        drawn = chip_guard.Calls(task, chance)
        for _ in range(share):
            calls += chip_guard.check_sequence(guard, task, drawn, chance, mode)
    seconds = time.monotonic() - began
    print(f"natively: {count} sequences, {calls} calls, {len(tasks)} tasks, seed {seed}: no difference "
          f"({seconds:.0f} s)")  # fmt: skip


def on_chip(chip: str, count: int, seed: int, folder: Path) -> None:
    """Make random sequences over all tasks on an emulated chip, and print the longest judgements."""
    chance, calls, made, most = random.Random(seed), 0, 0, []
    guard = chip_guard.NativeGuard(folder)
    tasks = [task for task, _ in chip_guard.guarded_tasks()]
    for task, mode, share in shares(count, tasks):
        batch = chip_guard.make_batch(guard, task, share, chance, mode)
        most.append((chip_guard.check_on_chip(folder, batch, chip), task.id))
        calls, made = calls + batch.calls, made + batch.sequences
    print(f"{chip}: {made} sequences, {calls} calls, {len(tasks)} tasks, seed {seed}: no difference")
    if chip == "avr":
        most.sort()
        longest, task = most[-1]
        middle = most[len(most) // 2][0]
        print(
            f"  longest judgement {longest} cycles, {longest / MHZ:.0f} us at {MHZ} MHz ({task}); "
            f"median of the tasks' longest {middle} cycles, {middle / MHZ:.0f} us"
        )


def hostile(frames: int, seed: int, folder: Path) -> None:
    """Send frames of hostile hosts to a native rover with a key; its owner begins an episode now and then."""
    library = compile_rover(folder, f'-DGUARD_KEY="{KEY.hex().upper()}"')
    task, began, judged = load_task("water_two_plants"), time.monotonic(), 0
    table = compile_guard(task.automaton, task.device)
    host = chip_guard.GuardHost(library, folder)
    for number in range(0, frames, OF_ONE_HOST):
        host.say("estop")
        host.say("reset")
        host.load(table.data, KEY)
        host.settle()
        overheard = code_of(table.data, host.guard()["generation"], KEY)
        count = min(OF_ONE_HOST, frames - number)
        judged += chip_guard.hostile_frames(host.rover, table, task, count, seed + number, overheard)
    seconds = time.monotonic() - began
    print(f"hostile: {frames} frames, {judged} calls judged, seed {seed}: none ran that the table forbids "
          f"({seconds:.0f} s)")  # fmt: skip


def size(folder: Path) -> None:
    """Print the flash and RAM of each part, compiled by itself."""
    for chip in ("avr", "arm"):
        for name in ("guard.c", "decimal.c", "guard_check.c", "blake2s.c"):
            size = chip_guard.size_of(name, chip, folder)
            print(f"{chip} {name}: {size.flash} bytes of flash, {size.ram} of RAM")


def main() -> None:
    """Print the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="tables, sequences, avr, arm, hostile, size")
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--on-chip", type=int, default=2_000)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=28)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    parts: dict[str, Callable[[], None]] = {
        "tables": tables,
        "size": partial(size, folder),
        "sequences": partial(sequences, options.sequences, options.seed, folder),
        "avr": partial(on_chip, "avr", options.on_chip, options.seed, folder),
        "arm": partial(on_chip, "arm", options.on_chip, options.seed, folder),
        "hostile": partial(hostile, options.frames, options.seed, folder),
    }
    try:
        for part in options.parts or parts:
            parts[part]()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
