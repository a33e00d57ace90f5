"""A service for hours: `python benchmarks/soak.py --hours N [--legs FILE.jsonl]`, Linux with mosquitto.

Many simulated rigs on one broker, `pathrig serve` on them, and beside it one run that never ends, whose
process makes all calls itself. One rig is killed every ten minutes and comes back a minute later: in turn
when its worker begins, and when a run has logged its first call. Every few seconds resident memory,
descriptors and threads of both processes are taken, with the calls in the logs.

A figure is the slope of a quantity against calls, by blocks of time after the warm-up, with a one-sided upper
bound of 95 % (Student's t over the blocks), pooled over legs by their precision. It passes if the bound is
below its limit. `--legs` keeps the samples: the same command goes on there until the hours are full. A leg
shorter than its warm-up tells nothing. Exit status 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.loopback_broker import LoopbackBroker, loopback_broker
from core_eval.log import LogError, LogReader
from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.serve.day_files import logs
from core_eval.statistics.student_t import quantile

BLOCKS = 12
WATCHDOG = 20.0
"""s within which the service has to give a sign of life."""
LIMITS = {
    "steady rss": ("bytes a call", 100.0),
    "steady descriptors": ("a call", 1e-4),
    "steady threads": ("a call", 1e-4),
    "service rss": ("bytes a call", 100.0),
    "service descriptors": ("a call", 1e-4),
    "service threads": ("a call", 1e-4),
}
STEADY = ("--task=water_one_plant", "--agent=random", "--episodes=50000", "--json")
WORK = {"tasks": ["water_one_plant"], "agents": ["random"]}
MOST_LOGGED = 6000.0
"""Bytes of log a call, at most."""
RIG = "name: {name}\nurl: {url}/{name}\ndevice: farm_rover\nsite: farm_rover\nguard: observe\n"


def main() -> int:
    """Run a leg, and print the figures of all legs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, required=True, help="of all legs together")
    parser.add_argument("--leg", type=float, help="hours of this leg at most; left out: what is missing")
    parser.add_argument("--legs", type=Path, default=Path("soak.jsonl"), help="samples of all legs")
    parser.add_argument("--rigs", type=int, default=50)
    parser.add_argument("--every", default="10min", help="how often each rig gets a run")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--fail-every", type=float, default=600.0, help="s between two failures of one rig")
    parser.add_argument("--warm-up", type=float, default=30.0, help="episodes of the steady run")
    parser.add_argument("--period", type=float, default=5.0, help="s between two samples")
    parser.add_argument("--simulators", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.simulators:
        return simulators(given.simulators[0], int(given.simulators[1]))
    rows = [json.loads(line) for line in given.legs.read_text().splitlines()] if given.legs.is_file() else []
    done = sum(max((row["t"] for row in leg), default=0.0) for leg in legs_of(rows))
    left = given.hours * 3600 - done
    if left > 1:
        seconds = min(left, (given.leg or given.hours) * 3600)
        number = max((row["leg"] for row in rows), default=0) + 1
        with given.legs.open("a") as file:
            for row in run_leg(given, seconds):
                file.write(json.dumps({"leg": number, **row}) + "\n")
                file.flush()
                rows.append({"leg": number, **row})
    return report(rows, given.warm_up)


def simulators(url: str, count: int) -> int:
    """Serve rigs rig-00, rig-01, ... of the farm in this process, until a signal."""
    from configs.worlds_loader import load_world, make_simulator
    from firmware_bridge.endpoint import DeviceEndpoint
    from firmware_bridge.local.link import port_for
    from firmware_bridge.mqtt.link import MqttPort
    from firmware_bridge.serve import end_signals

    world = load_world("farm_rover")
    with end_signals() as end, ExitStack() as stack:
        for number in range(count):
            device = make_simulator(world, number)
            port = MqttPort(url, f"rig-{number:02}", on_conflict=print)
            stack.enter_context(DeviceEndpoint(device, port_for(device, port), watchdog_ms=5000))
        print("ready", flush=True)
        end()
    return 0


@contextmanager
def process(words: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A child process, ended by SIGTERM and, if it does not end, killed."""
    child = subprocess.Popen(words, text=True, **options)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


class Beats:
    """The service manager's end: counts the signs of life that came too late."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "notify"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.address))
        self._last: float | None = None
        self.beats = self.missed = 0
        self.longest = 0.0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            said = self._socket.recv(4096)
            now = time.monotonic()
            if b"WATCHDOG=1" in said:
                if self._last is not None:
                    self.longest = max(self.longest, now - self._last)
                    self.missed += now - self._last > WATCHDOG
                self._last, self.beats = now, self.beats + 1


def failing_rig(
    url: str, folder: Path, every: float, leaving: threading.Event, count: dict[str, int]
) -> None:
    """Serve rig `failing`, and kill it again and again: it is away for a minute, or a tenth of the time.

    From then on it waits for its moment, for `every` at most. Counts by what the rig was at.
    """
    command = ServedSimulator("farm_rover", mqtt=url, rig="failing").command()
    away = min(60.0, every / 10)
    while not leaving.is_set():
        with process(command, stdout=subprocess.DEVNULL) as child:
            if leaving.wait(every - away):
                return
            latest = time.monotonic() + every
            wanted = "driven" if count["driven"] <= count["begun"] else "begun"
            calls = _calls_of_failing(folder)
            while (found := _at(folder, calls)) != wanted and time.monotonic() < latest:
                if leaving.wait(0.1):
                    return
            child.kill()
            count[found] += 1
        leaving.wait(away)


def _at(folder: Path, calls: int) -> str:
    """Return what the failing rig is at: idle, begun, or driven, where its log has more calls than these."""
    try:
        state = json.loads((folder / "status.json").read_text())["rigs"]["failing"]["state"]
    except OSError:
        return "idle"
    if state != "works":
        return "idle"
    return "driven" if _calls_of_failing(folder) > calls else "begun"


def _calls_of_failing(folder: Path) -> int:
    return _counted(sorted((folder / "failing").glob("*.db")))[0]


def run_leg(given: argparse.Namespace, seconds: float) -> Iterator[dict[str, Any]]:
    """Run for so long, and yield a sample each period."""
    with ExitStack() as stack:
        broker: LoopbackBroker = stack.enter_context(loopback_broker())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"mqtt://127.0.0.1:{broker.port}"
        command = [sys.executable, __file__, "--hours", "0", "--simulators", url, str(given.rigs)]
        devices = stack.enter_context(process(command, stdout=subprocess.PIPE))
        assert devices.stdout is not None and devices.stdout.readline() == "ready\n"
        leaving, failures = threading.Event(), {"idle": 0, "begun": 0, "driven": 0}
        watcher = threading.Thread(
            target=failing_rig, args=(url, folder / "serve", given.fail_every, leaving, failures)
        )
        watcher.start()
        stack.callback(watcher.join)
        stack.callback(leaving.set)
        # The last simulated rig is the steady run's own.
        names = [f"rig-{number:02}" for number in range(given.rigs - 1)] + ["failing"]
        files = [f"{name}.yaml" for name in names]
        for name in names:
            (folder / f"{name}.yaml").write_text(RIG.format(name=name, url=url))
        (folder / "serve.yaml").write_text(
            json.dumps(
                {
                    "folder": "serve",
                    "rigs": files,
                    "at_once": given.at_once,
                    "ask_again": "60s",
                    "schedule": [
                        {"name": "soak", "every": given.every, "rigs": files[:-1], **WORK},
                        {"name": "failing", "every": "2min", "rigs": files[-1:], **WORK},
                    ],
                }
            )
        )
        beats = Beats(folder)
        pathrig = [sys.executable, "-m", "core_eval.cli.main"]
        told = {"NOTIFY_SOCKET": str(beats.address), "WATCHDOG_USEC": str(int(WATCHDOG * 1e6))}
        output = stack.enter_context((folder / "output").open("w"))
        service = stack.enter_context(
            process([*pathrig, "serve", str(folder / "serve.yaml")], env=os.environ | told, stdout=output)
        )
        own = folder / "steady.db"
        steady = stack.enter_context(
            process(
                [*pathrig, "run", *STEADY, f"--rig={url}/rig-{given.rigs - 1:02}", f"--db={own}"],
                stdout=subprocess.DEVNULL,
            )
        )
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < seconds:
            time.sleep(given.period)
            status = _status(folder / "serve" / "status.json")
            calls, episodes, size = _counted([own])
            served, runs, _ = _counted(logs(folder / "serve"))
            yield {
                "t": round(now, 2),
                "steady": _taken(steady.pid),
                "service": _taken(service.pid),
                "steady_calls": calls,
                "steady_episodes": episodes,
                "steady_bytes": size,
                "service_calls": served,
                "service_episodes": runs,
                "beats": beats.beats,
                "missed": beats.missed,
                "longest_beat": round(beats.longest, 2),
                "failures": dict(failures),
                "status": status,
                "alive": service.poll() is None and steady.poll() is None,
                "load": round(os.getloadavg()[0], 1),
            }


def _taken(pid: int) -> dict[str, int]:
    """Return resident bytes, open descriptors and threads of a process; empty if it is gone."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/status").read_text().split()
        return {
            "rss": int(fields[fields.index("VmRSS:") + 1]) * 1024,
            "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
            "threads": int(fields[fields.index("Threads:") + 1]),
        }
    return {}


def _counted(files: Sequence[Path]) -> tuple[int, int, int]:
    """Return steps, episodes and bytes of logs."""
    calls = episodes = size = 0
    for path in files:
        with suppress(LogError, OSError), closing(LogReader(path).connection) as log:
            calls += log.execute("SELECT count(*) FROM step").fetchone()[0]
            episodes += log.execute("SELECT count(*) FROM episode").fetchone()[0]
            size += path.stat().st_size
    return calls, episodes, size


def _status(path: Path) -> dict[str, int]:
    """Return the sums over all rigs of the service's counts."""
    try:
        rigs = json.loads(path.read_text())["rigs"].values()
    except OSError:
        return {}
    return {key: sum(rig[key] for rig in rigs) for key in ("runs", "failed", "silent", "missed")}


def legs_of(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the samples of each leg, in order."""
    numbers = sorted({row["leg"] for row in rows})
    return [[row for row in rows if row["leg"] == number] for number in numbers]


def slope(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the slope of block means and its standard error; None where there are too few points."""
    if len(points) < 2 * BLOCKS or points[-1][0] <= points[0][0]:
        return None
    cut = [points[len(points) * n // BLOCKS : len(points) * (n + 1) // BLOCKS] for n in range(BLOCKS)]
    xs = [sum(x for x, _ in block) / len(block) for block in cut]
    ys = [sum(y for _, y in block) / len(block) for block in cut]
    mean_x, mean_y = sum(xs) / BLOCKS, sum(ys) / BLOCKS
    spread = sum((x - mean_x) ** 2 for x in xs)
    if not spread:
        return None
    rise = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread
    rest = sum((y - mean_y - rise * (x - mean_x)) ** 2 for x, y in zip(xs, ys, strict=True))
    return rise, (rest / (BLOCKS - 2) / spread) ** 0.5


def pooled(found: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean slope of legs, weighted by precision, and its upper bound of 95 %.

    A leg in which nothing changed has no error, and so no weight: then the worst leg's.
    """
    if any(error == 0 for _, error in found):
        alone = quantile(0.95, BLOCKS - 2)
        return max(((rise, rise + alone * error) for rise, error in found), key=lambda pair: pair[1])
    weights = [1 / error**2 for _, error in found]
    rise = sum(weight * one for weight, (one, _) in zip(weights, found, strict=True)) / sum(weights)
    return rise, rise + quantile(0.95, len(found) * (BLOCKS - 2)) * sum(weights) ** -0.5


def report(rows: Sequence[dict[str, Any]], warm_up: float) -> int:
    """Print the figures of all legs; return 1 where a limit is missed, or nothing can be told."""
    legs = [leg for leg in legs_of(rows) if leg]
    hours = sum(leg[-1]["t"] for leg in legs) / 3600
    ends = [leg[-1] for leg in legs]
    print(f"{hours:.2f} h in {len(legs)} legs, load {min(r['load'] for r in rows)} to "
          f"{max(r['load'] for r in rows)}")  # fmt: skip
    missed = sum(end["missed"] for end in ends)
    print(f"beats {sum(end['beats'] for end in ends)}, missed {missed}, longest pause "
          f"{max(end['longest_beat'] for end in ends)} s")  # fmt: skip
    for key in ("runs", "failed", "silent", "missed"):
        print(f"service: {key} {sum(end['status'].get(key, 0) for end in ends)}")
    killed = {at: sum(end["failures"][at] for end in ends) for at in ("idle", "begun", "driven")}
    print("the failing rig was killed", ", ".join(f"{n} times while {at}" for at, n in killed.items()))
    bad = missed > 0 or not all(end["alive"] for end in ends)
    print("quantity             points  slope        upper bound  limit")
    for name, (unit, limit) in LIMITS.items():
        who, what = name.split()
        found, count = [], 0
        for leg in legs:
            points = [
                (row[f"{who}_calls"], row[who][what])
                for row in leg
                if row[who] and row["steady_episodes"] >= warm_up
            ]
            count += len(points)
            if (one := slope(points)) is not None:
                found.append(one)
        if not found:
            print(f"{name:<20} {count:>6}  too few after the warm-up of {warm_up:g} episodes")
            bad = True
            continue
        rise, bound = pooled(found)
        bad |= bound >= limit
        print(f"{name:<20} {count:>6}  {rise:<12.4g} {bound:<12.4g} {limit:g} {unit}")
    calls = sum(end["steady_calls"] for end in ends)
    logged = sum(end["steady_bytes"] for end in ends) / max(1, calls)
    bad |= logged >= MOST_LOGGED
    print(f"log: {logged:,.0f} bytes a call of {calls:,} calls (limit {MOST_LOGGED:,.0f}); "
          f"{sum(end['service_calls'] for end in ends):,} calls by the service's workers")  # fmt: skip
    print("a limit is missed, or not told" if bad else "all limits are kept")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
