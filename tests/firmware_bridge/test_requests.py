"""How long a call waits for what, on a clock of the test's: each time from both sides."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from given_clock import PlannedClock

from devices.rig_motion import Event
from firmware_bridge import messages as wire
from firmware_bridge.client import RigClient
from firmware_bridge.link import Link, LinkError, OnFrame
from firmware_bridge.peer import Callbacks, Peer
from firmware_bridge.probe import Probe
from firmware_bridge.requests import Requests

LATENCY = 0.01


class Line(Link):
    """A line in the same thread: what is sent is noted with its time, and answered `LATENCY` later."""

    name = "rig"

    def __init__(self, clock: PlannedClock, *, answers: str = "ping hello call") -> None:
        self.clock, self.answers = clock, set(answers.split())
        self.sent: list[tuple[float, str]] = []
        self.started, self.boot = 0.0, "a"
        self.up = True
        self.ensured: list[tuple[float, float]] = []
        self.back: float | None = None
        self.asked_permission = 0
        self.discards = 0

    @property
    def connected(self) -> bool:
        return self.up

    def attach(self, on_frame: OnFrame, on_state: Callable[[bool], None]) -> None:
        self.on_frame, self.on_state = on_frame, on_state

    def say(self, **message: Any) -> None:
        self.on_frame(json.dumps(message).encode(), False)

    def send(self, payload: bytes) -> None:
        if not self.up:
            raise LinkError("the cable is out")
        message = json.loads(payload)
        self.sent.append((self.clock.passed, message["op"]))
        if message["op"] in self.answers:
            self.clock.later(LATENCY, lambda: self.answer(message))

    def answer(self, message: dict[str, Any]) -> None:
        if message["op"] == "ping":
            self.say(op="pong", m=int((self.clock.now() - self.started) * 1000))
        elif message["op"] == "hello":
            self.say(op="status", state="online", boot=self.boot)
        else:
            self.say(op="result", id=message["id"], status="ok")

    def ensure(self, timeout: float) -> None:
        if self.up:
            return
        self.ensured.append((self.clock.passed, round(timeout, 6)))
        self.clock.sleep(max(0.0, timeout))
        if not self.up:
            raise LinkError("the broker is gone")

    def lose(self) -> None:
        self.up = False
        self.on_state(False)

    def restore(self) -> None:
        self.up = True
        self.on_state(True)

    def check_permission(self) -> None:
        self.asked_permission += 1

    def discard(self) -> None:
        self.discards += 1

    def estop(self) -> None: ...
    def close(self) -> None: ...

    def times(self, op: str) -> list[float]:
        return [at for at, sent in self.sent if sent == op]


class Rig:
    """A line, and the requests on it."""

    def __init__(self, **options: Any) -> None:
        self.clock = PlannedClock()
        self.line = Line(self.clock, **options)
        self.peer = Peer("rig", Callbacks(), self.clock)
        self.probe = Probe(self.line, self.peer)
        self.line.attach(self.peer.take, self.peer.link_changed)
        self.requests = Requests(self.line, self.peer, self.probe, 1.0)

    def call(self, timeout: float = 120.0, **options: Any) -> tuple[str, str | None]:
        outcome = self.requests.run(wire.Call(id="c", tool="t", args={}), timeout, **options)
        self.message = outcome.message
        return outcome.status, outcome.code


def deaf(**options: Any) -> Rig:
    """A rig that has shown that it answers no pings, and falls silent."""
    rig = Rig(answers="hello", **options)
    for _ in range(3):
        assert not rig.probe.measure(1.0) and not rig.peer.pongs
    assert rig.peer.answers_no_pings and rig.clock.passed == 0.63
    rig.line.answers.clear()
    return rig


def pinged(**options: Any) -> Rig:
    """A rig that has answered a ping at 0.01 s."""
    rig = Rig(**options)
    assert rig.probe.measure(1.0)
    return rig


def test_an_answered_call_is_sent_once() -> None:
    rig = pinged()
    assert rig.call() == ("ok", None)
    assert rig.line.times("call") == [0.01] and rig.clock.passed == 0.02


@pytest.mark.parametrize(("boot", "outcome"), [("a", ("ok", None)), ("b", ("fault", "device_reset"))])
def test_a_clock_that_fell_behind_is_a_reset_where_the_boot_is_another(
    boot: str, outcome: tuple[str, str | None]
) -> None:
    rig = pinged(answers="ping hello")
    assert rig.probe.hello(1.0)
    rig.line.started, rig.line.boot = rig.clock.now() + 0.5, boot
    rig.clock.at(2.0, lambda: rig.line.say(op="result", id="c", status="ok"))
    assert rig.call() == outcome
    assert rig.line.times("call") == ([0.01] if boot == "b" else [0.01, 1.03])


def test_it_is_sent_again_after_one_two_and_then_each_four_seconds() -> None:
    rig = deaf()
    began = rig.clock.passed
    assert rig.call(20.0) == ("fault", "timeout")
    # A device that answers no pings is not asked before.
    times = [round(at - began, 6) for at in rig.line.times("call")]
    assert times == [0.0, 1.0, 3.0, 7.0, 11.0, 15.0, 19.0]
    assert rig.clock.passed == began + 20.0 and len(rig.line.times("ping")) == 3


@pytest.mark.parametrize(("word", "ends"), [(None, 10.01), (9.9, 19.9)])
def test_a_device_that_falls_silent_has_ten_seconds_from_its_last_word(
    word: float | None, ends: float
) -> None:
    rig = pinged()
    rig.line.answers.clear()
    if word is not None:
        rig.clock.at(word, lambda: rig.line.say(op="sample", sensor="s", value=1, t=1.0))
    assert rig.call() == ("fault", "timeout")
    assert rig.clock.passed == ends and rig.message == "the rig rig did not answer t in 10 s"
    assert len(rig.line.times("call")) == 1, "one that answers no ping gets no second copy"
    assert rig.line.asked_permission == 1


def test_a_device_that_says_anything_within_ten_seconds_is_waited_for() -> None:
    rig = pinged(answers="ping")
    rig.clock.at(60.0, lambda: rig.line.say(op="result", id="c", status="ok"))
    assert rig.call() == ("ok", None) and rig.clock.passed == 60.0


def test_one_that_answers_no_pings_has_the_calls_whole_time() -> None:
    rig = deaf()
    began = rig.clock.passed
    assert rig.call(60.0) == ("fault", "timeout") and rig.clock.passed == began + 60.0


@pytest.mark.parametrize("answers", ["call", "hello call"])
def test_a_device_that_may_answer_pings_gets_no_call_before_it_has(answers: str) -> None:
    """Its broker was gone, say, when the run opened it, and its pongs were lost."""
    rig = Rig(answers=answers)
    if answers == "call":
        assert rig.call(3.0) == ("fault", "timeout") and rig.line.times("call") == []
        assert not rig.peer.answers_no_pings
        rig.line.answers.update(("ping", "hello"))
        assert rig.call(3.0) == ("ok", None) and rig.peer.clock.known
    else:
        assert rig.call(3.0) == ("ok", None) and rig.peer.answers_no_pings
        assert rig.line.times("call") == [pytest.approx(3 * (LATENCY + 0.2))]


@pytest.mark.parametrize(("away", "outcome"), [(9.99, ("ok", None)), (10.02, ("fault", "link"))])
def test_a_lost_link_has_ten_seconds_to_come_back(away: float, outcome: tuple[str, str | None]) -> None:
    rig = pinged(answers="ping hello")
    rig.clock.at(2.0, rig.line.lose)
    rig.clock.at(2.0 + away, rig.line.restore)
    rig.clock.at(2.0 + away, lambda: rig.line.answers.add("call"))
    assert rig.call() == outcome
    assert rig.line.ensured == [(2.0, 10.0)] and rig.line.discards == (outcome[0] == "fault")


def test_a_link_that_was_lost_before_the_call_has_what_is_left_of_them() -> None:
    rig = Rig()
    rig.line.lose()
    rig.clock.sleep(7.0)
    assert rig.call() == ("fault", "link")
    assert rig.line.ensured == [(7.0, 3.0)] and rig.clock.passed == 10.0


def test_a_result_that_came_while_the_link_was_looked_for_is_the_answer() -> None:
    rig = pinged(answers="ping")
    rig.clock.at(1.0, rig.line.lose)
    rig.clock.at(2.0, lambda: rig.line.say(op="result", id="c", status="rejected"))
    assert rig.call() == ("rejected", "rejected") and rig.line.ensured == [(1.0, 10.0)]


@pytest.mark.parametrize(("gone", "outcome"), [(4.99, ("ok", None)), (5.01, ("fault", "offline"))])
def test_a_rig_that_says_it_is_offline_has_five_seconds(gone: float, outcome: tuple[str, str | None]) -> None:
    rig = pinged(answers="ping")
    rig.line.say(op="status", state="online", boot="a")
    rig.clock.at(1.0, lambda: rig.line.say(op="status", state="offline", boot="a"))
    rig.clock.at(1.0 + gone, lambda: rig.line.say(op="status", state="online", boot="a"))
    rig.clock.at(1.0 + gone, lambda: rig.line.say(op="result", id="c", status="ok"))
    assert rig.call() == outcome
    assert rig.clock.passed == min(1.0 + gone, 6.0)


@pytest.mark.parametrize(("answered", "outcome"), [(31.99, ("ok", None)), (32.01, ("fault", "timeout"))])
def test_an_ack_extends_the_call_to_two_seconds_after_its_eta(
    answered: float, outcome: tuple[str, str | None]
) -> None:
    rig = deaf()
    rig.clock.at(0.63 + 0.5, lambda: rig.line.say(op="ack", id="c", eta=29.5))
    rig.clock.at(0.63 + answered, lambda: rig.line.say(op="result", id="c", status="ok"))
    assert rig.call(5.0) == outcome
    assert rig.line.times("call") == [0.63]
    assert rig.clock.passed == pytest.approx(0.63 + min(answered, 32.0))


def test_an_ack_extends_it_to_ten_times_its_time_at_most() -> None:
    rig = Rig(answers="")
    rig.clock.at(0.5, lambda: rig.line.say(op="ack", id="c", eta=1e6))
    assert rig.call(5.0) == ("fault", "timeout") and rig.clock.passed == 50.0


def test_a_long_ack_keeps_a_silent_device_from_being_taken_for_mute() -> None:
    rig = pinged()
    rig.line.answers.clear()
    rig.clock.at(0.5, lambda: rig.line.say(op="ack", id="c", eta=30.0))
    rig.clock.at(40.4, lambda: rig.line.say(op="result", id="c", status="ok"))
    assert rig.call() == ("ok", None)
    mute = pinged()
    mute.line.answers.clear()
    mute.clock.at(0.5, lambda: mute.line.say(op="ack", id="c", eta=30.0))
    assert mute.call() == ("fault", "timeout") and mute.clock.passed == 40.5


def test_a_call_is_given_up_when_its_time_is_up_or_a_person_says_so() -> None:
    rig = pinged(answers="ping")
    assert rig.call(within=3.0) == ("fault", "timeout") and rig.clock.passed == 3.01
    assert rig.message == "the call to rig was given up after 3.0 s"
    told = pinged(answers="ping")
    told.clock.at(5.0, lambda: told.requests.give_up(0.8))
    assert told.call() == ("fault", "timeout") and told.clock.passed == 5.8


def test_not_after_is_the_deadline_on_the_devices_clock() -> None:
    rig = Rig(answers="ping call")
    sent: list[Any] = []
    rig.line.send_call = lambda payload, call_id, seconds: (
        sent.append(  # type: ignore[method-assign]
            (call_id, json.loads(payload)["not_after"], round(seconds, 6))
        )
        or Line.send(rig.line, payload)
    )
    rig.probe.measure(1.0)
    assert rig.call(60.0) == ("ok", None)
    # The device's clock is ours, known to the round trip.
    ((call_id, not_after, seconds),) = sent
    assert call_id == "c"
    assert 160_000 <= not_after <= 160_010 and seconds == 60.0


@pytest.mark.parametrize(("timeout", "asked"), [(60.0, 10.0), (0.4, 0.4)])
def test_a_call_without_its_latest_moment_goes_to_no_device_that_has_answered_pings(
    timeout: float, asked: float
) -> None:
    rig = pinged()
    rig.peer.link_changed(True)
    assert rig.call() == ("ok", None) and rig.line.times("ping") == [0.0, 0.01]
    assert rig.line.times("call") == [0.02]
    mute = pinged(answers="ping call")
    mute.peer.link_changed(True)
    mute.line.answers.remove("ping")
    began = mute.clock.passed
    assert mute.call(timeout) == ("fault", "timeout") and mute.line.times("call") == []
    assert mute.clock.passed == pytest.approx(began + asked, abs=0.1)


@pytest.mark.parametrize("brokered", [False, True])
def test_over_a_broker_a_call_is_for_the_boot_whose_clock_it_states(brokered: bool) -> None:
    rig = pinged()
    rig.line.brokered = brokered
    assert rig.probe.hello(1.0)
    sent: list[Any] = []
    right, rig.line.send = (
        rig.line.send,
        lambda payload: (sent.append(json.loads(payload)), right(payload))[1],
    )  # type: ignore[method-assign]
    assert rig.call() == ("ok", None) and sent[0].get("boot") == ("a" if brokered else None)


def test_a_call_that_waits_while_the_rig_is_stopped_is_not_sent() -> None:
    """Its board may have been reset since, and have forgotten the stop."""
    rig = pinged()
    rig.line.lose()
    rig.clock.at(1.0, lambda: rig.line.rig.on(Event.HALT))
    rig.clock.at(2.0, rig.line.restore)
    assert rig.call() == ("rejected", "estop") and rig.line.times("call") == []
    assert rig.call() == ("ok", None), "one that begins in the stop is the rig's to refuse"


def test_a_late_pong_of_an_earlier_boot_measures_no_clock() -> None:
    rig = Rig(answers="hello")
    assert rig.probe.hello(1.0)
    rig.clock.at(0.1, lambda: rig.line.say(op="pong", m=90_000, boot="before"))
    assert not rig.probe.measure(1.0) and not rig.peer.clock.known
    rig.clock.at(1.1, lambda: rig.line.say(op="pong", m=1_100, boot="a"))
    rig.clock.at(1.2, lambda: rig.line.say(op="pong", m=1_200, boot="a"))
    assert rig.probe.measure(1.0) and rig.peer.clock.known


def test_a_pong_after_one_that_another_thread_missed_measures_no_clock() -> None:
    """Its call would have no latest moment."""
    rig = Rig(answers="ping")
    missed = rig.line.send

    def send(payload: bytes) -> None:
        rig.line.send = missed  # type: ignore[method-assign]
        rig.peer.ping_missed = True
        missed(payload)

    rig.line.send = send  # type: ignore[method-assign]
    assert rig.probe.measure(1.0) and rig.peer.clock.known


def test_a_call_after_a_link_came_back_has_its_not_after_again() -> None:
    rig = pinged()
    rig.peer.link_changed(True)
    sent: list[Any] = []
    rig.line.send_call = lambda payload, call_id, seconds: (
        sent.append(  # type: ignore[method-assign]
            json.loads(payload)
        )
        or Line.send(rig.line, payload)
    )
    assert rig.call(60.0) == ("ok", None)
    assert 160_000 <= sent[0]["not_after"] <= 160_040


def test_a_call_that_is_longer_than_the_device_takes_says_so() -> None:
    rig = pinged()
    rig.line.default_max_frame = 20
    assert rig.call() == ("invalid", "too_long") and rig.line.times("call") == []
    assert rig.message is not None and "bytes on the wire; the device takes 20" in rig.message


@pytest.mark.parametrize(("timeout", "taken"), [(0.5, 0.5), (2.0, 2.0)])
def test_an_unanswered_ping_takes_its_time_and_no_more(timeout: float, taken: float) -> None:
    rig = Rig(answers="")
    with pytest.raises(LinkError, match=f"no pong from rig within {timeout:.2g} s"):
        rig.probe.ping(timeout)
    assert rig.clock.passed == taken
    assert not rig.probe.hello(timeout) and rig.clock.passed == 2 * taken


def test_after_a_missed_pong_the_clock_is_measured_by_the_second_ping() -> None:
    rig = Rig(answers="")
    assert not rig.probe.measure(1.0)
    rig.line.answers.add("ping")
    assert rig.probe.measure(1.0) and rig.peer.clock.known
    assert rig.clock.passed == 1.02 and len(rig.line.times("ping")) == 3


class Session:
    """A client on the planned clock; its own threads are not started."""

    def __init__(self) -> None:
        self.clock = PlannedClock()
        self.line = Line(self.clock)
        self.client = RigClient(self.line, clock=self.clock)
        self.client._attach()
        self.client.ping(1.0)


def test_a_mute_device_ends_the_run_ten_seconds_after_its_last_word() -> None:
    rig = Session()
    rig.line.answers.clear()
    assert rig.client.call("t", {}).code == "timeout" and rig.clock.passed == 10.01
    with pytest.raises(LinkError, match="no pong"):
        rig.client.regain(10.0)
    assert rig.clock.passed <= 10.2, "the ten seconds were over"
    rig.line.answers.add("ping")
    rig.client.regain(10.0)


@pytest.mark.parametrize(("back", "there"), [(9.8, True), (10.3, False)])
def test_a_link_is_looked_for_ten_seconds_after_a_fault(back: float, there: bool) -> None:
    rig = Session()
    rig.line.ensure = lambda timeout: rig.line.send(b'{"op": "hello"}')  # type: ignore[method-assign]
    rig.line.lose()
    rig.clock.at(0.01 + back, rig.line.restore)
    if there:
        rig.client.regain(10.0)
        assert rig.clock.passed == pytest.approx(0.01 + back + LATENCY, abs=0.11)
    else:
        with pytest.raises(LinkError, match="the cable is out; waited 10 s"):
            rig.client.regain(10.0)
        assert rig.clock.passed == pytest.approx(10.01, abs=0.11)


def test_a_call_to_a_rig_that_was_stopped_just_before_goes_out_only_where_that_is_asked_for() -> None:
    rig = Rig()
    rig.line.rig.on(Event.HALT)
    assert rig.call(to_stopped=False) == ("rejected", "estop") and rig.line.times("call") == []
    assert rig.call() == ("ok", None) and len(rig.line.times("call")) == 1
