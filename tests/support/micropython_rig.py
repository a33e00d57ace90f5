"""The MicroPython example, run by its own interpreter (in WebAssembly): on a pty, or at a broker."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import paho.mqtt.client as mqtt
from paths import SUPPORT

from firmware_bridge.broker.process import EmbeddedBroker
from firmware_bridge.client import RigClient
from firmware_bridge.firmware.build import FIRMWARE_FOLDER
from firmware_bridge.links import open_link

EXAMPLE = FIRMWARE_FOLDER / "micropython"
MODULES = FIRMWARE_FOLDER / "build" / "node_modules"
INTERPRETER = MODULES / "@micropython" / "micropython-webassembly-pyscript" / "micropython.mjs"
RUNNER = SUPPORT / "micropython_board.mjs"
DRY, WET = 1000, 60000


def missing() -> str | None:
    """What is to be done before the example can run; None where nothing is."""
    if shutil.which("node") is None or not INTERPRETER.exists():
        return "MicroPython's interpreter is missing: make -C firmware_bridge/firmware micropython"
    return None


class Pins:
    """What the example drives its valve and its lamp to, and its stop button."""

    def __init__(self, lines: IO[str], button: Path) -> None:
        self._button = button
        self.lamp: list[int] = []
        self.valve = 0
        self.opened = False
        self.said: list[str] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            with self._changed:
                if line.startswith("pin 5 "):
                    self.valve = int(line.split()[2])
                    self.opened |= self.valve == 1
                elif line.startswith("pin 15 "):
                    self.lamp.append(int(line.split()[2]))
                else:
                    self.said.append(line)
                self._changed.notify_all()

    def press(self) -> None:
        self._button.touch()

    def release(self) -> None:
        self._button.unlink()

    def wait_for_lamp(self, changes: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.lamp) >= changes, 15.0)

    def wait_for_shut_again(self) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.opened and self.valve == 0, 15.0)

    def wait_for_word(self, word: str) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: word in self.said, 15.0)

    def wait_for(self, valve: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.valve == valve, 15.0)


@contextmanager
def interpreter(main: str, soil: int, link_in: int, link_out: int, example: Path = EXAMPLE) -> Iterator[Pins]:
    folder = tempfile.TemporaryDirectory()
    button = Path(folder.name) / "open"
    process = subprocess.Popen(
        [
            "node",
            str(RUNNER),
            str(INTERPRETER),
            str(example),
            main,
            str(soil),
            str(button),
            str(link_in),
            str(link_out),
        ],
        pass_fds={link_in, link_out},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield Pins(process.stderr, button)
    finally:
        process.kill()
        process.wait()
        folder.cleanup()


@contextmanager
def on_serial(soil: int, example: Path = EXAMPLE) -> Iterator[tuple[RigClient, Pins]]:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(master, False)
    try:
        with (
            interpreter("main_serial.py", soil, master, master, example) as pins,
            RigClient(open_link(f"serial://{os.ttyname(slave)}")) as client,
        ):
            client.open(20.0)
            yield client, pins
    finally:
        os.close(master)
        os.close(slave)


def without_delay(_client: mqtt.Client, _data: object, link: socket.socket) -> None:
    """A client's `on_socket_open`: small messages go out at once."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Relay:
    """The broker's side of the stand-in for umqtt: what the example says to it goes to a real broker."""

    def __init__(self, port: int, lines: IO[str], to_board: int) -> None:
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self._client.on_socket_open = without_delay
        self._client.on_message = lambda _client, _data, message: os.write(
            to_board, json.dumps([message.topic, message.payload.hex()]).encode() + b"\n"
        )
        self._port = port
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            said = json.loads(line)
            match said["do"]:
                case "will":
                    self._client.will_set(said["topic"], said["payload"], 1, retain=True)
                case "connect":
                    self._client.connect("127.0.0.1", self._port)
                    self._client.loop_start()
                case "subscribe":
                    self._client.subscribe(said["topic"], 1)
                case "publish":
                    self._client.publish(said["topic"], said["payload"], said["qos"], said["retain"])

    def close(self) -> None:
        """Once the board has ended, and its lines with it."""
        self._reader.join()
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def at_broker(port: int, soil: int) -> Iterator[Pins]:
    """The example as the rig `garden`."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    os.set_blocking(in_read, False)
    with os.fdopen(out_read) as lines:
        relay = Relay(port, lines, in_write)
        try:
            with interpreter("main_mqtt.py", soil, in_read, out_write) as pins:
                yield pins
        finally:
            os.close(out_write)
            relay.close()
            os.close(in_read)
            os.close(in_write)


@contextmanager
def on_mqtt(soil: int) -> Iterator[tuple[RigClient, Pins]]:
    with (
        EmbeddedBroker() as broker,
        at_broker(broker.port, soil) as pins,
        RigClient(open_link(f"{broker.url}/garden")) as client,
    ):
        client.open(20.0)
        yield client, pins
