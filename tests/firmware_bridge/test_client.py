"""The host's client against devices that know no more than the contract, and some that know less."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest
from bridge_rig import EVENT, ScriptedDevice, wait_until
from fake_link import FakeLink, Reply, bare, polite, with_clock

from devices.outcome import StopOutcome
from devices.sensors import Sample, Truth
from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError
from firmware_bridge.local.link import LocalLink
from firmware_bridge.peer import Callbacks, Peer, Pending

pytestmark = pytest.mark.serial


def opened(reply: Reply, **options: Any) -> tuple[FakeLink, RigClient]:
    link = FakeLink(reply)
    client = RigClient(link, **options)
    client.open(2.0)
    return link, client


def test_a_bare_device_is_driven_without_not_after() -> None:
    link, client = opened(bare)
    outcome = client.call("move_to", {"x": 1})
    assert (outcome.status, outcome.value, outcome.t, outcome.duration) == ("ok", {}, 0.0, 0.0)
    assert link.of("call")[0].keys() == {"v", "op", "id", "tool", "args"}
    assert client.drain(1.0)
    client.close()
    assert link.stops == 1


def test_not_after_is_the_deadline_on_the_devices_clock() -> None:
    link, client = opened(with_clock(5_000_000.0))
    before = time.monotonic()
    client.call("t", {}, timeout=60.0)
    not_after = link.of("call")[0]["not_after"]
    assert isinstance(not_after, int)
    assert 5_000_000 + 50_000 < not_after < 5_000_000 + 60_000 + (time.monotonic() - before + 5) * 1000
    client.close()


def test_no_response_is_one_line_after_the_timeout() -> None:
    link = FakeLink(lambda *_: None)
    with pytest.raises(LinkError, match="no response from fake"), RigClient(link) as client:
        client.open(0.2)
    assert link.of("hello")


@pytest.mark.parametrize("nothing", [0, -1])
def test_a_device_that_states_no_watchdog_by_0_is_driven(nothing: int) -> None:
    def modest(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "hello":
            link.say({"op": "status", "state": "online", "watchdog_ms": nothing, "max_frame": nothing})
        else:
            polite(link, message)

    _, client = opened(modest)
    assert client.status is not None
    assert client.status.watchdog_ms is None and client.status.max_frame is None
    assert client.call("t", {}).status == "ok"
    client.close()


def test_invalid_frames_are_reported_with_the_invalid_key() -> None:
    def odd(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "hello":
            link.say({"op": "status", "state": "online", "watchdog_ms": "soon"})

    with pytest.raises(LinkError, match=r"frames? came that do(es)? not fit: status: watchdog_ms") as told:
        RigClient(FakeLink(odd)).open(0.3)
    assert "is the rig on" not in str(told.value) and "\n" not in str(told.value)


def test_lines_with_a_wrong_checksum_are_reported() -> None:
    link = FakeLink(lambda *_: None)
    link.dropped = 7
    with pytest.raises(LinkError, match=r"no response .*7 lines came that do not check"):
        RigClient(link).open(0.2)


def test_a_pong_that_may_be_of_an_earlier_ping_measures_no_clock() -> None:
    pings: list[int] = []

    def late(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "ping":
            pings.append(1)
            if len(pings) > 3:
                link.say({"op": "pong", "m": 1000 * len(pings)})
        else:
            bare(link, message)

    link = FakeLink(late)
    client = RigClient(link)
    client._attach()
    for _ in range(3):
        with pytest.raises(LinkError):
            client.ping(0.05)
    assert client.read_clock() is None and not client.peer.clock.known
    reading = client.read_clock()
    assert reading is not None and client.peer.clock.known
    client.close()


def contradicting(first: dict[str, Any], *later: dict[str, Any]) -> Reply:
    def reply(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            for answer in (first, *later):
                link.say({"op": "result", "id": message["id"], **answer})
        else:
            polite(link, message)

    return reply


FAULT = {"status": "fault", "error": {"code": "x", "message": "y"}}


@pytest.mark.parametrize(
    "later",
    [FAULT, {"status": "ok", "value": {"a": 2}}, {"status": "ok", "t": "soon"}],
    ids=["status", "value", "unreadable"],
)
def test_the_first_result_of_an_id_is_its_answer_and_another_is_reported(later: dict[str, Any]) -> None:
    noted: list[tuple[str, Any]] = []
    reply = contradicting({"status": "ok", "value": {"a": 1}}, later)
    _, client = opened(reply, on_noted=lambda state, detail: noted.append((state, detail)))
    outcome = client.call("t", {}, call_id="one")
    assert (outcome.status, outcome.value) == ("ok", {"a": 1})
    assert wait_until(lambda: bool(noted))
    state, detail = noted[0]
    assert (state, detail["id"], detail["taken"]) == ("contradiction", "one", "ok")
    assert client.dropped >= 1 and len(noted) == 1
    client.close()


def test_of_two_results_in_one_read_the_first_is_taken() -> None:
    peer = Peer("fake", Callbacks())
    peer.pending = Pending("a")
    peer.take(b'{"op":"result","id":"a","status":"ok"}', False)
    peer.take(b'{"op":"result","id":"a","status":"fault"}', False)
    assert peer.pending.result is not None and peer.pending.result.status == "ok"
    assert peer.contradictions == 1


def test_an_answer_that_is_repeated_with_another_time_contradicts_nothing() -> None:
    noted: list[str] = []
    same = {"status": "rejected", "error": {"code": "locked", "message": "unlock"}}
    later = {"status": "rejected", "error": {"code": "locked", "message": "unlock it"}, "t": 5.0}
    _, client = opened(contradicting(same, later), on_noted=lambda state, _: noted.append(state))
    assert client.call("t", {}).code == "locked"
    assert client.drain() and not noted and client.dropped == 0
    client.close()


def test_a_link_that_stays_away_ends_the_call_long_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.requests.LINK_BACK_SECONDS", 0.3)

    def pull(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            link.lose()
        else:
            polite(link, message)

    class Patient(FakeLink):
        def ensure(self, timeout: float) -> None:
            if not self.connected:
                time.sleep(max(0.0, timeout))
                raise LinkError("the broker is gone")

    link = Patient(pull)
    client = RigClient(link)
    client.open()
    began = time.monotonic()
    outcome = client.call("t", {}, timeout=120.0)
    assert (outcome.status, outcome.code) == ("fault", "link")
    with pytest.raises(LinkError):
        client.regain(0.3)
    assert time.monotonic() - began < 30.0
    client.close()


def test_a_last_will_is_reported_as_offline() -> None:
    link = FakeLink(lambda fake, _: fake.say({"op": "status", "state": "offline"}, retained=True))
    with pytest.raises(LinkError, match="offline"):
        RigClient(link).open(0.2)


def test_an_old_retained_status_is_not_a_rig() -> None:
    link = FakeLink(lambda fake, _: fake.say({"op": "status", "state": "online"}, retained=True))
    with pytest.raises(LinkError, match="no response"):
        RigClient(link).open(0.3)


def test_a_rig_that_answers_hello_late_is_waited_for() -> None:
    hellos: list[int] = []

    def late(link: FakeLink, message: dict[str, Any]) -> None:
        hellos.append(1)
        if len(hellos) >= 3:
            polite(link, message)

    with RigClient(FakeLink(late)) as client:
        assert client.open(5.0).state == "online"


def test_a_lost_call_is_sent_again_with_its_id() -> None:
    calls: list[int] = []

    def lossy(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            calls.append(1)
            if len(calls) < 3:
                return
        polite(link, message)

    link, client = opened(lossy, retry_after=0.02)
    assert client.call("t", {}, call_id="mine", timeout=10.0).status == "ok"
    sent = link.of("call")
    assert len(sent) == 3 and all(message == sent[0] for message in sent) and sent[0]["id"] == "mine"
    client.close()


def test_an_unanswered_call_is_a_fault_in_bounded_time() -> None:
    def deaf(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] not in ("call", "init"):
            polite(link, message)

    _, client = opened(deaf, retry_after=0.02)
    outcome = client.call("move_to", {}, timeout=0.2)
    assert (outcome.status, outcome.code) == ("fault", "timeout")
    assert outcome.message == "the rig fake did not answer move_to in 0.2 s"
    assert client.init({}, 1, timeout=0.1).code == "no_answer"
    client.close()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"op": "result", "id": "another", "status": "ok"}, r"1 with results of other calls$"),
        ({"op": "status", "state": "lost"}, r"1 of no valid message \(the last: .*state.*\)$"),
        (None, r"2 with a wrong checksum$"),
    ],
)
def test_frames_that_answer_nothing_are_told_where_nothing_answers(
    answer: dict[str, Any] | None, says: str
) -> None:
    def useless(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] != "call":
            polite(link, message)
        elif answer is None:
            link.dropped += 2
        else:
            link.say(answer)

    link, client = opened(useless, retry_after=5.0)
    link.dropped = 3
    outcome = client.call("move_to", {}, timeout=0.3)
    assert (outcome.status, outcome.code) == ("fault", "timeout")
    start = "the rig fake did not answer move_to in 0.3 s; frames were dropped meanwhile: "
    assert re.match(re.escape(start) + says, str(outcome.message)), outcome.message
    client.close()


def test_an_ack_stretches_the_deadline_and_stops_the_retries() -> None:
    def slow(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            link.say({"op": "ack", "id": message["id"], "eta": 0.5})
            time.sleep(0.5)
        polite(link, message)

    link, client = opened(slow, retry_after=0.05)
    assert client.call("t", {}, timeout=0.2).status == "ok"
    assert len(link.of("call")) == 1
    client.close()


def test_an_ack_that_promises_for_ever_is_not_believed_for_ever() -> None:
    def liar(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            link.say({"op": "ack", "id": message["id"], "eta": 1e9})
        else:
            polite(link, message)

    _, client = opened(liar)
    assert client.call("t", {}, timeout=0.05).code == "timeout"
    client.close()


def test_a_device_that_was_reset_in_mid_call_does_not_get_it_again() -> None:
    clocks = [with_clock(9_000_000.0), with_clock(0.0)]

    def reset_by_the_call(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            if len(clocks) == 2:
                clocks.pop(0)
            return
        clocks[0](link, message)

    link, client = opened(reset_by_the_call, retry_after=0.02)
    assert client.call("t", {}, timeout=5.0).code == "device_reset"
    assert len(link.of("call")) == 1
    client.close()


def test_a_link_that_does_not_come_back_is_a_fault_and_nothing_waits_for_later() -> None:
    def pull(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            link.lose()
        else:
            polite(link, message)

    link, client = opened(pull)
    outcome = client.call("t", {})
    assert (outcome.status, outcome.code, outcome.message) == ("fault", "link", "the cable is out")
    assert link.discards == 1
    assert client.call("t", {}).code == "link"
    with pytest.raises(LinkError):
        client.reset()
    client.close()


def test_a_stop_is_confirmed_only_by_the_rigs_status() -> None:
    link, client = opened(polite)
    assert client.estop() is StopOutcome.CONFIRMED and not client.stop_error
    link.reply = lambda fake, message: fake.say({"op": "status", "state": "online"})
    before = link.stops
    assert client.estop(1.2) is StopOutcome.SENT
    assert link.stops >= before + 2, "a line may lose it, so it is sent again"
    assert "did not confirm within 1.2 s" in client.stop_error
    for said in ("sent", "not sent", "confirmed"):
        link.reply = lambda fake, _, said=said: fake.say({"op": "status", "state": "estop", "stop": said})  # type: ignore[misc]
        assert client.estop() == said
    link.reply = lambda fake, _: fake.say({"op": "status", "state": "estop", "stop": "by hand"})
    assert client.estop() is StopOutcome.CONFIRMED, "a word that we do not know is none of ours"

    def cut() -> None:
        raise LinkError("the cable is out")

    link.estop = cut  # type: ignore[method-assign]
    assert client.estop() is StopOutcome.NOT_SENT and client.stop_error == "the cable is out"
    assert not client.estop(), "only a stop that was confirmed is true"
    assert client.close() is StopOutcome.NOT_SENT


def test_a_link_that_comes_back_in_mid_call_gets_it_again() -> None:
    lost: list[int] = []

    def glitch(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call" and not lost:
            lost.append(1)
            link.lose()
        else:
            polite(link, message)

    link, client = opened(glitch)
    link.comes_back = True
    assert client.call("t", {}, timeout=5.0).status == "ok"
    assert len(link.of("call")) == 2
    client.close()


def test_a_rig_that_stays_offline_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firmware_bridge.requests.OFFLINE_GRACE", 0.1)

    def dies(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            link.say({"op": "status", "state": "offline"})
        else:
            polite(link, message)

    _, client = opened(dies, retry_after=0.05)
    assert client.call("t", {}, timeout=60.0).code == "offline"
    client.close()


def test_frames_longer_than_the_device_takes_are_not_sent() -> None:
    def small(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "hello":
            link.say({"op": "status", "state": "online", "max_frame": 200})
        else:
            polite(link, message)

    link, client = opened(small)
    outcome = client.call("t", {"text": "x" * 300})
    assert (outcome.status, outcome.code) == ("invalid", "too_long") and not link.of("call")
    client.close()
    silent = FakeLink(polite, default_max_frame=1024)
    client = RigClient(silent)
    client.open()
    assert client.call("t", {"text": "x" * 2000}).code == "too_long"
    assert client.call("t", {"text": "x" * 200}).status == "ok"
    client.close()


@pytest.mark.parametrize("arguments", [{"x": float("nan")}, {"x": object()}, {"x": "\ud800"}])
def test_arguments_without_json_are_invalid(arguments: dict[str, Any]) -> None:
    link, client = opened(polite)
    assert client.call("t", arguments).status == "invalid" and not link.of("call")
    client.close()


def test_odd_results_are_faults_or_understood() -> None:
    answers: list[dict[str, Any]] = [
        {"status": "splendid"},
        {"status": "rejected"},
        {"status": "fault", "error": "motor stalled"},
        {"status": "ok", "value": 5},
        {"status": "ok", "t": "soon"},
        {"value": 1},
    ]

    def odd(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "call":
            link.say(b"garbage")
            link.say({"op": "result", "id": "somebody else's", "status": "ok"})
            link.say({"v": 2, "op": "result", "id": message["id"], "status": "of another version"})
            link.say({"op": "result", "id": message["id"], **answers.pop(0)})
        else:
            polite(link, message)

    _, client = opened(odd)
    outcomes = [client.call("t", {}) for _ in range(6)]
    assert [(o.status, o.code) for o in outcomes] == [
        ("fault", "protocol"), ("rejected", "rejected"), ("fault", "fault"), ("ok", None),
        ("fault", "protocol"), ("fault", "protocol"),
    ]  # fmt: skip
    assert outcomes[2].message == "motor stalled" and outcomes[3].value == {"value": 5}
    assert "cannot be read: result: t:" in str(outcomes[4].message)
    assert client.dropped == 14
    client.close()


def test_the_heartbeat_keeps_within_a_third_of_the_watchdog() -> None:
    def quick(link: FakeLink, message: dict[str, Any]) -> None:
        if message["op"] == "hello":
            link.say({"op": "status", "state": "online", "watchdog_ms": 60})
        else:
            polite(link, message)

    link, client = opened(quick)
    before = len(link.of("ping"))
    assert wait_until(lambda: len(link.of("ping")) >= before + 5)
    client.close()
    assert wait_until(lambda: not any(t.name == "heartbeat fake" for t in threading.enumerate()))


def test_stop_during_a_call_from_another_thread() -> None:
    device = ScriptedDevice()
    with RigClient(LocalLink(device)) as client:
        client.open()
        outcomes: list[Any] = []
        caller = threading.Thread(target=lambda: outcomes.append(client.call("slow", {})))
        caller.start()
        assert device.started.wait(25)
        assert client.estop()
        caller.join(25)
        assert outcomes[0].code == "stopped" and device.made_safe.is_set()
        assert client.call("echo", {}).code == "estop"
        assert client.reset() and client.call("echo", {}).status == "ok"


def test_everything_a_device_publishes_arrives_and_drain_waits_for_it() -> None:
    samples: list[Sample] = []
    truths: list[Truth] = []
    statuses: list[str] = []
    device = ScriptedDevice()
    client = RigClient(
        LocalLink(device),
        on_sample=samples.append,
        on_truth=truths.append,
        on_status=lambda status: statuses.append(status.state),
    )
    with client:
        client.open()
        assert client.init({"a": 1}, 3).status == "ok"
        for number in range(20):
            assert client.call("echo", {}, call_id=f"c{number}").status == "ok"
        assert client.drain()
        assert [sample.t for sample in samples] == [float(n) for n in range(1, 21)]
        assert [truth.call_id for truth in truths] == [None, *(f"c{n}" for n in range(20))]
        assert truths[-1].events == (EVENT,) and truths[-1].state == {"calls": 20}
        assert client.ping() < 1.0
    assert statuses[-1] == "offline" and device.made_safe.is_set()


def test_a_callback_that_fails_does_not_take_the_link_down(caplog: pytest.LogCaptureFixture) -> None:
    def bad(_sample: Sample) -> None:
        raise RuntimeError("no disk")

    with RigClient(LocalLink(ScriptedDevice()), on_sample=bad) as client:
        client.open()
        assert client.call("echo", {}).status == "ok"
        assert client.call("echo", {}).status == "ok"
    assert "no disk" in caplog.text


def test_a_closed_client_answers_with_faults() -> None:
    client = RigClient(LocalLink(ScriptedDevice()))
    client.open()
    client.close()
    client.close()
    assert client.call("echo", {}).code == "link"
