"""A host that has stopped its rig sends it no call before its reset, whatever the board has forgotten."""

from typing import Any

import pytest
from played_episode import rig

from core_eval.call_status import CallStatus
from core_eval.rig.session import RigSession
from devices.outcome import Outcome, StopOutcome

pytestmark = pytest.mark.stops


def stop_and_forget(session: RigSession) -> None:
    """Stop the rig, whose board then boots anew: it knows of no stop."""
    assert session.client.estop() is StopOutcome.CONFIRMED
    session.link.endpoint._device.reset()
    session.link.endpoint._stopped = False


def test_a_call_after_a_stop_is_rejected_although_the_board_was_reset_since() -> None:
    with rig() as session:
        stop_and_forget(session)
        outcome = session.call("unlock_safety_mode", {}, "1")
        assert (outcome.status, outcome.code) == (CallStatus.REJECTED, "estop")
        session.client.reset()
        assert session.call("unlock_safety_mode", {}, "2").status is CallStatus.OK


def test_so_is_one_that_a_stop_from_another_thread_comes_just_before(monkeypatch: pytest.MonkeyPatch) -> None:
    with rig() as session:
        right = session.client.call

        def stopped_by_then(*arguments: Any, **options: Any) -> Outcome:
            stop_and_forget(session)
            return right(*arguments, **options)

        monkeypatch.setattr(session.client, "call", stopped_by_then)
        outcome = session.call("unlock_safety_mode", {}, "1")
        assert (outcome.status, outcome.code) == (CallStatus.REJECTED, "estop")
