"""The rig lock: one host at a time, by a lease that is renewed, given back, taken away, or dies."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator

import pytest
from bridge_rig import Mosquitto, ScriptedDevice, python_child, wait_until
from given_clock import GivenClock

from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mqtt import lease as mqtt_lease
from firmware_bridge.mqtt.lease import Claim, Lease, decode_claim
from firmware_bridge.mqtt.link import MqttLink, MqttPort

pytestmark = pytest.mark.broker

HOST = """
import sys, time
from firmware_bridge.client import RigClient
from firmware_bridge.links import open_link
client = RigClient(open_link(sys.argv[1]))
client.open()
print("drives", flush=True)
time.sleep(60)
"""


@pytest.fixture(params=["mosquitto_url", "embedded_broker_url"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    broker = request.getfixturevalue(request.param)
    url = f"{broker}/rig-{secrets.token_hex(3)}"
    with DeviceEndpoint(ScriptedDevice(), MqttPort(url), watchdog_ms=20_000):
        yield url


def drives(url: str) -> bool:
    try:
        with RigClient(open_link(url)) as client:
            client.open()
            client.reset()
            return client.call("echo", {}).status == "ok"
    except LinkError as error:
        assert "is driven by" in str(error)
        return False


def test_a_second_host_is_told_who_drives_and_since_when_and_leaves_the_rig_alone(url: str) -> None:
    with RigClient(open_link(url)) as first:
        first.open()
        with (
            pytest.raises(LinkError, match=r"is driven by .+ \(process \d+\) since 20\d\d-.* UTC") as told,
            RigClient(open_link(url)) as second,
        ):
            second.open()
        assert "\n" not in str(told.value)
        assert not drives(url)
        assert first.call("echo", {}).status == "ok"
    assert drives(url) and drives(url)


def test_a_host_that_only_looks_needs_no_lease_and_takes_none(url: str) -> None:
    with RigClient(open_link(url)) as first:
        first.open()
        onlooker = RigClient(open_link(url))
        onlooker.open(claim=False)
        assert onlooker.ping() > 0
        onlooker.close(safe=False)
        assert first.call("echo", {}).status == "ok"


def test_a_host_that_is_killed_does_not_hold_its_rig(url: str) -> None:
    with python_child(HOST, url) as other:
        assert other.stdout is not None and other.stdout.readline() == "drives\n"
        assert not drives(url)
        other.kill()
        other.wait()
        with RigClient(open_link(url)) as client:
            client.open()
            # its watchdog may have stopped the rig by now; that it is ours to reset is what counts
            client.reset()
            assert client.call("echo", {}).status == "ok"


def test_a_lease_that_nobody_renews_dies(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = Claim("somebody", "somebody on elsewhere (process 1)", time.time() + 3600, 0.4)
    with MqttLinkAsOther(url) as other:
        other.leave(dead)
        assert drives(url)


class MqttLinkAsOther:
    """Another host's connection, from which any lease can be written."""

    def __init__(self, url: str) -> None:
        self._link = MqttLink(url)

    def leave(self, claim: Claim) -> None:
        self._link.lease._publish(claim.encode())
        assert wait_until(lambda: self._link.lease.holder() == claim)

    def holder(self) -> Claim | None:
        return self._link.lease.holder()

    def __enter__(self) -> MqttLinkAsOther:
        return self

    def __exit__(self, *_: object) -> None:
        self._link._connection.publish(self._link._topics.of("lease"), b"", retain=True)
        self._link.close()


def test_a_host_keeps_its_lease_when_a_later_one_is_written_over_it(url: str) -> None:
    with RigClient(open_link(url)) as first, MqttLinkAsOther(url) as other:
        first.open()
        assert wait_until(lambda: other.holder() is not None)
        mine = other.holder()
        other._link.lease._publish(Claim("z", "z", time.time() + 60, 5.0).encode())
        assert mine is not None
        assert wait_until(
            lambda: (now := other.holder()) is not None and now.id == mine.id and now.n > mine.n
        )
        assert first.call("echo", {}).status == "ok"


def test_a_host_that_lost_its_lease_drives_no_more(url: str) -> None:
    with RigClient(open_link(url)) as first, MqttLinkAsOther(url) as other:
        first.open()
        other._link.lease._publish(Claim("a", "an earlier host", 1.0, 5.0).encode())
        assert wait_until(lambda: first.call("echo", {}).status == "fault")
        outcome = first.call("echo", {})
        assert outcome.code == "link" and "driven by an earlier host" in str(outcome.message)


def test_a_lease_outlives_a_broker_that_was_restarted() -> None:
    with (
        Mosquitto() as broker,
        DeviceEndpoint(ScriptedDevice(), MqttPort(f"{broker.url}/rig")),
        RigClient(open_link(f"{broker.url}/rig")) as first,
    ):
        first.open()
        broker.kill()
        broker.start()
        assert first.call("echo", {}).status == "ok"
        assert not drives(f"{broker.url}/rig")


def test_an_absence_longer_than_the_lease_makes_it_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqtt_lease, "ECHO_SECONDS", 0.0)
    written: list[Claim | None] = []
    clock = GivenClock()
    lease = Lease("rig", lambda payload: written.append(decode_claim(payload)), clock)
    lease.claim(0.0, lambda _: None)
    first = written[-1]
    lease.link_changed(False)
    lease.link_changed(True)
    assert written[-1] is not None and first is not None and written[-1].since == first.since
    lease.link_changed(False)
    clock.jump(60)
    lease.link_changed(True)
    assert written[-1].since > first.since  # type: ignore[union-attr]
    # who claimed it meanwhile goes before us
    lease.take(json.dumps({"v": 2}).encode(), False)
    lease.take(Claim("b", "b", first.since + 1e-9, 6.0).encode(), False)
    assert lease.lost is not None and "driven by b" in lease.lost


LEASE = b'{"v":1,"op":"lease","id":"x","holder":"%s","since":%s,"seconds":%s,"n":%s}'


def lease(holder: bytes = b"h", since: bytes = b"0", seconds: bytes = b"6", n: bytes = b"1") -> bytes:
    return LEASE % (holder, since, seconds, n)


def test_a_lease_that_would_last_for_ever_is_waited_for_as_long_as_one_may_last(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt_lease, "MOST_SECONDS", 0.5)
    told: list[str] = []
    with MqttLinkAsOther(url) as other:
        other._link.lease._publish(lease(b"somebody\\u001b[2J", seconds=b"1e9"))
        assert wait_until(lambda: other.holder() is not None)
        with RigClient(open_link(url), tell=told.append) as client:
            client.open()
            assert client.call("echo", {}).code in (None, "estop")
    assert told == ["waiting for the lease of somebody?[2J, at most 1 s"]


def test_a_lease_lasts_a_minute_at_most() -> None:
    claim = decode_claim(lease(seconds=b"1e9"))
    assert claim is not None and claim.seconds == 60.0


@pytest.mark.parametrize(
    "payload",
    [
        lease(seconds=b"NaN"),
        lease(seconds=b"1e999"),
        lease(seconds=b"0"),
        lease(seconds=b"-5"),
        lease(seconds=b'"soon"'),
        lease(since=b"1e300"),
        lease(since=b"-1e18"),
        lease(since=b"9" * 5000),
        lease(n=b"1e999"),
        lease(n=b"9" * 400),
        b"[" * 50_000,
    ],
)
def test_a_strangers_odd_lease_is_ignored(payload: bytes) -> None:
    assert decode_claim(payload) is None


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"{}", b'{"id":1}', b"\xff"])
def test_nonsense_is_no_lease(payload: bytes) -> None:
    assert decode_claim(payload) is None
