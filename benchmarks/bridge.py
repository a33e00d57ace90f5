"""Round trips of validated calls through the bridge, against raw paho-mqtt and raw pyserial.

    python benchmarks/bridge.py [--trips 10000] [--only mqtt|serial]

MQTT: one mosquitto on loopback; host and device are processes, QoS 1 and TCP_NODELAY on both sides. Raw is a
request and a response of the same lengths on two topics. Serial: pseudo terminals; raw is a pyserial host
that reads as many bytes as it knows will come (`raw`) or a line (`readline`), and an echo process that sends
back a line of the result's length. Trips of all kinds take turns in blocks, so that a busy machine
slows all alike; the CPU time that host and device spend on a trip says more than latency where others
use the machine (medians over the blocks).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
import serial
from paho.mqtt.enums import CallbackAPIVersion

from core_eval.call_status import CallStatus

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.loopback_broker import loopback_broker
from devices.outcome import Outcome, StopOutcome
from devices.registry import device_type
from firmware_bridge import messages as wire
from firmware_bridge.client import RigClient
from firmware_bridge.codec import encode
from firmware_bridge.lines import to_line
from firmware_bridge.links import open_link
from firmware_bridge.serve import end_signals, serve_mqtt, serve_serial

TOOL, ARGUMENTS = "move_to", {"x": 12.5, "y": 7.25, "yaw": 0.5}
VALUE = {"x": 12.5, "y": 7.25, "yaw": 0.5}
CALL = encode(wire.Call(id="0123456789ab", tool=TOOL, args=ARGUMENTS, not_after=1234567))
RESULT = encode(wire.Result(id="0123456789ab", status="ok", value=VALUE, t=1234.5, dur=12.5))
BLOCK = 250


class BenchDevice:
    """Validates a call's arguments and its result like a real device, and does nothing."""

    name = "farm_rover"
    firmware = "benchmark"

    def __init__(self) -> None:
        self._type = device_type(self.name)

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Validate both ways."""
        self._type.validate(tool, arguments)
        return Outcome(CallStatus.OK, VALUE, t=1234.5, duration=12.5)

    def safe(self) -> StopOutcome:
        """Nothing moves."""
        return StopOutcome.CONFIRMED

    def reset(self) -> None:
        """Nothing moved."""

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """No simulator."""
        return Outcome(CallStatus.INVALID, code="init", message="no simulator")

    def subscribe(self, emit: Callable[..., None]) -> None:
        """No sensors."""

    def truth(self) -> None:
        """No truth."""


@dataclass
class Kind:
    """One kind of trip, the process at its other end, and what its trips took, in seconds."""

    trip: Callable[[], None]
    device: int
    times: list[float] = field(default_factory=list)
    host_cpu: list[float] = field(default_factory=list)
    device_cpu: list[float] = field(default_factory=list)

    def block(self, trips: int) -> None:
        """Make so many trips."""
        host, device = time.process_time(), cpu_of(self.device)
        for _ in range(trips):
            start = time.perf_counter()
            self.trip()
            self.times.append(time.perf_counter() - start)
        self.host_cpu.append((time.process_time() - host) / trips)
        self.device_cpu.append((cpu_of(self.device) - device) / trips)

    def forget(self) -> None:
        """Count from here."""
        for figures in (self.times, self.host_cpu, self.device_cpu):
            figures.clear()


def cpu_of(pid: int) -> float:
    """Seconds of CPU time that another process has used: its clock, as clock_getcpuclockid(3) makes it."""
    return time.clock_gettime((~pid << 3) | 2)


def _no_delay(client: mqtt.Client, data: Any, sock: Any) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def raw_client(port: int, topic: str, on_message: Callable[..., None]) -> mqtt.Client:
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    ready = threading.Event()
    client.on_socket_open = _no_delay
    client.on_message = on_message
    client.on_subscribe = lambda *_: ready.set()
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.subscribe(topic, 1)
    ready.wait(5)
    return client


def raw_mqtt_device(port: int) -> None:
    with end_signals() as wait:
        client = raw_client(port, "raw/call", lambda c, d, m: c.publish("raw/result", RESULT, 1))
        print("ready", flush=True)
        wait()
        client.disconnect()
        client.loop_stop()


def raw_serial_device() -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    print(os.ttyname(slave), flush=True)
    line = to_line(RESULT)
    with end_signals() as wait:
        threading.Thread(target=wait_then_exit, args=(wait,), daemon=True).start()
        while data := os.read(master, 65536):
            for _ in range(data.count(b"\n")):
                os.write(master, line)


def wait_then_exit(wait: Callable[[], None]) -> None:
    wait()
    os._exit(0)


@contextlib.contextmanager
def child(*arguments: str) -> Iterator[tuple[str, int]]:
    """This script as another process: the line that it prints when it is ready, and its id."""
    process = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.terminate()
        process.wait(10)


def take_turns(trips: int, kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
    """The kinds with so many trips each; a first block of each is not counted."""
    for kind in kinds.values():
        kind.block(BLOCK)
        kind.forget()
    while any(len(kind.times) < trips for kind in kinds.values()):
        for kind in kinds.values():
            kind.block(min(BLOCK, trips - len(kind.times)))
    return kinds


def call_trip(client: RigClient) -> Callable[[], None]:
    def trip() -> None:
        outcome = client.call(TOOL, ARGUMENTS)
        if outcome.status != CallStatus.OK:
            raise SystemExit(f"a call was lost: {outcome}")

    return trip


def bench_mqtt(trips: int) -> Mapping[str, Kind]:
    with (
        loopback_broker() as broker,
        child("--raw-mqtt", str(broker.port)) as (_, raw_device),
        child("--mqtt", str(broker.port)) as (_, device),
    ):
        answered = threading.Event()
        raw = raw_client(broker.port, "raw/result", lambda *_: answered.set())

        def raw_trip() -> None:
            answered.clear()
            raw.publish("raw/call", CALL, 1)
            if not answered.wait(10):
                raise SystemExit("a raw message was lost")

        with RigClient(open_link(f"mqtt://127.0.0.1:{broker.port}/bench")) as client:
            client.open()
            kinds = {"raw": Kind(raw_trip, raw_device), "bridge": Kind(call_trip(client), device)}
            take_turns(trips, kinds)
        raw.disconnect()
        raw.loop_stop()
        return kinds


def bench_serial(trips: int) -> Mapping[str, Kind]:
    with child("--raw-serial") as (raw_path, raw_device), child("--serial") as (path, device):
        line, answer = to_line(CALL), len(to_line(RESULT))
        raw = serial.Serial(raw_path, 115200, timeout=10, exclusive=True)

        def raw_trip() -> None:
            raw.write(line)
            if len(raw.read(answer)) != answer:
                raise SystemExit("a raw line was lost")

        def readline_trip() -> None:
            raw.write(line)
            if len(raw.readline()) != answer:
                raise SystemExit("a raw line was lost")

        with RigClient(open_link(f"serial://{path}")) as client:
            client.open()
            kinds = {
                "raw": Kind(raw_trip, raw_device),
                "readline": Kind(readline_trip, raw_device),
                "bridge": Kind(call_trip(client), device),
            }
            take_turns(trips, kinds)
        raw.close()
        return kinds


def report(link: str, kinds: Mapping[str, Kind]) -> None:
    def percentiles(kind: Kind) -> tuple[float, float]:
        cuts = statistics.quantiles(kind.times, n=100)
        return cuts[49] * 1e3, cuts[98] * 1e3

    p50, p99 = percentiles(kinds["bridge"])
    for name, kind in kinds.items():
        own_p50, own_p99 = percentiles(kind)
        host, device = (statistics.median(cpu) * 1e6 for cpu in (kind.host_cpu, kind.device_cpu))
        note = f"bridge is {p50 / own_p50:.2f}x and {p99 / own_p99:.2f}x of it"
        if name == "bridge":
            note = f"{len(kind.times)} trips, none lost"
        print(
            f"{link:6} {name:8}  p50 {own_p50:.3f} ms   p99 {own_p99:.3f} ms   "
            f"CPU host {host:3.0f} us, device {device:3.0f} us   {note}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trips", type=int, default=10_000)
    parser.add_argument("--only", choices=("mqtt", "serial"))
    parser.add_argument("--raw-mqtt", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mqtt", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--raw-serial", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serial", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.raw_mqtt:
        raw_mqtt_device(options.raw_mqtt)
    elif options.raw_serial:
        raw_serial_device()
    elif options.mqtt:
        url = f"mqtt://127.0.0.1:{options.mqtt}"
        serve_mqtt(
            BenchDevice(), url, "bench", ready=lambda: print("ready", flush=True), exit_with_parent=True
        )
    elif options.serial:
        serve_serial(BenchDevice(), "pty", ready=lambda path: print(path, flush=True), exit_with_parent=True)
    else:
        for name, bench in (("mqtt", bench_mqtt), ("serial", bench_serial)):
            if options.only in (None, name):
                report(name, bench(options.trips))


if __name__ == "__main__":
    main()
