"""An MQTT connection whose own thread reads and writes: order, signals at any instant, nonsense."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bridge_rig import Mosquitto, ScriptedDevice, wait_until

from devices.outcome import StopOutcome
from devices.sensors import Sample
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort

pytestmark = pytest.mark.broker


@contextmanager
def rig(url: str, **options: Any) -> Iterator[tuple[RigClient, ScriptedDevice]]:
    device, name = ScriptedDevice(), f"rig-{secrets.token_hex(3)}"
    with (
        DeviceEndpoint(device, MqttPort(url, name), watchdog_ms=30_000),
        RigClient(open_link(f"{url}/{name}"), **options) as client,
    ):
        client.open()
        yield client, device


def test_samples_arrive_in_order_and_before_their_calls_result(mosquitto_url: str) -> None:
    samples: list[Sample] = []
    with rig(mosquitto_url, on_sample=samples.append) as (client, device):
        for number in range(20):
            assert client.call("echo", {}).status == "ok"
            assert len(samples) == number + 1
        assert [sample.t for sample in samples] == [float(number) for number in range(1, 21)]
        samples.clear()
        assert device._emit is not None
        for number in range(20):
            device._emit(Sample("moisture.plant_A", "dry", float(number)))
        assert wait_until(lambda: len(samples) == 20)
        assert [sample.t for sample in samples] == [float(number) for number in range(20)]


def test_ping_and_stop_come_through_while_a_call_runs_even_one_unacknowledged_message_at_a_time() -> None:
    # The broker sends a client nothing more while one message is not acknowledged.
    with (
        Mosquitto("allow_anonymous true\nmax_inflight_messages 1\n") as broker,
        rig(broker.url) as (client, device),
    ):
        for _ in range(3):
            device.started.clear()
            device.made_safe.clear()
            outcomes: list[Any] = []
            caller = threading.Thread(target=lambda into=outcomes: into.append(client.call("slow", {})))
            caller.start()
            assert device.started.wait(25)
            assert client.ping() < 2.0
            assert client.estop()
            caller.join(25)
            assert [outcome.code for outcome in outcomes] == ["stopped"] and device.made_safe.is_set()
            assert client.reset()
            assert client.call("echo", {"a": 1}).value == {"a": 1}


def test_pings_of_many_threads_and_calls_get_their_own_answers(mosquitto_url: str) -> None:
    with rig(mosquitto_url) as (client, device):
        trips: list[float] = []
        pingers = [
            threading.Thread(target=lambda: trips.extend(client.ping(5.0) for _ in range(30)))
            for _ in range(3)
        ]
        for pinger in pingers:
            pinger.start()
        for number in range(60):
            assert client.call("echo", {"n": number}).value == {"n": number}
        for pinger in pingers:
            pinger.join(25)
        assert len(trips) == 90 and len(device.executed) == 60


class Struck(BaseException):
    """What the handler of Ctrl-C raises."""


def test_ctrl_c_ends_a_call_and_leaves_the_connection_whole(mosquitto_url: str) -> None:
    def strike(_number: int, _frame: object) -> None:
        raise Struck

    before = signal.signal(signal.SIGINT, strike)
    try:
        with rig(mosquitto_url) as (client, device):
            for _ in range(5):
                device.started.clear()
                device.made_safe.clear()

                def hit() -> None:
                    assert device.started.wait(25)
                    os.kill(os.getpid(), signal.SIGINT)

                hitter = threading.Thread(target=hit)
                hitter.start()
                with pytest.raises(Struck):
                    client.call("slow", {})
                hitter.join(25)
                assert client.estop() and device.made_safe.is_set()
                assert client.reset()
                assert client.call("echo", {"a": 1}).value == {"a": 1}
    finally:
        signal.signal(signal.SIGINT, before)


def test_signals_at_any_instant_leave_connection_and_locks_whole(mosquitto_url: str) -> None:
    def strike(_number: int, _frame: object) -> None:
        raise Struck

    before = signal.signal(signal.SIGALRM, strike)
    chance, struck = random.Random(1), 0
    try:
        with rig(mosquitto_url) as (client, device):
            connection = client._link.socket()
            for _ in range(200):
                try:
                    signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 1e-3))
                    client.call("echo", {})
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                except Struck:
                    struck += 1
            # The worker may still run the last one.
            assert wait_until(lambda: client.call("echo", {"a": 1}).value == {"a": 1})
            assert client.estop() is StopOutcome.CONFIRMED and device.made_safe.is_set()
            assert client._link.socket() is connection
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert struck >= 5


def test_a_broker_that_sends_nonsense_ends_no_thread(mosquitto_url: str) -> None:
    """Packets between broker and host pass a proxy of ours, which breaks in once."""
    upstream = ("127.0.0.1", int(mosquitto_url.rpartition(":")[2]))
    nonsense = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=proxy, args=(server, upstream, nonsense), daemon=True).start()
        name = f"rig-{secrets.token_hex(3)}"
        with (
            DeviceEndpoint(ScriptedDevice(), MqttPort(mosquitto_url, name), watchdog_ms=30_000),
            RigClient(
                open_link(f"mqtt://127.0.0.1:{server.getsockname()[1]}/{name}?version=5"), retry_after=0.3
            ) as client,
        ):
            client.open()
            for _ in range(3):
                assert client.call("echo", {"a": 1}, timeout=30).status == "ok"
                nonsense.set()
                assert client.call("echo", {"a": 1}, timeout=30).status == "ok"
                assert wait_until(lambda: not nonsense.is_set())
                assert client.call("echo", {"a": 1}, timeout=30).status == "ok"


# PUBLISH (QoS 1, MQTT 5) whose properties hold an identifier that does not exist.
BAD_PUBLISH = b"\x32\x08\x00\x01a\x00\x05\x01\x7f\x00"


def proxy(server: socket.socket, upstream: tuple[str, int], nonsense: threading.Event) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        broker = socket.create_connection(upstream)

        def pump(source: socket.socket, sink: socket.socket, spoil: bool) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    if spoil and nonsense.is_set():
                        nonsense.clear()
                        data = BAD_PUBLISH
                    sink.sendall(data)
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=pump, args=(client, broker, False), daemon=True).start()
        threading.Thread(target=pump, args=(broker, client, True), daemon=True).start()


@contextmanager
def closing_the_first(url: str, count: int) -> Iterator[str]:
    """A door to a broker that closes its first connections before an answer; its URL."""
    port = int(url.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", 0)) as server:

        def pump(source: socket.socket, sink: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while data := source.recv(4096):
                    sink.sendall(data)
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        def serve() -> None:
            with contextlib.suppress(OSError):
                for number in range(50):
                    near, _ = server.accept()
                    if number < count:
                        near.close()
                        continue
                    far = socket.create_connection(("127.0.0.1", port))
                    for pair in ((near, far), (far, near)):
                        threading.Thread(target=pump, args=pair, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"mqtt://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("closes", [0, 1, 9])
def test_one_close_before_an_answer_is_tried_again_and_more_are_a_refusal(
    mosquitto_url: str, closes: int
) -> None:
    with closing_the_first(mosquitto_url, closes) as url:
        port = MqttPort(url, f"rig-{secrets.token_hex(3)}")
        if closes > 1:
            with pytest.raises(LinkError, match="closes the connection before it answers"):
                DeviceEndpoint(ScriptedDevice(), port).start()
        else:
            with DeviceEndpoint(ScriptedDevice(), port):
                pass
