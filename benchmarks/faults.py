"""Faults of every kind on loopback, seeded and bounded, and how often anything wrong was executed: never.

    python benchmarks/faults.py [--scale 1.0] [--seed 0] [--only NAME ...]

`serial`: 100,000 frames of calls to a device on a pseudo terminal, half of them with flipped, lost or
inserted bytes. `broker`: a mosquitto killed and restarted 50 times while calls run. `disorder`: each message
of 2,000 calls may come twice, later than the next ones, or after its deadline. `kill9`: a host process killed
at 100 random moments of a call in flight, and the time until the device is in its safe state. `simulated`:
500 calls to the farm rover's simulator on a pseudo terminal, whose own world loses a fifth of the messages
and delays the rest by 2 ms, both ways; each call takes 0.2 s of device time, so its clock counts them too.

Each line says how many calls were made, executed, answered, and how many ids were executed more than once or
with arguments that nobody sent. The exit status is 1 when any of these two is not 0.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import serial

from configs.worlds_loader import load_world, make_simulator
from devices.outcome import Outcome
from firmware_bridge import messages as wire
from firmware_bridge.client import RigClient
from firmware_bridge.codec import LineDecoder, encode, to_line
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import Port
from firmware_bridge.links import open_link
from firmware_bridge.local_link import LocalPort
from firmware_bridge.mqtt_link import MqttPort
from firmware_bridge.serial_port import SerialPort
from sims.faulty_link import FaultyPort

FULL = {"serial": 100_000, "broker": 50, "disorder": 2_000, "kill9": 100, "simulated": 500}
"""Frames, restarts, calls, kills and calls at scale 1."""
SCHEDULING = 0.05
"""Seconds that the system may take to give the device's thread a processor."""


class Ledger:
    """A device that keeps account: how often each number was executed, and when it was made safe.

    `work` takes a number and the check over it, so that a call which nobody sent shows.
    """

    name = "ledger"
    firmware = "faults"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.executed: Counter[int] = Counter()
        self.wrong = 0
        self.started = threading.Event()
        self.safe_at = 0.0
        self.made_safe = threading.Event()

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: threading.Event) -> Outcome:
        """Note the call; it takes `seconds`, or until a stop."""
        number = arguments.get("n")
        if tool != "work" or not isinstance(number, int) or arguments.get("check") != check_of(number):
            self.wrong += 1
            return Outcome("invalid", code="wrong", message="nobody sent this")
        self.executed[number] += 1
        self.started.set()
        if stop.wait(self.seconds):
            return Outcome("fault", code="stopped", message="stopped")
        return Outcome("ok", {"n": number})

    def safe(self) -> None:
        """Note when."""
        self.safe_at = time.monotonic()
        self.made_safe.set()

    def reset(self) -> None:
        """Ready for the next."""
        self.made_safe.clear()

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        """No simulator."""
        return Outcome("invalid", code="physical", message="no simulator")

    def subscribe(self, emit: Callable[..., None]) -> None:
        """No sensors."""

    def truth(self) -> None:
        """No truth."""

    @property
    def twice(self) -> int:
        """How many numbers were executed more than once."""
        return sum(count > 1 for count in self.executed.values())


def check_of(number: int) -> int:
    return number * 2_654_435_761 % 2**32


def work(number: int) -> dict[str, int]:
    return {"n": number, "check": check_of(number)}


Counts = dict[str, int | float]


def spoiled(line: bytes, noise: random.Random) -> bytes:
    """The line with one to three bytes flipped, lost or inserted."""
    data = bytearray(line)
    for _ in range(noise.randint(1, 3)):
        at = noise.randrange(len(data))
        match noise.choice(("flip", "lose", "insert")):
            case "flip":
                data[at] ^= 1 << noise.randrange(8)
            case "lose":
                del data[at]
            case "insert":
                data.insert(at, noise.randrange(256))
    # The stop byte is an order of its own, and would end the run as it should.
    return bytes(data).replace(b"\x18", b"?")


def serial_noise(frames: int, seed: int) -> Counts:
    """Good and spoiled frames, most calls more than once, in windows of a few at a time."""
    noise = random.Random(seed)
    device, port = Ledger(), SerialPort("pty")
    endpoint = DeviceEndpoint(device, port, watchdog_ms=600_000, results_kept=256)
    answers: Counter[str] = Counter()
    sent = spoilt = 0
    with endpoint:
        host = serial.Serial(port.path, 115200, timeout=10, exclusive=True)
        decoder = LineDecoder()

        def settle() -> None:
            """A ping goes through behind all that was sent, once the calls before it have ended."""
            host.write(b"\n" + to_line(encode(wire.Ping())))
            while True:
                for payload in decoder.feed(host.read(host.in_waiting or 1)):
                    message = json.loads(payload)
                    if message["op"] == "pong":
                        return
                    answers[message.get("status", message["op"])] += 1

        number = 0
        while sent < frames:
            batch = b""
            for _ in range(min(24, frames - sent)):
                if noise.random() < 0.5:
                    number += 1
                line = to_line(encode(wire.Call(id=number, tool="work", args=work(number))))
                if noise.random() < 0.5:
                    line, spoilt = spoiled(line, noise), spoilt + 1
                batch += line
                sent += 1
            host.write(batch)
            settle()
        host.close()
    unsent = sum(n > number for n in device.executed)
    return {
        "frames": sent,
        "spoilt": spoilt,
        "dropped": endpoint.dropped,
        "executed": len(device.executed),
        "twice": device.twice,
        "wrong": device.wrong + unsent,
        "answered": sum(answers.values()),
    }


@contextlib.contextmanager
def mosquitto() -> Iterator[tuple[int, Callable[[], None], Callable[[], None]]]:
    """A port, and what starts and kills the broker there."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    binary = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if binary is None:
        sys.exit("mosquitto is not installed; install it, or use --only serial")
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n")
        Path(folder).chmod(0o755)

        def start() -> None:
            running.append(subprocess.Popen([binary, "-c", str(config)], stderr=subprocess.DEVNULL))
            for _ in range(400):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                    return
                time.sleep(0.01)
            sys.exit("mosquitto does not start")

        def kill() -> None:
            process = running.pop()
            process.kill()
            process.wait(10)

        start()
        try:
            yield port, start, kill
        finally:
            if running:
                kill()


def broker_restarts(restarts: int, seed: int) -> Counts:
    """Calls one after the other, while the broker is killed and started again at random moments."""
    noise = random.Random(seed)
    device = Ledger(seconds=0.004)
    outcomes: Counter[str] = Counter()
    ended = threading.Event()
    with mosquitto() as (port, start, kill):
        url = f"mqtt://127.0.0.1:{port}/ledger"
        with (
            DeviceEndpoint(device, MqttPort(url), watchdog_ms=600_000),
            RigClient(open_link(url), retry_after=0.1) as client,
        ):
            client.open()

            def drive() -> None:
                number = 0
                while not ended.is_set():
                    number += 1
                    outcome = client.call("work", work(number), timeout=20.0)
                    outcomes[outcome.status if outcome.status == "ok" else str(outcome.code)] += 1

            driver = threading.Thread(target=drive)
            driver.start()
            for _ in range(restarts):
                before = len(device.executed)
                deadline = time.monotonic() + 20
                # Some calls come through between two deaths, so that each death strikes a live link.
                while len(device.executed) < before + 3 and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(noise.uniform(0.0, 0.02))
                kill()
                time.sleep(noise.uniform(0.0, 0.05))
                start()
            ended.set()
            driver.join(60)
    calls = sum(outcomes.values())
    return {
        "restarts": restarts,
        "calls": calls,
        "executed": len(device.executed),
        "answered": outcomes["ok"],
        "faults": calls - outcomes["ok"],
        "twice": device.twice,
        "wrong": device.wrong,
    }


class Disorder:
    """A device's port behind a way that doubles, delays and reorders messages."""

    dropped = 0

    def __init__(self, port: Port, noise: random.Random) -> None:
        self._port = port
        self._noise = noise
        self.doubled = self.delayed = 0

    def on_way(self, payload: bytes, deliver: Callable[[bytes], None]) -> None:
        """Deliver a payload once or twice, now or up to 30 ms later."""
        copies = 2 if self._noise.random() < 0.3 else 1
        self.doubled += copies - 1
        for _ in range(copies):
            if self._noise.random() < 0.3:
                self.delayed += 1
                timer = threading.Timer(self._noise.uniform(0.001, 0.03), deliver, (payload,))
                timer.daemon = True
                timer.start()
            else:
                deliver(payload)


class DisorderlyLink:
    """The host's end of a local link on which both ways are disorderly."""

    default_max_frame: int | None = None
    frame_overhead = 0
    dropped = 0
    name = "disorder"

    def __init__(self, device: Ledger, noise: random.Random) -> None:
        self._port = LocalPort()
        self.way = Disorder(self._port, noise)
        self.refused = 0
        self.endpoint = DeviceEndpoint(device, self._port, watchdog_ms=600_000)
        self.endpoint.start()
        self.connected = True
        self._reader: threading.Thread | None = None

    def attach(self, on_frame: Callable[[bytes, bool], None], on_state: Callable[[bool], None]) -> None:
        """Read what the device says, in disorder."""

        def read() -> None:
            while (payload := self._port.outbox.get()) is not None:
                self.refused += b'"code":"late"' in payload
                self.way.on_way(payload, lambda late: on_frame(late, False))

        self._reader = threading.Thread(target=read, daemon=True)
        self._reader.start()

    def ensure(self, timeout: float) -> None:
        """It is always up."""

    def send(self, payload: bytes) -> None:
        """Towards the device, in disorder."""
        self.way.on_way(payload, self._deliver)

    def _deliver(self, payload: bytes) -> None:
        handler = self._port.handler
        if handler is not None:
            handler.on_frame(payload)

    def estop(self) -> None:
        """At once: a stop waits for nothing."""
        if self._port.handler is not None:
            self._port.handler.on_stop()

    def discard(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """End the device."""
        self.connected = False
        self.endpoint.close()
        if self._reader is not None:
            self._reader.join(2.0)


def disorder(calls: int, seed: int) -> Counts:
    """Calls with retries, one in ten with a deadline shorter than its way may take."""
    device = Ledger()
    link = DisorderlyLink(device, random.Random(seed))
    hurry = random.Random(seed + 1)
    outcomes: Counter[str] = Counter()
    with RigClient(link, retry_after=0.015) as client:
        client.open()
        for number in range(calls):
            timeout = 0.004 if hurry.random() < 0.1 else 5.0
            outcome = client.call("work", work(number), timeout=timeout)
            outcomes[outcome.status if outcome.status == "ok" else str(outcome.code)] += 1
        time.sleep(0.1)
    return {
        "calls": calls,
        "doubled": link.way.doubled,
        "delayed": link.way.delayed,
        "executed": len(device.executed),
        "answered": outcomes["ok"],
        "unanswered": outcomes["timeout"],
        "refused as late": link.refused,
        "twice": device.twice,
        "wrong": device.wrong,
    }


HOST = """
import sys
from firmware_bridge.client import RigClient
from firmware_bridge.links import open_link
sys.stdin.readline()
client = RigClient(open_link(sys.argv[1]))
client.open()
client.reset()
print("ready", flush=True)
number = int(sys.stdin.readline())
client.call("work", {"n": number, "check": number * 2654435761 % 2**32})
"""


def kill_hosts(kills: int, seed: int) -> Counts:
    """A host process is killed in mid-call; the device must be safe within its watchdog's time, each time."""
    noise = random.Random(seed)
    watchdog = 0.3
    device, port = Ledger(seconds=60.0), SerialPort("pty")
    safe = 0
    took: list[float] = []
    with DeviceEndpoint(device, port, watchdog_ms=int(watchdog * 1000)):
        waiting = [new_host(port.path)]
        for number in range(kills):
            host = waiting.pop()
            assert host.stdin is not None and host.stdout is not None
            host.stdin.write(b"open\n")
            host.stdin.flush()
            waiting.append(new_host(port.path))
            if host.stdout.readline() != b"ready\n":
                sys.exit("the host did not start")
            device.started.clear()
            host.stdin.write(f"{number}\n".encode())
            host.stdin.flush()
            if not device.started.wait(20):
                sys.exit("the call did not start")
            device.made_safe.clear()
            time.sleep(noise.uniform(0.0, watchdog))
            killed = time.monotonic()
            host.send_signal(signal.SIGKILL)
            host.wait()
            if device.made_safe.wait(10 * watchdog):
                safe += 1
                took.append(device.safe_at - killed)
            host.stdin.close()
            host.stdout.close()
        last = waiting.pop()
        last.kill()
        last.communicate()
    longest = max(took, default=float("inf"))
    return {
        "kills": kills,
        "safe": safe,
        "watchdog s": watchdog,
        "longest s": round(longest, 3),
        "late": sum(one > watchdog + SCHEDULING for one in took) + kills - safe,
        "executed": len(device.executed),
        "twice": device.twice,
        "wrong": device.wrong,
    }


def simulated_link(calls: int, seed: int) -> Counts:
    """Calls over the faults of a simulator's own world, retried by the host."""
    device = make_simulator(load_world("farm_rover"))
    serial_port = SerialPort("pty")
    port = device.wrap_port(serial_port)
    assert isinstance(port, FaultyPort)
    outcomes: Counter[str] = Counter()
    faults = [
        {"kind": "link_loss", "at": 0.0, "strength": 0.2},
        {"kind": "link_delay", "at": 0.0, "strength": 0.002},
    ]
    with (
        DeviceEndpoint(device, port, watchdog_ms=600_000),
        RigClient(open_link(f"serial://{serial_port.path}"), retry_after=0.02) as client,
    ):
        client.open()
        client.reset()
        if client.init({"faults": {"schedule": faults}}, seed).status != "ok":
            sys.exit("the simulator takes no faults of the link")
        for _ in range(calls):
            outcome = client.call("sense_battery", {}, timeout=30.0)
            outcomes[outcome.status if outcome.status == "ok" else str(outcome.code)] += 1
        executed = round(device.clock.now / device.world.rover.read_s)
    return {
        "calls": calls,
        "lost": port.faults.lost,
        "delayed": port.faults.delayed,
        "executed": executed,
        "answered": outcomes["ok"],
        "unanswered": calls - outcomes["ok"],
        "twice": max(0, executed - calls),
        "wrong": max(0, outcomes["ok"] - executed),
    }


def new_host(path: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", HOST, f"serial://{path}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


RUNS: Mapping[str, Callable[[int, int], Counts]] = {
    "serial": serial_noise,
    "broker": broker_restarts,
    "disorder": disorder,
    "kill9": kill_hosts,
    "simulated": simulated_link,
}


def run(name: str, scale: float, seed: int) -> Counts:
    """One kind of fault at a scale."""
    return RUNS[name](max(2, round(FULL[name] * scale)), seed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=RUNS, default=list(RUNS))
    options = parser.parse_args()
    bad: int | float = 0
    for name in options.only:
        began = time.monotonic()
        counts = run(name, options.scale, options.seed)
        bad += counts["twice"] + counts["wrong"] + counts.get("late", 0)
        told = "  ".join(f"{key} {value}" for key, value in counts.items())
        print(f"{name:9} {told}  ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
