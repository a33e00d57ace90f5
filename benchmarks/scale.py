"""How scoring scales: `python benchmarks/scale.py [--most N] [--jobs N]`, by the command itself.

Makes traces of three tasks (2 to 6 calls, a third of them with a fault of the agent), from 1,000 up to
`--most`, and scores each file with one worker and with `--jobs`, into JSON lines. Printed are CPU seconds of
all processes, those of the first one, which reads, merges and writes, the wall clock, microseconds of CPU a
trace and the peak memory of the largest process. From CPU seconds follows the gain on idle cores, which the
clock of a busy machine does not show: start-up (the CPU of 1,000 traces) is taken by one core, all else by as
many as there are workers.

With `--statistics` each file is scored by one process to lines alone, with the table of means, and with the
intervals of `--json`, three times in turn: the least CPU of each.

With `--dask` each file is also scored by as many workers of a Dask cluster on this machine, and once more
while one of them is killed, whose CPU is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Timer
from time import perf_counter
from typing import Any, NamedTuple

STEPS = ("open_account", "set_limit", "send_payment", "close_account")
READS = ("list_accounts", "read_balance")


def tasks() -> list[dict[str, Any]]:
    """Three tasks of CORE's JSON: two, three and four writes in order, with reads that loop everywhere."""
    return [_task(f"bank_{length}", STEPS[:length]) for length in (2, 3, 4)]


def _task(name: str, steps: tuple[str, ...]) -> dict[str, Any]:
    alphabet = {
        step: {"name": step, "arguments": {"account": _exact("A-1"), "amount": _exact(10 + place)}}
        for place, step in enumerate(steps)
    }
    alphabet |= {
        read: {
            "name": read,
            "arguments": {"account": {"name": "account", "value": None, "excluded_values": None}},
        }
        for read in READS
    }
    nodes = []
    for place in range(len(steps) + 1):
        edges = [{"symbols": list(READS), "from": f"s{place}", "to": f"s{place}"}]
        if place < len(steps):
            edges.append({"symbols": [steps[place]], "from": f"s{place}", "to": f"s{place + 1}"})
        nodes.append({"name": f"s{place}", "is_final": place == len(steps), "transitions": edges})
    return {"prompt_id": name, "world": "bank", "prompt": "Do it.", "nodes": nodes, "alphabet": alphabet}


def _exact(value: Any) -> dict[str, Any]:
    return {"name": "", "value": value, "excluded_values": None} | {
        "name": "account" if isinstance(value, str) else "amount"
    }


def traces(count: int, seed: int) -> Iterator[str]:
    """Yield lines of traces: steps in order with reads between, some left out, wrong or refused."""
    rng = Random(seed)
    for number in range(count):
        length = rng.randint(2, 4)
        calls = [_call(step, 10 + place) for place, step in enumerate(STEPS[:length])]
        for _ in range(rng.randint(0, 2)):
            calls.insert(rng.randrange(len(calls) + 1), _call(rng.choice(READS), None))
        drawn = rng.random()
        if drawn < 0.1:
            del calls[rng.randrange(len(calls))]
        elif drawn < 0.2:
            calls.insert(rng.randrange(len(calls)), _call(rng.choice(STEPS), 99))
        elif drawn < 0.3:
            calls.append({**calls[-1], "status": "rejected"})
        yield json.dumps({"trace": f"t{seed}-{number}", "task": f"bank_{length}", "calls": calls})


def _call(tool: str, amount: int | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {"account": "A-1"}
    if amount is not None:
        arguments["amount"] = amount
    return {"name": tool, "arguments": arguments, "status": "ok"}


class Cost(NamedTuple):
    """What a command took: CPU seconds of all its processes and of the first, wall clock, s, and its largest
    process, MB."""

    cpu: float
    first: float
    wall: float
    megabytes: float

    def told(self, count: int) -> str:
        """Return the columns of a table, for so many traces."""
        each = self.cpu / count * 1e6
        return f"{self.cpu:>7.2f} {self.first:>6.2f} {self.wall:>7.2f} {each:>10.1f} {self.megabytes:>5.0f}"


MEASURED = """
import resource, sys
from core_eval.cli.main import main
status = main(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_SELF)
open(sys.argv[1], "w").write(str(used.ru_utime + used.ru_stime))
sys.exit(status)
"""
"""Runs the command, and writes the CPU seconds of its own process."""


def scored(folder: Path, name: str, *options: str) -> Cost:
    """Score a file of traces by the command."""
    command = [sys.executable, "-c", MEASURED, str(folder / "first"), "score"]
    command += ["--tasks", str(folder / "tasks.json"), "--traces", str(folder / name), *options]
    begun = perf_counter()
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.execv(sys.executable, command)
    _, status, used = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status}")
    # The maximum over the command and the processes that it has waited for.
    first = float((folder / "first").read_text())
    return Cost(used.ru_utime + used.ru_stime, first, perf_counter() - begun, used.ru_maxrss / 1024)


def statistics(folder: Path, name: str) -> dict[str, Cost]:
    """Return what lines, the table of means, and intervals cost: the least of three turns."""
    ways = {
        "lines": (),
        "lines, table of means": ("--out", str(folder / "out.jsonl")),
        "JSON, intervals": ("--json",),
    }
    turns = [{what: scored(folder, name, *options) for what, options in ways.items()} for _ in range(3)]
    return {what: min((turn[what] for turn in turns), key=lambda cost: cost.cpu) for what in ways}


def on_cluster(folder: Path, name: str, jobs: int) -> Iterator[tuple[str, Path, Cost]]:
    """Score a file on a Dask cluster of this machine, and again while one of its workers is killed."""
    import psutil
    from distributed import LocalCluster

    def used() -> float:
        here = psutil.Process().children(recursive=True)
        return sum(sum(one.cpu_times()[:2]) for one in here)

    with LocalCluster(
        n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as cluster:
        wall = 0.0
        for what in ("Dask", "Dask, one killed"):
            out = folder / f"{what}.jsonl"
            victim = next(iter(cluster.workers.values())).pid
            killing = Timer(0.5 * wall, os.kill, (victim, signal.SIGKILL))
            if wall:
                killing.start()
            before = used()
            cost = scored(folder, name, "--dask", cluster.scheduler_address, "--out", str(out))
            killing.cancel()
            wall = cost.wall
            yield what, out, cost._replace(cpu=cost.cpu + max(0.0, used() - before))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--most", type=int, default=1_000_000)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--unlike", action="store_true", help="no two traces have the same arguments")
    options.add_argument("--dask", action="store_true", help="score on a Dask cluster, too")
    options.add_argument("--statistics", action="store_true", help="what the figures cost beside the scores")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tasks.json").write_text(json.dumps(tasks()))
        print(
            f"{'traces':>9}  processes  {'CPU s':>7} {'first':>6} {'wall s':>7} {'us a trace':>10} "
            f"{'MB':>5}  output"
        )
        count, start = 1000, 0.0
        while count <= given.most:
            file = folder / f"{count}.jsonl"
            with file.open("w") as written:
                for number, line in enumerate(traces(count, seed=count)):
                    told = line.replace('"A-1"', f'"A-1", "note": "{number}"') if given.unlike else line
                    written.write(told + "\n")
            if given.statistics:
                for what, one in statistics(folder, file.name).items():
                    print(f"{count:>9,}  {1:>9}  {one.told(count)}  {what}")
            results = {jobs: folder / f"{count}-{jobs}.jsonl" for jobs in (1, given.jobs)}
            costs = {}
            for jobs, out in results.items():
                cost = costs[jobs] = scored(folder, file.name, "--jobs", str(jobs), "--out", str(out))
                print(f"{count:>9,}  {jobs:>9}  {cost.told(count)}  lines, table of means")
            for what, out, cost in on_cluster(folder, file.name, given.jobs) if given.dask else ():
                results[given.jobs + len(results)] = out
                print(f"{count:>9,}  {given.jobs:>9}  {cost.told(count)}  {what}")
            if len({out.read_bytes() for out in results.values()}) > 1:
                raise SystemExit(
                    f"{count:,} traces: the scores of several processes differ from those of one"
                )
            one, several = costs[1], costs[given.jobs]
            start = start or one.cpu
            idle = start + max(0.0, several.cpu - start) / given.jobs
            print(
                f"{'':>9}  same scores; by CPU {one.cpu / idle:.2f} times as fast on idle cores, "
                f"by the clock {one.wall / several.wall:.2f}"
            )
            for out in (file, *results.values()):
                out.unlink()
            count *= 10


if __name__ == "__main__":
    main()
