"""A host that has stopped its rig sends it no call before its reset, whatever the board has forgotten."""

import pytest
from played_episode import rig

from core_eval.path.calls import CallStatus
from devices.outcome import StopOutcome

pytestmark = pytest.mark.stops


def test_a_call_after_a_stop_is_rejected_although_the_board_was_reset_since() -> None:
    with rig() as session:
        assert session.client.estop() is StopOutcome.CONFIRMED
        # As a board that boots anew: it knows of no stop.
        session.link.endpoint._device.reset()
        session.link.endpoint._stopped = False
        outcome = session.call("unlock_safety_mode", {}, "1")
        assert (outcome.status, outcome.code) == (CallStatus.REJECTED, "estop")
        session.client.reset()
        assert session.call("unlock_safety_mode", {}, "2").status is CallStatus.OK
