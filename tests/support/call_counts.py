"""How many Python functions are called by what people wait for: a measure that no busy machine disturbs.

    python tests/support/call_counts.py CASE       # one count, in a process of its own
    python tests/support/call_counts.py --renew    # write the counts of this Python version as the baseline

With valgrind there, `--renew` also writes the instructions of the processor, which the nightly tests compare.
Counted are the calls of every thread. The import system's own calls are left out: they depend on what is
cached. Imported modules are counted instead.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from paths import ROOT, SUPPORT, TESTS

BASELINE = TESTS / "performance" / "call_counts.json"
VERSION = "{}.{}".format(*sys.version_info)
MORE = 1.10
"""A count above this share of its baseline fails."""
TASK = "water_one_plant"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("unlock_safety_mode", {}),
    ("sense_soil", {"plant_id": "plant_B"}),
    ("move_to", {"x": 3.5, "y": 12.5}),
    ("water_plant", {"plant_id": "plant_B", "liters": 4.5}),
    ("lock_safety_mode", {}),
]


class Counter:
    """Counts calls of Python functions while it is on."""

    def __init__(self) -> None:
        self.count = 0

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and not frame.f_code.co_filename.startswith("<frozen importlib"):
            self.count += 1

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Count in this thread and in those that it starts."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]


def counted(work: Callable[[], object]) -> int:
    """The calls of one piece of work."""
    counter = Counter()
    with counter.on(), contextlib.redirect_stdout(io.StringIO()):
        work()
    return counter.count


def command(*arguments: str) -> None:
    """A `pathrig` command in this process."""
    from core_eval.cli.main import main

    assert main(list(arguments)) == 0


def traces(count: int) -> list[str]:
    """The arguments of a `score` of so many traces, of which each is of another length."""
    lines = []
    for number in range(count):
        calls = [CALLS[k % len(CALLS)] for k in range(3 + number % 7)]
        path = [{"name": name, "arguments": arguments} for name, arguments in calls]
        lines.append(json.dumps({"trace": number, "task": "one", "calls": path}))
    Path("tasks.yaml").write_text(
        "tasks:\n  - id: one\n    world: farm_rover\n    prompt: Water it.\n"
        "    plan: [unlock_safety_mode, {move_to: {x: 3.5, y: 12.5}},"
        " {water_plant: {plant_id: plant_B, liters: 4.5}}, lock_safety_mode]\n"
    )
    Path("traces.jsonl").write_text("\n".join(lines) + "\n")
    return ["score", "--tasks", "tasks.yaml", "--traces", "traces.jsonl"]


def episode(steps: int) -> list[str]:
    """The arguments of a run of one episode with so many reading steps."""
    lines = [json.dumps({"name": "sense_pose", "arguments": {}}) for _ in range(steps)]
    Path("calls.jsonl").write_text("\n".join(lines) + "\n")
    options = ["--task", TASK, "--rig", "sim:farm_rover", "--agent", "scripted:calls.jsonl"]
    return ["run", *options, "--db", f"{steps}.db"]


def modules(*arguments: str) -> int:
    """The modules that a command has loaded at its end."""
    with contextlib.redirect_stdout(io.StringIO()):
        command(*arguments)
    return len(sys.modules)


def started_with(*names: str) -> int:
    """The modules that a process of ours has loaded when it is ready to work, and this one's few."""
    for name in names:
        import_module(name)
    return len(sys.modules)


def more(arguments: Callable[[int], list[str]], few: int, many: int) -> float:
    """The calls of one more piece of work, when all is loaded and cached."""
    command(*arguments(many))
    at = [counted(lambda n=n: command(*arguments(n))) for n in (few, many)]  # type: ignore[misc]
    return (at[1] - at[0]) / (many - few)


def plain(arguments: Callable[[int], list[str]], size: int) -> float:
    """A command that nothing counts, for cachegrind."""
    with contextlib.redirect_stdout(io.StringIO()):
        command(*arguments(size))
    return 0.0


CASES: Mapping[str, Callable[[], float]] = {
    "calls of `pathrig --help`": lambda: counted(lambda: command("--help")),
    "modules of `pathrig --help`": lambda: modules("--help"),
    "calls of `pathrig score` of one trace": lambda: counted(lambda: command(*traces(1))),
    "modules of `pathrig score`": lambda: modules(*traces(1)),
    "modules of `pathrig run`": lambda: modules(*episode(1)),
    "modules of a serial rig's process": lambda: started_with(
        "firmware_bridge.rig_process.rig_side", "firmware_bridge.serial.link"
    ),
    "modules of a driven rig's process": lambda: started_with(
        "firmware_bridge.rig_process.rig_side",
        "core_eval.rig.driver_process",
        "firmware_bridge.drivers.driver_link",
    ),
    "modules of a served simulator": lambda: started_with("core_eval.rig.serve_simulator"),
    "modules of the embedded broker": lambda: started_with("firmware_bridge.broker.process"),
    "calls to score one more trace": lambda: more(traces, 70, 210),
    "calls of one more step": lambda: more(episode, 5, 35),
}
GRIND: Mapping[str, Callable[[], float]] = {
    "`pathrig --help`": lambda: plain(lambda _: ["--help"], 0),
    "`pathrig score` of 500 traces": lambda: plain(traces, 500),
    "an episode of 30 steps": lambda: plain(episode, 30),
}
"""What cachegrind watches, in millions of instructions."""


def instructions(case: str) -> float:
    """The instructions of the processor that a case's work takes, by cachegrind, in millions.

    Those of a process that only starts Python are not taken off: they are the same each time. What compiles
    modules is not counted: the work is done once before.
    """
    started(case)
    with tempfile.NamedTemporaryFile() as file:
        grind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={file.name}"]
        started(case, under=grind)
        (summary,) = [line for line in Path(file.name).read_text().splitlines() if line.startswith("summary")]
    return int(summary.split()[1]) / 1e6


def measured(case: str) -> float:
    """A case's number, of a fresh process in an empty folder."""
    return float(started(case).stdout.splitlines()[-1])


def started(case: str, *, under: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """A case's process, when it has ended; `under` is a program that runs it."""
    inherited = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, [str(SUPPORT), str(ROOT), inherited]))
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": path, "COLUMNS": "80"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*under, sys.executable, str(Path(__file__).resolve()), case],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done


def main() -> None:
    """Print a case's count, or write all into the baseline."""
    (asked,) = sys.argv[1:]
    if asked != "--renew":
        print({**CASES, **GRIND}[asked]())
        return
    kept = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    kept[VERSION] = {case: round(measured(case), 1) for case in CASES}
    if shutil.which("valgrind"):
        kept[VERSION] |= {case: round(instructions(case), 1) for case in GRIND}
    BASELINE.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
