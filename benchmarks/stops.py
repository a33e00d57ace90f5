"""What stops a machine when nobody is there: each fault on each link and driver, measured on emulated boards.

    python benchmarks/stops.py [--repeats 3] [--rig NAME ...] [--fault NAME ...] [--json FILE] [--of FILE ...]

A run of the kit's own command drives a machine, the fault strikes while it moves, and the machine's own pins
say when it stands. The kit's firmware runs on an emulated ATmega2560. GRBL runs on an emulated ATmega328P
where PATHRIG_GRBL_ELF names its ELF file, and is a stand-in else; FarmBot and Tasmota are stand-ins. Over
MQTT the kit's own device is its endpoint in Python, and the broker a mosquitto. All is on loopback, and each
process that was started is ended by its id.

`suspended`: host and rig process stand still together, as in a suspend. `power gone`: both are killed, as by
`docker kill` or when the host's supply fails. Each cell is the longest time of all repeats from the fault to
the standstill, or says that the machine still moved after the limit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from avr_board import emulated
from bench_rig import BenchRover
from standins.farmbot import FarmBot
from standins.grbl import Grbl
from standins.mqtt_nodes import Tasmota

from benchmarks.loopback_broker import LoopbackBroker, loopback_broker
from configs.rigs_loader import load_rig
from core_eval.rig.links import open_rig_link
from core_eval.rig.simulator_process import ProcessMonitor
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.rig_process.protocol import BEAT_SECONDS, SILENT_SECONDS
from sims.farm_rover.emulated_board import EmulatedBoard

ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "tests" / "support"
LIMIT = 22.0
"""Seconds after which a machine counts as not stopped: longer than any watchdog or last will here."""
SUSPEND = 8.0
FREEZE = 5.0
"""Seconds for which a host stands still at least."""
UNTOLD = ("physical", "stop confirmed", "harm unknown", "chip guard")
"""Rows of the log that tell nothing of a fault."""
STEADY = 0.5
"""Seconds without a movement that are a standstill."""
START = 90.0
"""Seconds in which the run must have the machine moving."""
END = 30.0
UNLOCK_ROVER, UNLOCK_ARM = ("unlock_safety_mode", {}), ("unlock_safety", {})


@dataclass
class Bench:
    """A machine that a run drives.

    Attributes:
        rig: its rig file or URL.
        task: a task of its device, and the calls that set it moving.
        moves: whether it moves at this moment.
        alone: what may stop it without any host.
        cut: takes the cable out; None: it has none.
        broker: of its link; None: it has none.
    """

    rig: str
    task: str
    calls: Sequence[tuple[str, dict[str, Any]]]
    moves: Callable[[], bool]
    alone: str
    cut: Callable[[], None] | None = None
    broker: LoopbackBroker | None = None
    last_moved: float = 0.0

    def look(self) -> bool:
        """Note whether it moves."""
        if moves := self.moves():
            self.last_moved = time.monotonic()
        return moves

    def stands_after(self, since: float, limit: float) -> float | None:
        """Seconds from `since` until it stood; None if it still moves `limit` seconds later."""
        while (now := time.monotonic()) - since < limit + STEADY:
            self.look()
            if now - self.last_moved > STEADY:
                return max(0.0, self.last_moved - since)
            time.sleep(0.002)
        return None


class Cable:
    """A named pseudo terminal in front of a board's own, so that the board stays when the cable goes."""

    def __init__(self, board: str, name: Path) -> None:
        self._board = os.open(board, os.O_RDWR | os.O_NOCTTY)
        self._master, self._slave = os.openpty()
        for fd in (self._board, self._slave):
            tty.setraw(fd)
        self._name = name
        name.symlink_to(os.ttyname(self._slave))
        self._cut = threading.Event()
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def _pump(self) -> None:
        other = {self._board: self._master, self._master: self._board}
        while not self._cut.is_set():
            for fd in select.select([*other], [], [], 0.02)[0]:
                with contextlib.suppress(OSError):
                    os.write(other[fd], os.read(fd, 4096))

    def cut(self) -> None:
        """Take it out."""
        if not self._cut.is_set():
            self._cut.set()
            self._name.unlink()
            self._thread.join()
            for fd in (self._board, self._slave, self._master):
                os.close(fd)


def rig_file(folder: Path, base: str, url: str, **options: float) -> str:
    """Write a rig file over a shipped one, and return its path."""
    text = {"base": base, "name": base, "url": url, "driver_options": options}
    (folder / "rig.yaml").write_text(json.dumps(text), encoding="utf-8")
    return str(folder / "rig.yaml")


FAR = ("move_to", {"x": 18.0, "y": 18.0})
WATER = ("water_plant", {"plant_id": "plant_B", "liters": 4.0})


@contextlib.contextmanager
def own_serial(folder: Path) -> Iterator[Bench]:
    """The kit's firmware in C, on an emulated ATmega2560."""
    with EmulatedBoard() as board:
        cable = Cable(board.path, folder / "ttyRIG")
        try:
            yield Bench(
                f"serial://{folder}/ttyRIG?baud=115200",
                "water_one_plant",
                [UNLOCK_ROVER, FAR],
                lambda: board.outputs.moving,
                "the board's watchdog",
                cable.cut,
            )
        finally:
            cable.cut()


@contextlib.contextmanager
def own_mqtt(folder: Path) -> Iterator[Bench]:
    """The kit's endpoint in Python on a broker."""
    rover = BenchRover("move_to")
    with loopback_broker() as broker:
        url = f"mqtt://127.0.0.1:{broker.port}/stops"
        with DeviceEndpoint(rover, MqttPort(url)):
            yield Bench(
                url,
                "water_one_plant",
                [UNLOCK_ROVER, FAR],
                lambda: rover.running.is_set() and not rover.made_safe.is_set(),
                "the device's watchdog",
                broker=broker,
            )


@contextlib.contextmanager
def farmbot(folder: Path) -> Iterator[Bench]:
    """FarmBot's stand-in with its water valve open."""
    with FarmBot() as board:
        assert isinstance(board, FarmBot)
        rig = rig_file(folder, "farmbot-serial", board.url, flow=0.05, spray_flow=400.0, reach=100.0)
        moves = lambda: board.pins.get(8) == 1  # noqa: E731 - what it is
        yield Bench(rig, "water_one_plant", [UNLOCK_ROVER, WATER], moves, "its pin guards", board.unplug)


ARM = [UNLOCK_ARM, ("move_to", {"x": 0.5, "y": 0.9, "z": 0.55})]


SLOW = {"feed": 60.0, "answer_seconds": 20.0, "boot_seconds": 10.0}
"""A move that takes longer than the limit, on a board that may be emulated slowly."""


@contextlib.contextmanager
def grbl(folder: Path) -> Iterator[Bench]:
    """GRBL 1.1 on an emulated ATmega328P where its ELF is named, and its stand-in else."""
    firmware = os.environ.get("PATHRIG_GRBL_ELF")
    if not firmware:
        with Grbl(speed=1.0) as stand_in:
            assert isinstance(stand_in, Grbl)
            rig = rig_file(
                folder, "grbl-serial", stand_in.url, feed=60.0, answer_seconds=20.0, boot_seconds=10.0
            )
            yield Bench(
                rig, "box_to_left_bin", ARM, lambda: stand_in.state == "Run", "nothing", stand_in.unplug
            )
        return
    with emulated(folder, "atmega328p", firmware) as board:
        count = [0]

        def moves() -> bool:
            before, count[0] = count[0], board.changes("D")[0]
            return count[0] != before

        cable = Cable(board.path, folder / "ttyRIG")
        try:
            rig = rig_file(folder, "grbl-serial", f"serial://{folder}/ttyRIG?baud=115200", **SLOW)
            yield Bench(rig, "box_to_left_bin", ARM, moves, "nothing", cable.cut)
        finally:
            cable.cut()


@contextlib.contextmanager
def tasmota(folder: Path) -> Iterator[Bench]:
    """A Tasmota's stand-in with a valve open."""
    with loopback_broker() as broker, Tasmota(f"mqtt://127.0.0.1:{broker.port}", "garden") as node:
        rig = rig_file(folder, "tasmota-mqtt", node.url, flow=0.05, spray_flow=400.0)
        on = lambda: "ON" in node.relays.values()  # noqa: E731 - what it is
        # It stands still, so a task without a drive.
        (folder / "task.yaml").write_text(VALVE_TASK, encoding="utf-8")
        task = str(folder / "task.yaml")
        yield Bench(rig, task, [UNLOCK_ROVER, WATER], on, "last wills", broker=broker)


VALVE_TASK = """
tasks:
  - id: water_by_valve
    world: farm_rover
    prompt: Unlock the safety, water plant_B with 4 liters, then lock the safety.
    plan:
      - unlock_safety_mode
      - water_plant: {plant_id: plant_B, liters: 4.0}
      - lock_safety_mode
"""
RIGS = {
    "own firmware, serial": own_serial,
    "GRBL, serial": grbl,
    "FarmBot, serial": farmbot,
    "own wire, MQTT": own_mqtt,
    "Tasmota, MQTT": tasmota,
}


@dataclass
class Driven:
    """A run that has a machine moving, and its rig process, if it has one."""

    bench: Bench
    host: subprocess.Popen[str]
    keeper: int | None

    def kill(self, *, group: bool = False) -> None:
        """Kill the host, or all of its process group."""
        if group:
            os.killpg(self.host.pid, signal.SIGKILL)
        else:
            self.host.kill()

    def send(self, number: signal.Signals, *, keeper: bool) -> None:
        """Send a signal to the host, and to the rig process first."""
        if keeper and self.keeper is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.keeper, number)
        self.host.send_signal(number)

    def kill_keeper(self) -> None:
        """Kill the rig process."""
        assert self.keeper is not None
        os.kill(self.keeper, signal.SIGKILL)

    def cut(self) -> None:
        """Take the cable out."""
        assert self.bench.cut is not None
        self.bench.cut()

    def lose_broker(self) -> None:
        """Kill the broker."""
        assert self.bench.broker is not None
        self.bench.broker.kill()


FAULTS: dict[str, Callable[[Driven], object]] = {
    "host killed": lambda run: run.kill(),
    "process group killed": lambda run: run.kill(group=True),
    "host frozen": lambda run: run.send(signal.SIGSTOP, keeper=False),
    "suspended": lambda run: run.send(signal.SIGSTOP, keeper=True),
    "rig process killed": Driven.kill_keeper,
    "power gone": lambda run: run.send(signal.SIGKILL, keeper=True),
    "cable out": Driven.cut,
    "broker gone": Driven.lose_broker,
}


def applies(fault: str, bench: Bench, keeper: int | None) -> bool:
    """Whether a rig can have a fault."""
    needs = {"rig process killed": keeper, "cable out": bench.cut, "broker gone": bench.broker}
    return needs.get(fault, True) is not None


def rig_process_of(host: int) -> int | None:
    """Return the id of a host's rig process."""
    for task in Path(f"/proc/{host}/task").iterdir():
        for child in (task / "children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text().strip() == "pathrig rig":
                return int(child)
    return None


@dataclass
class Seen:
    """What came of one fault.

    Attributes:
        ms: until the machine stood; None: it still moved at the limit.
        waking: the time counts from the end of the suspend.
        by: what stopped it.
        log: what the log says.
        attached_ms: until a second run had the kept rig; None: there was none.
    """

    ms: float | None
    by: str
    log: str
    waking: bool = False
    attached_ms: float | None = None


def steady(bench: Bench) -> bool:
    """Whether it still moves a moment later."""
    time.sleep(0.7)
    return bench.look()


def command(bench: Bench, folder: Path) -> list[str]:
    """Return the run that drives the machine."""
    lines = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in bench.calls]
    (folder / "calls.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = [sys.executable, "-m", "core_eval.cli.main", "run", "--task", bench.task, "--rig", bench.rig]
    agent = ["--agent", f"scripted:{folder / 'calls.jsonl'}", "--guard", "observe"]
    return [*run, *agent, "--db", str(folder / "log.db")]


def one(rig: str, fault: str) -> Seen | None:
    """Strike once, and measure; None where the rig cannot have this fault."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stops-")))
        bench = stack.enter_context(RIGS[rig](folder))
        if not applies(fault, bench, 0):
            return None
        host = subprocess.Popen(
            command(bench, folder),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "stderr").open("w"),
            text=True,
            start_new_session=True,
        )
        run = Driven(bench, host, None)
        stack.callback(end, run)
        until = time.monotonic() + START
        # A board's start is no movement of the run's.
        while not (bench.look() and (folder / "log.db").exists() and steady(bench)):
            if time.monotonic() > until or host.poll() is not None:
                sys.exit(f"{rig}: nothing moves: {(folder / 'stderr').read_text()[-500:]}")
            time.sleep(0.005)
        run.keeper = rig_process_of(host.pid)
        if not applies(fault, bench, run.keeper):
            return None
        began = time.monotonic()
        FAULTS[fault](run)
        waking = False
        seconds = bench.stands_after(began, SUSPEND if fault == "suspended" else LIMIT)
        if fault == "suspended":
            waking = seconds is None
            woken = time.monotonic()
            run.send(signal.SIGCONT, keeper=True)
            if waking:
                seconds = bench.stands_after(woken, LIMIT)
        elif fault == "host frozen":
            time.sleep(max(0.0, began + FREEZE - time.monotonic()))
            host.send_signal(signal.SIGCONT)
        late, attached = (None, None)
        if fault in ("host killed", "process group killed"):
            host.wait()
            late, attached = attach(bench.rig)
        if seconds is None and fault not in ("host killed", "process group killed", "power gone"):
            host.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            host.wait(END)
        states, log = logged(folder / "log.db")
        if late is not None:
            log += f"; the next run: late stop {late['outcome']}"
        ms = None if seconds is None else seconds * 1e3
        return Seen(ms, stopped_by(ms, waking, states, late, bench), log, waking, attached)


def stopped_by(ms: float | None, waking: bool, states: Sequence[str], late: object, bench: Bench) -> str:
    """Return what stopped the machine, as log and next run tell it; what is told by neither was its own."""
    if ms is None:
        return "nothing"
    if late is not None or "stopped by the rig process" in states:
        return "rig process, at waking" if waking else "rig process"
    if "rig process replaced" in states:
        return "a new rig process"
    if "rig process lost" in states:
        return LINK_BACK
    return "host, at waking" if waking else bench.alone


def attach(rig: str) -> tuple[dict[str, Any] | None, float | None]:
    """Attach to the rig process that a killed run has left; return its late stop, and the time in ms."""
    config = load_rig(rig)
    with ExitStack() as stack:
        began = time.monotonic()
        try:
            link = open_rig_link(config, stack, ProcessMonitor())
        except LinkError:
            return None, None
        took = (time.monotonic() - began) * 1e3
        late = None if link.late_stop is None else dict(link.late_stop)
        link.close()
    return late, None if late is None else took


def logged(path: Path) -> tuple[list[str], str]:
    """Return the host's rows of the rig's status, and the log in one line."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
        status, stop = log.execute("SELECT status, stop FROM episode").fetchone()
        rows = log.execute("SELECT state FROM rig_status WHERE source = 'host' ORDER BY id")
        states = [state for (state,) in rows]
    shown = [state for state in dict.fromkeys(states) if state not in UNTOLD]
    told = ", ".join([f"episode {status or 'open'}", f"stop {stop or 'not known'}", *shown])
    return states, told


def end(run: Driven) -> None:
    """End the processes of a run, by their ids."""
    for number in (signal.SIGKILL, signal.SIGCONT):
        run.send(number, keeper=True) if run.host.poll() is None else None
    if run.keeper is not None and Path(f"/proc/{run.keeper}/comm").exists():
        name = Path(f"/proc/{run.keeper}/comm").read_text().strip()
        if name.startswith("pathrig"):
            os.kill(run.keeper, signal.SIGKILL)
    run.host.wait()


LINK_BACK = "the host, once its link was back"
ALONE = {"own firmware, serial": "the board's watchdog"}


def credited(fault: str, rig: str, seen: Seen) -> str:
    """Return what stopped the machine: a rig process cannot act on a silence that is still too short."""
    early = seen.ms is not None and seen.ms < (SILENT_SECONDS - BEAT_SECONDS) * 1e3
    if fault == "host frozen" and early:
        return ALONE.get(rig, seen.by)
    return LINK_BACK if "rig process lost" in seen.log else seen.by


@dataclass
class Cell:
    """All repeats of one fault on one rig."""

    seen: list[Seen] = field(default_factory=list)

    @property
    def worst(self) -> Seen:
        """The repeat that took longest."""
        return max(self.seen, key=lambda one: float("inf") if one.ms is None else one.ms)

    def text(self, fault: str, rig: str) -> str:
        """Return what stops the machine, after how long at worst, and of how many repeats."""
        worst = self.worst
        if worst.ms is None:
            return f"**nothing** within {LIMIT:g} s ({len(self.seen)})"
        return f"{credited(fault, rig, worst)}, {worst.ms:,.0f} ms ({len(self.seen)})"


def table(cells: dict[tuple[str, str], Cell], rigs: Sequence[str], faults: Sequence[str]) -> str:
    """Return the two tables: what stops each machine, and what the log says."""
    lines = ["| fault | " + " | ".join(rigs) + " |", "|---" * (len(rigs) + 1) + "|"]
    for fault in faults:
        row = [cells[fault, rig].text(fault, rig) if (fault, rig) in cells else "-" for rig in rigs]
        lines.append(f"| {fault} | " + " | ".join(row) + " |")
    lines += ["", "| fault | rig | the log says |", "|---|---|---|"]
    for fault in faults:
        said: dict[str, list[str]] = {}
        for rig in rigs:
            if (fault, rig) in cells:
                said.setdefault(cells[fault, rig].worst.log, []).append(rig)
        lines += [f"| {fault} | {'; '.join(names)} | {log} |" for log, names in said.items()]
    attached = [one.attached_ms for cell in cells.values() for one in cell.seen if one.attached_ms]
    if attached:
        attached.sort()
        middle = attached[len(attached) // 2]
        lines += ["", f"A second run has the kept rig after {middle:.1f} ms (median of {len(attached)}; "
                  f"longest {attached[-1]:.1f} ms)."]  # fmt: skip
    return "\n".join(lines)


def read(files: Sequence[Path]) -> dict[tuple[str, str], Cell]:
    """Return the repeats of files that `--json` wrote."""
    cells: dict[tuple[str, str], Cell] = {}
    for line in "".join(file.read_text(encoding="utf-8") for file in files).splitlines():
        one = json.loads(line)
        cells.setdefault((one.pop("fault"), one.pop("rig")), Cell()).seen.append(Seen(**one))
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rig", nargs="+", choices=RIGS, default=list(RIGS))
    parser.add_argument("--fault", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--json", type=Path, help="every repeat, as JSON lines")
    parser.add_argument("--of", type=Path, nargs="+", help="only print the tables of such files")
    options = parser.parse_args()
    if options.of is not None:
        print(table(read(options.of), list(RIGS), list(FAULTS)))
        return
    if shutil.which("cc") is None:
        sys.exit("the emulated boards need a C compiler")
    cells: dict[tuple[str, str], Cell] = {}
    for rig in options.rig:
        for fault in options.fault:
            for _ in range(options.repeats):
                seen = one(rig, fault)
                if seen is None:
                    break
                cells.setdefault((fault, rig), Cell()).seen.append(seen)
                print(f"{rig:22} {fault:22} {seen}", file=sys.stderr, flush=True)
                if options.json is not None:
                    with options.json.open("a", encoding="utf-8") as out:
                        out.write(json.dumps({"rig": rig, "fault": fault, **vars(seen)}) + "\n")
    print(table(cells, options.rig, options.fault))


if __name__ == "__main__":
    main()
