import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tank_rig import TankSimulator, tank

from firmware_bridge import messages as wire
from firmware_bridge.client import RigClient
from firmware_bridge.codec import encode
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import Port
from firmware_bridge.links import open_link
from firmware_bridge.local.link import LocalLink, port_for
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.serial.port import SerialPort
from sims.faulty_link import Delayed, FaultyPort, LinkFaults

pytestmark = [pytest.mark.broker, pytest.mark.serial]

BAD_LINK = {
    "schedule": [
        {"kind": "link_loss", "at": 0.0, "strength": 0.2},
        {"kind": "link_delay", "at": 5.0, "seconds": 20.0, "strength": 0.002},
    ]
}
CALLS = 24


@contextmanager
def served(simulator: TankSimulator, way: str, broker: str) -> Iterator[tuple[RigClient, FaultyPort]]:
    """A client of the simulator by one of the three ways."""
    with ExitStack() as stack:
        if way == "local":
            link = LocalLink(simulator)
            faulty = link.endpoint._port
        else:
            name = f"tank-{secrets.token_hex(3)}"
            port: Port = SerialPort("pty") if way == "serial" else MqttPort(f"{broker}/{name}")
            faulty = port_for(simulator, port)
            stack.enter_context(DeviceEndpoint(simulator, faulty))
            link = open_link(f"serial://{port.path}" if way == "serial" else f"{broker}/{name}")
        client = stack.enter_context(RigClient(link, retry_after=0.02))
        client.open()
        client.reset()
        assert isinstance(faulty, FaultyPort)
        yield client, faulty


@pytest.mark.parametrize("way", ["local", "serial", "mqtt"])
def test_no_call_is_lost_or_done_twice_on_a_bad_link(way: str, mosquitto_url: str) -> None:
    simulator, _ = tank()
    with served(simulator, way, mosquitto_url) as (client, port):
        assert client.init({"faults": BAD_LINK}, 5).status == "ok"
        outcomes = [client.call("wait", {"seconds": 1.0}, timeout=30.0) for _ in range(CALLS)]
        assert [outcome.status for outcome in outcomes] == ["ok"] * CALLS
        assert [outcome.t for outcome in outcomes] == [k + 1.0 for k in range(CALLS)]
        assert simulator.ended == CALLS
        assert port.faults.lost >= 5
        assert port.faults.delayed >= 12
        # Another episode without faults, on the same link.
        assert client.init({}, 5).status == "ok"
        lost = port.faults.lost
        assert client.call("wait", {"seconds": 1.0}, timeout=30.0).t == 1.0
        assert port.faults.lost == lost


def fates(seed: int, pings: int) -> list[float | None]:
    simulator, _ = tank(faults=BAD_LINK, seed=seed)
    faults, found = LinkFaults(simulator), []
    for k in range(60):
        for _ in range(pings):
            faults.fate("in", "ping", None)
        for attempt in ("in", "out", "in", "out"):
            found.append(faults.fate(attempt, "call" if attempt == "in" else "result", f"id{seed}{k}"))
    return found


def test_what_is_lost_depends_on_the_seed_and_not_on_how_often_the_host_pings() -> None:
    assert fates(1, 0) == fates(1, 3) != fates(2, 0)
    lost = fates(1, 0).count(None)
    assert 20 < lost < 80, "of 240, a fifth"


def test_faults_of_the_link_come_and_go_with_device_time() -> None:
    simulator, _ = tank(
        faults={"schedule": [{"kind": "link_loss", "at": 2.0, "seconds": 1.0, "strength": 1.0}]}
    )
    faults = LinkFaults(simulator)
    seen = []
    for tick in (0, 1999, 2000, 2999, 3000):
        simulator.clock.ticks = tick
        seen.append(faults.fate("in", "ping", None))
    assert seen == [0.0, 0.0, None, None, 0.0]
    assert faults.fate("out", "truth", None) == faults.fate("in", "init", None) == 0.0


DEAF = {"schedule": [{"kind": "link_loss", "at": 0.0, "strength": 1.0}]}


def test_a_stop_comes_through_a_link_that_loses_all_else() -> None:
    simulator, _ = tank()
    with RigClient(LocalLink(simulator), retry_after=0.05) as client:
        client.open()
        client.reset()
        assert client.init({"faults": DEAF}, 0).status == "ok"
        assert client.call("wait", {"seconds": 1.0}, timeout=0.3).code == "timeout"
        assert simulator.ended == 0
        client.estop(timeout=1.0)
        assert simulator.locked is True
        assert client.status is not None and client.status.state == "estop"


def test_a_board_that_was_reset_tells_its_status_and_takes_calls() -> None:
    simulator, _ = tank()
    statuses: list[str] = []
    with RigClient(LocalLink(simulator), on_status=lambda status: statuses.append(status.state)) as client:
        client.open()
        client.reset()
        client.init({"faults": {"schedule": [{"kind": "reset", "at": 1.5}]}}, 0)
        before = len(statuses)
        outcome = client.call("wait", {"seconds": 2.0})
        assert (outcome.status, outcome.code, outcome.duration) == ("fault", "reset", 1.5)
        client.drain()
        assert statuses[before:] == ["online"]
        assert client.call("wait", {"seconds": 2.0}).status == "ok"
        assert simulator.ended == 1


def test_what_is_late_keeps_its_order() -> None:
    way, came, done = Delayed("test"), [], threading.Event()
    for number, seconds in enumerate([0.03, 0.0, 0.01, 0.0]):
        way.put(seconds, lambda number=number: came.append(number))
    way.put(0.0, done.set)
    assert done.wait(5.0)
    assert came == [0, 1, 2, 3]
    way.close()
    way.put(0.0, lambda: came.append(9))
    assert came == [0, 1, 2, 3], "a closed way delivers nothing"


class Sink(Port):
    """A port that keeps what is sent and hands over frames."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def open(self, handler, last_will, max_frame) -> None:
        self.handler = handler

    def send(self, message, payload: bytes) -> None:
        self.sent.append(message.op)

    def close(self, last: bytes) -> None: ...


class Heard:
    """An endpoint that keeps what it hears."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def on_frame(self, payload: bytes, before_stop: bool = False) -> None:
        self.frames.append(payload)

    def on_stop(self) -> None: ...

    def on_up(self) -> None: ...


def test_the_status_the_truth_and_what_is_no_message_pass_a_link_that_loses_all_else() -> None:
    simulator, _ = tank(faults=DEAF)
    sink, heard = Sink(), Heard()
    port = FaultyPort(sink, simulator)
    port.open(heard, wire.Status(state="offline"), 1000)
    for message in (wire.Pong(), wire.Status(state="online"), wire.Sample(sensor="s", value=1), wire.Truth()):
        port.send(message, encode(message))
    assert sink.sent == ["status", "truth"]
    odd = [b"no json", b"[1]", b'{"op":"call","id":null}', b"[" * 100_000, b'{"op":' + b"9" * 4301 + b"}"]
    frames = [encode(wire.Reset()), encode(wire.Ping()), *odd]
    for frame in (*frames, encode(wire.Call(id="a", tool="wait"))):
        sink.handler.on_frame(frame)
    assert heard.frames == [frames[0], *frames[2:]]
    port.close(b"")


def test_a_port_without_faults_costs_no_thread() -> None:
    simulator, _ = tank()
    before = threading.active_count()
    port = FaultyPort(Sink(), simulator)
    port.open(Heard(), wire.Status(state="offline"), 1000)
    port.send(wire.Pong(), b"")
    assert threading.active_count() == before
    port.close(b"")
