"""The MicroPython example, run by MicroPython's own interpreter (in WebAssembly) against the real client."""

import json
import os
import shutil
import subprocess
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import paho.mqtt.client as mqtt
import pytest

from firmware_bridge.broker import EmbeddedBroker
from firmware_bridge.client import RigClient
from firmware_bridge.firmware.build import FIRMWARE_FOLDER
from firmware_bridge.links import open_link

EXAMPLE = FIRMWARE_FOLDER / "micropython"
MODULES = FIRMWARE_FOLDER / "build" / "node_modules"
INTERPRETER = MODULES / "@micropython" / "micropython-webassembly-pyscript" / "micropython.mjs"
RUNNER = Path(__file__).with_name("micropython_board.mjs")
DRY, WET = 1000, 60000
CARELESS_TOOLS = """
def hang():
    valve.value(1)
    while True:
        pass

def drag():
    valve.value(1)
    while True:
        yield

def fail():
    valve.value(1)
    raise OSError("no such probe")

TOOLS.update(hang=(hang, {}), drag=(drag, {}), fail=(fail, {}))

def make_rig(send, **limits):
    return Rig("garden_valve", TOOLS, safe, send, longest_ms=300, **limits)
"""
"""Appended to the example's own: tools that never end, in one step and in many, and one that raises."""

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not INTERPRETER.exists(),
    reason="MicroPython's interpreter is missing: make -C firmware_bridge/firmware micropython",
)


class Pins:
    """What the example drives its valve to."""

    def __init__(self, lines: IO[str]) -> None:
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
                else:
                    self.said.append(line)
                self._changed.notify_all()

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
    process = subprocess.Popen(
        ["node", str(RUNNER), str(INTERPRETER), str(example), main, str(soil)],
        stdin=link_in,
        stdout=link_out,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield Pins(process.stderr)
    finally:
        process.kill()
        process.wait()


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


class Relay:
    """The broker's side of the stand-in for umqtt: what the example says to it goes to a real broker."""

    def __init__(self, port: int, lines: IO[str], to_board: int) -> None:
        self._client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
        self._client.on_message = lambda _client, _data, message: os.write(
            to_board, json.dumps([message.topic, message.payload.decode()]).encode() + b"\n"
        )
        self._port = port
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()

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
        self._client.disconnect()
        self._client.loop_stop()


@contextmanager
def on_mqtt(soil: int) -> Iterator[tuple[RigClient, Pins]]:
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    os.set_blocking(in_read, False)
    with (
        EmbeddedBroker() as broker,
        interpreter("main_mqtt.py", soil, in_read, out_write) as pins,
        os.fdopen(out_read) as lines,
    ):
        relay = Relay(broker.port, lines, in_write)
        try:
            with RigClient(open_link(f"{broker.url}/garden")) as client:
                client.open(20.0)
                yield client, pins
        finally:
            relay.close()
            for end in (in_read, in_write, out_write):
                os.close(end)


@pytest.mark.parametrize("link", [on_serial, on_mqtt])
def test_the_example_keeps_the_rules_of_the_wire(link: object) -> None:
    assert callable(link)
    with link(DRY) as (client, pins):
        assert client.status.device == "garden_valve"
        assert client.call("read_soil", {}).value == {"soil": "dry"}
        first = client.call("open_valve", {"seconds": 0.2}, call_id="once")
        assert (first.status, first.value) == ("ok", {"seconds": 0.2})
        assert pins.wait_for(0)
        assert client.call("open_valve", {"seconds": 0.2}, call_id="once") == first
        assert client.call("open_valve", {"seconds": 99}).message == "seconds must be from 0.1 to 60"
        assert client.call("open_valve", {"seconds": True}).message == "seconds has the wrong type"
        assert client.call("open_valve", {}).code == "bad_arguments"
        assert client.call("dig", {}).code == "unknown_tool"
        assert client.init({}, 0).status == "invalid"

        outcomes = []
        thread = threading.Thread(target=lambda: outcomes.append(client.call("open_valve", {"seconds": 50})))
        thread.start()
        assert pins.wait_for(1)
        assert client.ping() > 0.0
        assert client.estop(5.0)
        thread.join()
        assert pins.wait_for(0)
        assert (outcomes[0].status, outcomes[0].code) == ("fault", "stopped")
        assert client.call("read_soil", {}).code == "estop"
        assert client.reset(5.0)
        assert client.call("read_soil", {}).status == "ok"
        assert pins.said == []


@pytest.fixture
def careless(tmp_path: Path) -> Path:
    """The example with tools that were written without care."""
    folder = tmp_path / "careless"
    shutil.copytree(EXAMPLE, folder)
    with (folder / "garden.py").open("a") as garden:
        garden.write(CARELESS_TOOLS)
    return folder


def test_it_says_what_reset_it_and_when_it_stops_by_itself() -> None:
    with on_serial(DRY) as (client, _pins):
        assert client.status is not None
        assert (client.status.watchdog_ms, client.status.reset) == (2000, "power")


def test_a_tool_that_goes_on_for_too_long_is_ended(careless: Path) -> None:
    with on_serial(DRY, careless) as (client, pins):
        outcome = client.call("drag", {})
        assert (outcome.status, outcome.code) == ("fault", "overdue")
        assert pins.wait_for_shut_again()
        assert client.call("read_soil", {}).status == "ok"


def test_a_tool_that_raises_leaves_the_valve_shut(careless: Path) -> None:
    with on_serial(DRY, careless) as (client, pins):
        outcome = client.call("fail", {})
        assert (outcome.status, outcome.code) == ("fault", "internal")
        assert pins.wait_for_shut_again()
        assert client.call("read_soil", {}).status == "ok"


def test_a_step_that_never_ends_resets_the_chip(careless: Path) -> None:
    with on_serial(DRY, careless) as (client, pins):
        client.call("hang", {}, timeout=4.0)
        assert pins.wait_for_word("reset by the watchdog\n")
        assert pins.opened


def test_malformed_calls_are_answered_and_do_no_harm() -> None:
    with on_serial(DRY) as (client, pins):
        for call in (
            b'{"op":"call","id":[1],"tool":"read_soil"}',
            b'{"op":"call","id":"a","tool":["read_soil"]}',
            b'{"op":"call","id":"b","tool":"read_soil","args":[1]}',
            b'{"op":"call","id":"c","tool":"read_soil","not_after":"soon"}',
        ):
            client._link.send(call)
            assert client.ping() > 0.0
        again = client.call("read_soil", {}, call_id="b")
        assert (again.status, again.code) == ("invalid", "malformed")
        assert client.call("read_soil", {}).status == "ok"
        assert pins.said == []


def test_its_interlock_refuses_wet_soil() -> None:
    with on_serial(WET) as (client, pins):
        outcome = client.call("open_valve", {"seconds": 1})
        assert (outcome.status, outcome.code) == ("rejected", "soil_wet")
        assert pins.valve == 0
