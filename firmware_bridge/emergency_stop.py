"""The emergency stop as the host sends it, and the reset that ends it."""

from __future__ import annotations

from devices.outcome import StopOutcome
from devices.rig_motion import Event
from firmware_bridge import messages as wire
from firmware_bridge.clock import MONOTONIC, Clock
from firmware_bridge.lines import RESET, RESET_STOP_INPUT
from firmware_bridge.link import Link, LinkError, gone
from firmware_bridge.peer import Peer
from firmware_bridge.probe import Probe

HELLO_SECONDS = 0.5
"""Time between two stops or resets that are not confirmed."""


class EmergencyStop:
    """Stops a rig and records how that went. Methods may be called from any thread.

    Attributes:
        error: why the last stop was not confirmed; one line.
    """

    def __init__(self, link: Link, peer: Peer, probe: Probe, clock: Clock = MONOTONIC) -> None:
        self._link, self._peer, self._probe, self._clock = link, peer, probe, clock
        self.error = ""

    def stop(self, timeout: float) -> StopOutcome:
        """Stop the rig and return how that went; see `RigClient.estop`."""
        stopped: list[wire.Status] = []
        began_at = self._clock.now()
        clock, brokered = self._peer.clock, self._link.brokered

        def is_stopped(status: wire.Status) -> bool:
            # A broker may pass on a status of an earlier stop late: its moment must be after this one's for
            # certain. A line keeps the order. A ping since tells this of a board whose clock fell behind.
            after = (clock.latest_ms if brokered else clock.device_ms)(began_at)
            early = after is not None and status.m is not None and status.m < after
            # One of two devices tells nothing of both.
            if status.state == "estop" and not early and self._peer.conflict is None:
                stopped[:] = [status]
            return bool(stopped)

        seen = self._peer.status_count
        rig = self._link.rig
        rig.on(Event.HALT)
        began = False
        deadline = self._clock.now() + timeout
        try:
            while True:
                found = self._link.stop()
                if not began:
                    # A driver asks its machine before this returns.
                    began, deadline = True, self._clock.now() + timeout
                left = deadline - self._clock.now()
                wait = max(0.0, min(HELLO_SECONDS, left))
                # What answers a hello from then on is of after the stop, however ill the clock is known.
                sure = clock.spread if brokered else 0.0
                parts = (sure, wait - sure) if 0.0 < sure < wait else (wait,)
                if any(self._probe.hello_until(is_stopped, seen, part) for part in parts):
                    # A status may still describe the previous stop; a driver link has asked the machine.
                    stated = StopOutcome.CONFIRMED if stopped[0].stop is None else stopped[0].stop
                    rig.stopped(stated if found is None else found)
                    self.error = self._why(rig.outcome)
                    return rig.outcome
                if left <= HELLO_SECONDS:
                    break
        except LinkError as error:
            self.error = str(error)
        else:
            unsaid = f"{self._link.name} did not confirm within {timeout:g} s that it is stopped"
            self.error = self._peer.conflict or unsaid
        return rig.outcome

    def _why(self, outcome: StopOutcome) -> str:
        if outcome is StopOutcome.CONFIRMED:
            return ""
        if outcome is StopOutcome.NOT_SENT:
            return gone(self._link.name)
        if self._link.confirms_stop:
            return f"{self._link.name} did not answer whether it is stopped"
        return "its driver has no query that confirms a stop"

    def reset(self, timeout: float, *, stop_input: bool = False) -> bool:
        """Leave the stop and return whether the rig was online within `timeout` seconds.

        With `stop_input` also forget that its stop input was pressed.

        Raises:
            LinkError: the link is down.
        """
        online: list[bool] = []

        def is_decided(status: wire.Status) -> bool:
            # Where a person is waited for, asking again is no use.
            waits = status.stop_input == "pressed" or (status.stop_input == "latched" and not stop_input)
            online[:] = [status.state == "online"]
            return waits or online[0]

        seen = self._peer.status_count
        self._link.send(RESET_STOP_INPUT if stop_input else RESET)
        self._link.rig.on(Event.RESET)
        deadline = self._clock.now() + timeout
        while (left := deadline - self._clock.now()) > 0:
            # Asked repeatedly, as some devices send their status only on hello.
            if self._probe.hello_until(is_decided, seen, min(HELLO_SECONDS, left)):
                return online[0]
        return False
