"""The devices that the vectors of `tests/conformance` are played to, each with a bare link to it."""

from __future__ import annotations

import os
import queue
import select
import threading
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from zlib import crc32

import paho.mqtt.client as mqtt
from bridge_rig import Mosquitto
from conformance_player import Mismatch, Peer, line_of
from farm_rig import WORLD
from firmware_native import NativeRover, compile_rover
from firmware_rig import board
from micropython_rig import DRY, Pins, at_broker, interpreter, without_delay
from paho.mqtt.enums import CallbackAPIVersion

from devices.outcome import Outcome
from devices.sensors import Truth
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import Port
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort
from sims.farm_rover import board_pins as pins
from sims.farm_rover.simulator import FarmSimulator

TABLE = bytes.fromhex("0300001402000C0020002300040404040404040404040404040404040404040400010000")
"""Of a rover's guard: its 20 tools, no symbols, one state."""
ROVER = {
    "TABLE_BEGIN": TABLE[:4].hex().upper(),
    "TABLE_REST": TABLE[4:].hex().upper(),
    "TABLE_LENGTH": len(TABLE),
    "TABLE_SUM": f"{crc32(TABLE):08X}",
    "READ": "sense_pose",
    "LONG": "move_to",
    "LONG_ARGUMENTS": {"x": 18.0, "y": 18.0},
    "BAD_ARGUMENTS": {"x": 1, "y": "far"},
}
PREPARE_ROVER = (("unlock_safety_mode", {}), ("move_home", {}))
VALVE = {
    "READ": "read_soil",
    "LONG": "open_valve",
    "LONG_ARGUMENTS": {"seconds": 50},
    "BAD_ARGUMENTS": {"seconds": "long"},
}
SERIAL = frozenset({"serial", "counts", "keeps_refusals", "boots"})
PHYSICAL = SERIAL | {"physical", "watchdog"}
WATCHDOG_MS = 4000
"""Of the endpoints: a busy machine, whose host stands still now and then, must not pass for a silent host."""
WORLD_SPEED = 5
"""Of the emulated board: a drive across the field takes 3.7 s, the watchdog 2 s, a read 0.04 s."""


class Lines:
    """Lines of a device to payloads. Its every line must check."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if line_of(line[:-9]) != line + b"\n":
                raise Mismatch(f"a line of the device does not check: {line!r}")
        return [line[:-9] for line in lines]


class SerialWire:
    """A port that a device serves."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._fd)
        self._lines = Lines()
        self._waiting: list[bytes] = []
        self.now = time.monotonic

    def send(self, payload: bytes, op: str) -> None:
        self.raw(line_of(payload))

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._fd, data) :]

    def stop(self, text: bytes) -> None:
        self.raw(b"\x18")

    def receive(self, seconds: float) -> bytes | None:
        if not self._waiting and select.select([self._fd], [], [], seconds)[0]:
            self._waiting += self._lines.feed(os.read(self._fd, 4096))
        return self._waiting.pop(0) if self._waiting else None

    def close(self) -> None:
        os.close(self._fd)


class MqttWire:
    """The topics of a rig, by a plain client that knows nothing of the kit."""

    def __init__(self, port: int, rig: str) -> None:
        self._base = f"pathrig/v1/{rig}/"
        self._messages: queue.Queue[mqtt.MQTTMessage] = queue.Queue()
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.on_socket_open = without_delay
        self._client.on_message = lambda _client, _data, message: self._messages.put(message)
        subscribed = threading.Event()
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._client.subscribe([(self._base + name, 1) for name in ("result", "status", "sample/#", "truth")])
        assert subscribed.wait(10)
        self.now = time.monotonic

    def send(self, payload: bytes, op: str) -> None:
        self._client.publish(self._base + ("estop" if op == "estop" else "call"), payload, 1)

    def raw(self, data: bytes) -> None:
        raise NotImplementedError("a broker takes messages")

    def stop(self, text: bytes) -> None:
        self._client.publish(self._base + "estop", text, 1)

    def receive(self, seconds: float) -> bytes | None:
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            return None
        topic = message.topic.removeprefix(self._base).split("/")[0]
        expected = {"result": (b"result", b"pong", b"ack")}.get(topic, (topic.encode(),))
        if not any(b'"%b"' % op in message.payload for op in expected):
            raise Mismatch(f"{message.payload!r} came on the topic {message.topic}")
        return bytes(message.payload)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


class NativeWire:
    """A rover compiled for this machine, whose time passes only while it is waited for."""

    def __init__(self, rover: NativeRover) -> None:
        self._rover = rover
        self._lines = Lines()
        self._waiting: list[bytes] = []

    def send(self, payload: bytes, op: str) -> None:
        self.raw(line_of(payload))

    def raw(self, data: bytes) -> None:
        self._rover.hear(data)

    def stop(self, text: bytes) -> None:
        self.raw(b"\x18")

    def receive(self, seconds: float) -> bytes | None:
        if not self._waiting:
            self._rover.pass_time(seconds)
            self._waiting += self._lines.feed(self._rover.said())
        return self._waiting.pop(0) if self._waiting else None

    def now(self) -> float:
        return self._rover.seconds


class PacedFarm(FarmSimulator):
    """The farm simulator, whose virtual time takes its time while it drives."""

    long_call = False

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event, **options: Any) -> Outcome:
        self.long_call = tool == ROVER["LONG"]
        try:
            return super().execute(tool, arguments, stop, **options)
        finally:
            self.long_call = False

    def evolve(self, seconds: float) -> None:
        if self.long_call and self._stop is not None:
            self._stop.wait(seconds)
        super().evolve(seconds)


class PhysicalFarm(PacedFarm):
    """The same behind the face of a physical rig."""

    reports_truth = False

    def init(self, state: Mapping[str, Any], seed: int) -> Outcome:
        return Outcome("invalid", code="no_simulator", message="This is a physical device.")

    def truth(self) -> Truth | None:
        return None


@contextmanager
def endpoint(farm: PacedFarm, port: Port) -> Iterator[dict[str, Any]]:
    """The kit's own endpoint of a device, and what is seen of it."""
    with DeviceEndpoint(farm, port, watchdog_ms=WATCHDOG_MS) as served:
        yield {
            "names": ROVER,
            "prepare": PREPARE_ROVER[:1],
            "outputs": lambda: "working" if farm.long_call else "rest",
            "dropped": lambda: served.dropped,
        }


@contextmanager
def endpoint_on_serial(_folder: Path, farm: PacedFarm | None = None) -> Iterator[Peer]:
    port = SerialPort("pty")
    with endpoint(farm or PacedFarm(WORLD), port) as seen:
        wire = SerialWire(port.path)
        try:
            offers = PHYSICAL if isinstance(farm, PhysicalFarm) else (PHYSICAL - {"physical"}) | {"simulator"}
            yield Peer(wire, offers=offers | {"strict_json"}, **seen)
        finally:
            wire.close()


def physical_endpoint_on_serial(folder: Path) -> Any:
    return endpoint_on_serial(folder, PhysicalFarm(WORLD))


@contextmanager
def endpoint_on_mosquitto(_folder: Path) -> Iterator[Peer]:
    offers = frozenset({"mqtt", "counts", "keeps_refusals", "boots", "watchdog", "simulator", "strict_json"})
    with Mosquitto() as broker, endpoint(PacedFarm(WORLD), MqttPort(broker.url, "rover")) as seen:
        wire = MqttWire(broker.port, "rover")
        try:
            yield Peer(wire, offers=offers, **seen)
        finally:
            wire.close()


@contextmanager
def emulated_board(_folder: Path) -> Iterator[Peer]:
    with board(WORLD_SPEED) as emulated:
        wire = SerialWire(emulated.path)
        try:
            yield Peer(
                wire,
                ROVER,
                PHYSICAL | {"strict_json", "chip_guard"},
                prepare=PREPARE_ROVER,
                outputs=lambda: "working" if emulated.outputs.moving else "rest",
            )
        finally:
            wire.close()


@contextmanager
def native_rover(folder: Path) -> Iterator[Peer]:
    rover = NativeRover(compile_rover(folder), folder)
    yield Peer(
        NativeWire(rover),
        ROVER,
        # What watches the host's silence is the board's timer.
        (PHYSICAL | {"strict_json", "chip_guard"}) - {"watchdog"},
        prepare=PREPARE_ROVER,
        outputs=lambda: "working" if rover.switched & pins.ENABLE and any(rover.duty) else "rest",
    )


def valve_of(shown: Pins) -> dict[str, Any]:
    """What is known and seen of the MicroPython example."""
    return {"names": VALVE, "outputs": lambda: "working" if shown.valve else "rest"}


@contextmanager
def micropython_on_serial(_folder: Path) -> Iterator[Peer]:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    with interpreter("main_serial.py", DRY, master, master) as shown:
        wire = SerialWire(os.ttyname(slave))
        try:
            yield Peer(wire, offers=PHYSICAL, **valve_of(shown))
        finally:
            for end in (master, slave):
                os.close(end)
            wire.close()


@contextmanager
def micropython_on_mosquitto(_folder: Path) -> Iterator[Peer]:
    with Mosquitto() as broker, at_broker(broker.port, DRY) as shown:
        wire = MqttWire(broker.port, "garden")
        try:
            offers = frozenset({"mqtt", "counts", "keeps_refusals", "boots", "watchdog", "physical"})
            yield Peer(wire, offers=offers, **valve_of(shown))
        finally:
            wire.close()
