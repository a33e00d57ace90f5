"""The device's end: each id once, one call at a time, nothing late, and a stop that always works."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from bridge_rig import RecordingPort, ScriptedDevice, wait_until
from given_clock import GivenClock
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.outcome import Outcome, StopOutcome
from firmware_bridge.endpoint import DeviceEndpoint


class Rig:
    def __init__(self, **options: Any) -> None:
        self.device = ScriptedDevice(options.pop("simulator", True))
        self.port = RecordingPort()
        self.endpoint = DeviceEndpoint(self.device, self.port, **options)
        self.endpoint.start()

    def call(self, message_id: object, tool: str = "echo", **more: Any) -> None:
        self.port.give({"v": 1, "op": "call", "id": message_id, "tool": tool, "args": {"a": 1}, **more})

    def give(self, op: str) -> None:
        self.port.give({"v": 1, "op": op})

    def status(self) -> str:
        return str(self.port.of("status")[-1]["state"])


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.device.go.set()
    rig.endpoint.close()


def test_a_result_has_what_the_wire_says(rig: Rig) -> None:
    rig.call("a")
    expected = {"v": 1, "op": "result", "id": "a", "status": "ok", "value": {"a": 1}, "t": 1.0, "dur": 1.0}
    assert rig.port.result("a") == expected
    rig.call("b", "refuse")
    refused = rig.port.result("b")
    assert refused["status"] == "rejected" and "value" not in refused
    assert refused["error"] == {"code": "locked", "message": "unlock it first"}


def test_hello_ping_and_the_last_will(rig: Rig) -> None:
    rig.give("hello")
    online = {"v": 1, "op": "status", "state": "online", "device": "scripted", "fw": "scripted 1"}
    online |= {"watchdog_ms": 5000, "max_frame": 65536, "boot": rig.port.of("status")[0]["boot"]}
    first, second = (status.pop("m") for status in rig.port.of("status"))
    assert 0 <= first <= second < 60_000 and rig.port.of("status") == [online, online]
    assert rig.port.will is not None and rig.port.will["state"] == "offline"
    rig.give("ping")
    rig.give("ping")
    first, second = (pong["m"] for pong in rig.port.of("pong"))
    assert isinstance(first, int) and 0 <= first <= second < 60_000


def test_an_id_runs_once_and_is_answered_again_the_same(rig: Rig) -> None:
    for number in range(100):
        rig.call(f"n{number}")
        rig.port.result(f"n{number}")
    for number in range(68, 100):
        rig.call(f"n{number}", "slow")
    assert len(rig.device.executed) == 100
    assert [r for r in rig.port.of("result") if r["id"] == "n68"][0:1] * 2 == [
        r for r in rig.port.of("result") if r["id"] == "n68"
    ]


def test_number_ids_are_answered_as_numbers(rig: Rig) -> None:
    rig.call(7)
    assert rig.port.result(7)["id"] == 7
    rig.call("7")
    assert rig.port.result("7")["status"] == "ok"
    assert len(rig.device.executed) == 2


def test_a_repeated_id_that_runs_is_answered_when_done_and_others_are_busy(rig: Rig) -> None:
    rig.call("slow", "slow")
    assert rig.device.started.wait(25)
    rig.call("slow", "slow")
    rig.call("other")
    rig.port.give({"op": "init", "id": "init", "state": {}, "seed": 1})
    for message_id in ("other", "init"):
        assert rig.port.result(message_id)["status"] == "rejected"
        assert rig.port.result(message_id)["error"]["code"] == "busy"
    assert not [r for r in rig.port.of("result") if r["id"] == "slow"]
    assert {(ack["id"], ack["eta"]) for ack in rig.port.of("ack")} == {("slow", 2.0)}
    rig.device.go.set()
    assert rig.port.result("slow")["status"] == "ok"
    rig.call("other")
    assert [r["error"]["code"] for r in rig.port.of("result") if r["id"] == "other"] == ["busy", "busy"]
    assert len(rig.device.executed) == 1 and not rig.device.inits


def test_a_long_call_is_acknowledged_in_time_to_be_patient(rig: Rig) -> None:
    rig.call("long", "slow")
    assert wait_until(lambda: bool(rig.port.of("ack")))
    ack = rig.port.of("ack")[0]
    assert ack["id"] == "long" and ack["eta"] > 1.0


def test_stop_ping_and_hello_are_answered_while_a_call_runs(rig: Rig) -> None:
    rig.call("slow", "slow")
    assert rig.device.started.wait(25)
    rig.give("ping")
    rig.give("hello")
    assert rig.port.of("pong") and rig.status() == "online"
    rig.give("estop")
    assert rig.device.made_safe.is_set() and rig.status() == "estop"
    assert rig.port.result("slow")["error"]["code"] == "stopped"


def test_after_a_stop_calls_are_refused_until_reset(rig: Rig) -> None:
    rig.port.handler.on_stop()
    rig.call("a")
    assert rig.port.result("a")["error"]["code"] == "estop"
    rig.give("reset")
    assert rig.device.resets == 1 and rig.status() == "online"
    # a second copy of the refused call must not move the machine now
    rig.call("a")
    rig.call("b")
    assert rig.port.result("b")["status"] == "ok"
    assert [r["status"] for r in rig.port.of("result") if r["id"] == "a"] == ["rejected", "rejected"]
    assert len(rig.device.executed) == 1


def test_a_reset_waits_for_the_stopped_call_to_end() -> None:
    rig = Rig()
    blocked = rig.device
    original = blocked.execute

    def deaf(tool: str, arguments: Any, stop: Any) -> Any:
        outcome = original("echo", arguments, stop)
        blocked.started.set()
        blocked.go.wait(10)
        return outcome

    blocked.execute = deaf  # type: ignore[method-assign]
    rig.call("deaf")
    assert blocked.started.wait(25)
    rig.give("estop")
    rig.give("reset")
    assert blocked.resets == 0 and rig.status() == "estop" and rig.endpoint.state == "estop"
    blocked.go.set()
    assert wait_until(lambda: rig.status() == "online")
    assert blocked.resets == 1
    rig.endpoint.close()


def test_a_reset_that_began_before_the_stop_does_not_undo_it(rig: Rig) -> None:
    rig.port.handler.on_stop()
    rig.port.give({"op": "reset"}, before_stop=True)
    assert rig.status() == "estop" and rig.device.resets == 0


def test_a_late_call_is_a_fault_and_is_not_run(rig: Rig) -> None:
    rig.give("ping")
    now = rig.port.of("pong")[-1]["m"]
    rig.call("late", not_after=now - 1)
    assert rig.port.result("late")["status"] == "fault"
    assert rig.port.result("late")["error"]["code"] == "late"
    rig.call("in time", not_after=now + 60_000)
    assert rig.port.result("in time")["status"] == "ok"
    assert len(rig.device.executed) == 1


def test_a_call_of_before_a_reset_is_late_whatever_the_new_clock_says(rig: Rig) -> None:
    boot = rig.port.of("status")[-1]["boot"]
    rig.call("another", not_after=60_000, boot="another")
    assert rig.port.result("another")["error"]["code"] == "late" and not rig.device.executed
    rig.call("this", not_after=60_000, boot=boot)
    assert rig.port.result("this")["status"] == "ok"


def test_the_watchdog_is_armed_by_the_first_message_and_stops_the_device() -> None:
    rig = Rig(watchdog_ms=80)
    assert not wait_until(rig.device.made_safe.is_set, 0.3)
    rig.give("ping")
    assert wait_until(rig.device.made_safe.is_set)
    assert wait_until(lambda: rig.status() == "estop")
    rig.call("a")
    assert rig.port.result("a")["error"]["code"] == "estop"
    rig.give("reset")
    assert rig.status() == "online"
    rig.endpoint.close()


def test_the_watchdog_stops_a_running_call() -> None:
    rig = Rig(watchdog_ms=80)
    rig.call("slow", "slow")
    assert rig.port.result("slow")["error"]["code"] == "stopped"
    assert rig.status() == "estop"
    rig.endpoint.close()


def test_init_goes_to_simulators_only_and_leaves_a_stop_in_force(rig: Rig) -> None:
    rig.port.handler.on_stop()
    rig.port.give({"v": 1, "op": "init", "id": "i", "state": {"pose": 1}, "seed": 4})
    assert rig.port.result("i")["status"] == "ok"
    assert rig.device.inits == [({"pose": 1}, 4)] and rig.endpoint.state == "estop"
    physical = Rig(simulator=False)
    physical.port.give({"op": "init", "id": "i", "state": {}, "seed": 1})
    assert physical.port.result("i")["status"] == "invalid"
    assert not physical.port.of("truth")
    physical.endpoint.close()


def test_samples_and_truth_come_before_the_result(rig: Rig) -> None:
    rig.call("a")
    rig.port.result("a")
    ops = [message["op"] for message in rig.port.sent if message["op"] != "status"]
    assert ops == ["sample", "truth", "result"]
    assert rig.port.of("sample") == [
        {"v": 1, "op": "sample", "sensor": "moisture.plant_A", "value": "wet", "t": 1.0}
    ]
    truth = rig.port.of("truth")[0]
    assert truth["id"] == "a" and truth["state"] == {"calls": 1} and truth["events"][0]["kind"] == "spill"
    rig.port.give({"op": "init", "id": "i"})
    rig.port.result("i")
    assert rig.port.of("truth")[-1]["id"] == "i"


@pytest.mark.parametrize("tool", ["broken", "nan", "long"])
def test_a_device_that_fails_gives_a_fault_and_goes_on(
    rig: Rig, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    rig.call("a", tool)
    assert rig.port.result("a")["status"] == "fault"
    assert rig.port.result("a")["error"]["code"] == "internal"
    assert ("the device failed in call" in caplog.text) is (tool == "broken")
    rig.call("b")
    assert rig.port.result("b")["status"] == "ok"


def test_what_is_not_run_is_answered_with_the_device_time_of_the_last_result(rig: Rig) -> None:
    rig.port.give(b'{"op":"call","id":"first","tool":3}')
    assert rig.port.result("first")["t"] == 0.0
    rig.call("a")
    assert rig.port.result("a")["t"] == 1.0
    rig.port.give(b'{"op":"call","id":"bad","tool":3}')
    rig.call("late", not_after=-1)
    rig.call("slow", "slow")
    assert rig.device.started.wait(25)
    rig.call("busy")
    rig.give("estop")
    rig.port.result("slow")
    rig.call("stopped")
    told = {name: rig.port.result(name) for name in ("bad", "late", "busy", "stopped")}
    assert [result["t"] for result in told.values()] == [1.0, 1.0, 1.0, 2.0]
    assert [result["error"]["code"] for result in told.values()] == ["malformed", "late", "busy", "estop"]


def test_malformed_frames_are_counted_and_a_known_id_is_told(rig: Rig) -> None:
    for payload in (
        b"",
        b"{",
        b"[]",
        b'{"op":"call"}',
        b"\xff",
        b'{"op":"call","id":"a","tool":"t","args":3}',
    ):
        rig.port.give(payload)
    assert rig.endpoint.dropped == 6 and not rig.device.executed
    assert rig.port.result("a")["status"] == "invalid"
    assert "args" in rig.port.result("a")["error"]["message"], "what is wrong with it"
    rig.port.give({"op": "call", "id": "long", "tool": "echo", "args": {"x": "y" * 70_000}})
    assert rig.endpoint.dropped == 7 and not rig.device.executed
    rig.port.give({"op": "dance"})
    assert rig.endpoint.dropped == 7


def test_a_frame_of_just_the_longest_length_is_taken() -> None:
    rig = Rig(max_frame=200)
    for length, pongs in ((200, 1), (201, 1), (199, 2)):
        rig.port.give(b'{"op":"ping"}'.ljust(length))
        assert len(rig.port.of("pong")) == pongs
    assert rig.endpoint.dropped == 1
    rig.endpoint.close()


def test_a_stop_of_another_version_still_stops(rig: Rig) -> None:
    rig.port.give({"v": 9, "op": "estop"})
    assert rig.endpoint.state == "estop"


@settings(max_examples=30)
@given(st.binary(max_size=60) | st.dictionaries(st.sampled_from(["op", "id", "v", "args"]), st.text()))
def test_no_payload_brings_it_down(payload: Any) -> None:
    rig = Rig()
    rig.port.give(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
    rig.call("after")
    assert rig.port.result("after")["op"] == "result"
    rig.endpoint.close()


def test_the_end_is_safe_and_offline(rig: Rig) -> None:
    rig.call("slow", "slow")
    assert rig.device.started.wait(25)
    rig.endpoint.close()
    assert rig.port.result("slow")["error"]["code"] == "stopped"
    assert rig.device.made_safe.is_set()
    assert rig.port.sent[-1]["state"] == "offline" and rig.endpoint.state == "offline"


def test_no_thread_of_an_endpoint_that_nobody_closed_keeps_its_process_alive(rig: Rig) -> None:
    own = [thread for thread in threading.enumerate() if thread.name.endswith(" of scripted")]
    assert {thread.name.split()[0] for thread in own} == {"calls", "watchdog"}
    assert all(thread.daemon for thread in own)


def test_too_small_a_cache_is_refused() -> None:
    with pytest.raises(ValueError, match="32"):
        DeviceEndpoint(ScriptedDevice(), RecordingPort(), results_kept=31)


class Timed(Rig):
    """On a clock that the test moves; the watchdog's thread waits by it."""

    def __init__(self, **options: Any) -> None:
        self.clock = GivenClock(threads=1)
        super().__init__(clock=self.clock, **options)

    def __enter__(self) -> Timed:
        return self

    def __exit__(self, *_: object) -> None:
        self.clock.threads(0)
        self.device.go.set()
        self.endpoint.close()


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("watchdog_ms", [5000, 1000, 40])
def test_the_watchdog_strikes_at_its_time_neither_late_nor_early(watchdog_ms: int, busy: bool) -> None:
    with Timed(watchdog_ms=watchdog_ms) as rig:
        seconds = watchdog_ms / 1000
        rig.clock.advance(10 * seconds)
        assert not rig.device.made_safe.is_set(), "it is armed by the first message"
        rig.give("ping")
        if busy:
            rig.call("slow", "slow")
            assert rig.device.started.wait(25)
        rig.clock.advance(seconds - 0.001)
        assert not rig.device.made_safe.is_set()
        rig.give("ping")
        rig.clock.advance(seconds - 0.001)
        assert not rig.device.made_safe.is_set(), "each message begins the time anew"
        rig.clock.advance(0.001)
        assert rig.device.made_safe.is_set() and rig.status() == "estop"
        if busy:
            assert rig.port.result("slow")["error"]["code"] == "stopped"


def test_the_first_message_arms_the_watchdog_within_a_twentieth_of_a_second() -> None:
    with Timed(watchdog_ms=5000) as rig:
        rig.clock.advance(0.02)
        rig.give("ping")
        # Its thread looks every 50 ms until it is armed, and then at the very time.
        rig.clock.advance(4.9999)
        assert not rig.device.made_safe.is_set()
        rig.clock.advance(0.0001)
        assert rig.device.made_safe.is_set()


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"\xff", b'{"op":"call","id":"a","tool":"t","args":3}', b'{"op":"ping"}'.ljust(70_000)],
)
def test_frames_that_are_no_message_do_not_keep_the_watchdog_waiting(payload: bytes) -> None:
    with Timed(watchdog_ms=1000) as rig:
        rig.give("ping")
        for _ in range(4):
            rig.clock.advance(0.249)
            rig.port.give(payload)
        assert not rig.device.made_safe.is_set()
        rig.clock.advance(0.004)
        assert rig.device.made_safe.is_set()


def test_every_kind_of_message_begins_the_watchdogs_time_anew() -> None:
    for message in ({"op": "hello"}, {"op": "reset"}, {"op": "call", "id": 1, "tool": "echo", "args": {}}):
        with Timed(watchdog_ms=1000) as rig:
            rig.give("ping")
            rig.clock.advance(0.9)
            rig.port.give(message)
            rig.clock.advance(0.99)
            assert not rig.device.made_safe.is_set()
            rig.clock.advance(0.01)
            assert rig.device.made_safe.is_set()


def test_the_watchdog_discards_what_nobody_has_read_after_the_stop() -> None:
    with Timed(watchdog_ms=1000) as rig:
        order: list[str] = []
        safe = rig.device.safe
        rig.device.safe = lambda: order.append("safe") or safe()  # type: ignore[method-assign, func-returns-value]
        rig.port.discard = lambda: order.append("discard")  # type: ignore[method-assign]
        rig.give("ping")
        rig.clock.advance(1.0)
        assert order == ["safe", "discard"]
        rig.clock.advance(5.0)
        assert order == ["safe", "discard"], "once, until a reset"
        rig.give("reset")
        rig.clock.advance(1.0)
        assert order == ["safe", "discard"] * 2


def test_acks_come_after_a_tenth_of_a_second_and_then_each_second() -> None:
    with Timed(watchdog_ms=60_000) as rig:
        rig.clock.advance(0.01)
        rig.call("slow", "slow")
        assert rig.device.started.wait(25)
        rig.clock.advance(0.09)
        assert not rig.port.of("ack")
        # The thread looks every 50 ms.
        rig.clock.advance(0.06)
        assert len(rig.port.of("ack")) == 1
        rig.clock.advance(0.9)
        assert len(rig.port.of("ack")) == 1
        rig.clock.advance(0.2)
        assert len(rig.port.of("ack")) == 2


def test_a_call_that_outlives_the_end_is_stopped_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.endpoint.END_SECONDS", 0.05)
    rig, stops, let_go = Rig(), list[str](), threading.Event()

    def deaf(tool: str, arguments: Any, stop: Any) -> Outcome:
        rig.device.started.set()
        let_go.wait(25)
        return Outcome("ok", {})

    def safe() -> StopOutcome:
        stops.append("safe")
        return StopOutcome.CONFIRMED

    rig.device.execute, rig.device.safe = deaf, safe  # type: ignore[method-assign]
    rig.call("deaf")
    assert rig.device.started.wait(25)
    rig.endpoint.close()
    assert stops == ["safe", "safe"], "what it started after the first stop is stopped by the second"
    let_go.set()


def test_the_devices_clock_is_the_endpoints() -> None:
    with Timed() as rig:
        rig.clock.advance(12.5)
        rig.give("ping")
        assert rig.port.of("pong")[0]["m"] == 12_500
        rig.call("late", not_after=12_499)
        assert rig.port.result("late")["error"]["code"] == "late"


def test_a_stopped_call_is_made_safe_once_more_at_its_own_end(rig: Rig) -> None:
    started_after_the_stop: list[bool] = []
    original = rig.device.execute

    def starts_something_late(tool: str, arguments: Any, stop: Any) -> Any:
        rig.device.started.set()
        stop.wait(10)
        assert rig.device.made_safe.wait(25)
        rig.device.made_safe.clear()
        started_after_the_stop.append(True)
        return original("echo", arguments, stop)

    rig.device.execute = starts_something_late  # type: ignore[method-assign]
    rig.call("late")
    assert rig.device.started.wait(25)
    rig.give("estop")
    rig.port.result("late")
    assert started_after_the_stop and rig.device.made_safe.is_set()


def test_what_a_device_knows_of_its_stop_stands_in_its_status(rig: Rig) -> None:
    answers = [StopOutcome.NOT_SENT, StopOutcome.SENT, StopOutcome.CONFIRMED, None]
    rig.device.safe = lambda: answers.pop(0)  # type: ignore[method-assign, assignment, return-value]
    for said in ("not sent", "sent", None, None):
        rig.give("estop")
        status = rig.port.of("status")[-1]
        assert (status["state"], status.get("stop")) == ("estop", said)
    rig.give("reset")
    assert "stop" not in rig.port.of("status")[-1]


def test_nothing_says_that_a_device_stands_while_it_comes_to_rest(rig: Rig) -> None:
    """A link that comes back, or a host that asks, would else get the outcome of the stop before."""
    rig.give("estop")
    rig.give("reset")
    coasts, rests = threading.Event(), threading.Event()

    def safe() -> StopOutcome:
        coasts.set()
        return StopOutcome.CONFIRMED if rests.wait(20) else StopOutcome.SENT

    rig.device.safe = safe  # type: ignore[method-assign]
    said = len(rig.port.of("status"))
    stop = threading.Thread(target=rig.endpoint.on_stop)
    stop.start()
    assert coasts.wait(20)
    rig.give("hello")
    rig.endpoint.on_up()
    assert len(rig.port.of("status")) == said
    rests.set()
    stop.join(20)
    assert [status["state"] for status in rig.port.of("status")[said:]] == ["estop"]


def test_a_device_that_fails_to_stop_is_not_said_to_be_stopped(rig: Rig) -> None:
    def broken() -> StopOutcome:
        raise RuntimeError("a wire came off")

    rig.device.safe = broken  # type: ignore[method-assign]
    rig.give("estop")
    assert rig.port.of("status")[-1]["stop"] == "not sent"


def test_an_end_while_stopped_stops_again_what_was_not_stopped(rig: Rig) -> None:
    stops: list[float] = []

    def safe() -> StopOutcome:
        stops.append(time.monotonic())
        return StopOutcome.NOT_SENT if len(stops) == 1 else StopOutcome.CONFIRMED

    rig.device.safe = safe  # type: ignore[method-assign]
    rig.give("estop")
    rig.endpoint.close()
    assert len(stops) == 2


def test_an_end_at_rest_leaves_the_device_safe(rig: Rig) -> None:
    rig.endpoint.close()
    assert rig.device.made_safe.is_set()


def test_a_call_that_is_deaf_to_the_stop_is_stopped_again_at_the_end_and_after_it(rig: Rig) -> None:
    stops: list[str] = []
    ended = threading.Event()

    def deaf(tool: str, arguments: Any, stop: Any) -> Outcome:
        rig.device.started.set()
        rig.device.go.wait(10)
        ended.set()
        return Outcome("ok", {})

    def safe() -> StopOutcome:
        stops.append("after it" if ended.is_set() else "while it runs")
        if len(stops) == 2:
            rig.device.go.set()
        return StopOutcome.CONFIRMED

    rig.device.execute, rig.device.safe = deaf, safe  # type: ignore[method-assign]
    rig.call("deaf")
    assert rig.device.started.wait(25)
    rig.give("estop")
    assert stops == ["while it runs"]
    rig.endpoint.close()
    assert stops[1] == "while it runs" and stops[-1] == "after it"


def test_a_device_that_fails_to_reset_stays_stopped(rig: Rig) -> None:
    def broken() -> None:
        raise RuntimeError("a wire came off")

    rig.device.reset = broken  # type: ignore[method-assign]
    rig.give("estop")
    rig.give("reset")
    assert rig.status() == "estop" and rig.endpoint.state == "estop"
    rig.call("a")
    assert rig.port.result("a")["error"]["code"] == "estop"


def test_a_stop_is_told_once_where_its_call_ends_alike(rig: Rig) -> None:
    rig.call("slow", "slow")
    assert rig.device.started.wait(25)
    rig.give("estop")
    rig.port.result("slow")
    rig.port.give({"op": "init", "id": "after", "state": {}, "seed": 1})
    rig.port.result("after")
    assert [status["state"] for status in rig.port.of("status")] == ["online", "estop"]


def test_what_a_device_learns_of_its_stop_later_is_told_while_it_is_stopped(rig: Rig) -> None:
    rig.endpoint.note_stop(StopOutcome.NOT_SENT)
    assert [status["state"] for status in rig.port.of("status")] == ["online"]
    rig.give("estop")
    assert "stop" not in rig.port.of("status")[-1]
    rig.endpoint.note_stop(StopOutcome.SENT)
    assert [status.get("stop") for status in rig.port.of("status")] == [None, None, "sent"]
    assert rig.endpoint.last_stop is StopOutcome.SENT
