"""The chip's guard against the scorer: table sizes, and random sequences over all tasks of rovers and arms.

`python -m benchmarks.chip_guard [--sequences N] [--seed S]` prints the figures of docs/results.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from configs.tasks_loader import list_tasks
from firmware_bridge.firmware.guard_table import ChipMode, GuardTableError, compile_guard

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import chip_guard


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
    print(f"{len(sizes)} of {len(sizes) + len(reasons)} tasks have a table: median "
          f"{statistics.median(sizes.values()):g} bytes, largest {sizes[largest]} ({largest}), "
          f"together {sum(sizes.values())}")  # fmt: skip
    for task, reason in reasons.items():
        print(f"  {task}: {reason}")


def sequences(count: int, seed: int) -> None:
    """Make random sequences over all tasks, natively; raises AssertionError at the first difference."""
    chance, began = random.Random(seed), time.monotonic()
    calls = made = 0
    with tempfile.TemporaryDirectory() as folder:
        guard = chip_guard.NativeGuard(Path(folder))
        tasks = [task for task, _ in chip_guard.guarded_tasks()]
        for place, task in enumerate(tasks):
            of_task = count * (place + 1) // len(tasks) - count * place // len(tasks)
            drawn = chip_guard.Calls(task, chance)
            for number, mode in enumerate(ChipMode):
                guard.use(compile_guard(task.automaton, task.device, mode).data)
                for _ in range((of_task + number) // 2):
                    calls += chip_guard.check_sequence(guard, task, drawn, chance, mode)
                    made += 1
    print(f"{made} sequences, {calls} calls, {len(tasks)} tasks, seed {seed}: no difference "
          f"({time.monotonic() - began:.0f} s)")  # fmt: skip


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=28)
    options = parser.parse_args()
    tables()
    sequences(options.sequences, options.seed)


if __name__ == "__main__":
    main()
