"""A device's status, its ground truth, and its refusals of calls."""

from __future__ import annotations

from dataclasses import asdict

from core_eval.call_status import CallStatus
from devices.device import Device
from devices.outcome import Outcome, StopOutcome
from devices.sensors import Truth
from firmware_bridge import messages as wire
from firmware_bridge.codec import CodecError


def status_message(
    device: Device,
    state: str,
    boot: str,
    watchdog_ms: int,
    max_frame: int,
    stop: StopOutcome | None,
    stop_input: wire.StopInputState | None = None,
    link_ms: int | None = None,
) -> wire.Status:
    """Return a device's status; `stop` is how the stop went that led to `estop`, `link_ms` its clock now."""
    return wire.Status.model_validate(
        {
            "state": state,
            "device": device.name,
            "fw": device.firmware,
            "boot": boot,
            "watchdog_ms": watchdog_ms,
            "max_frame": max_frame,
            "stop_input": stop_input,
            "m": link_ms,
            "stop": stop if state == "estop" and stop is not StopOutcome.CONFIRMED else None,
        }
    )


def truth_message(after: wire.Call | wire.Init, truth: Truth) -> wire.Truth:
    """Return the message of the ground truth after a call or an init."""
    return wire.Truth(
        id=after.id,
        t=truth.t,
        state=dict(truth.state),
        events=[asdict(event) for event in truth.events],
    )


def refusal(
    message: wire.Call | wire.Init,
    busy: bool,
    stopped: bool,
    held: bool,
    link_ms: int,
    t: float,
    boot: str | None = None,
) -> Outcome | None:
    """Return why a new message is not run; None if it is.

    `held` is whether the stop input was pressed, `link_ms` the device's link clock now, ms; `t` the device
    time of its last outcome, s; `boot` the device's.
    """
    if stopped and message.op == "call":
        # This takes precedence over `busy` while the stopped call still ends.
        text = "the device is stopped; reset it first"
        if held:
            text = "the stop input was pressed; a person must release it and reset the device"
            text += "; make no more calls"
        return Outcome(CallStatus.REJECTED, code="estop", message=text, t=t)
    if busy:
        text = "another call is running; wait for its result"
        return Outcome(CallStatus.REJECTED, code="busy", message=text, t=t)
    if message.op == "init":
        return None
    if message.boot is not None and boot is not None and message.boot != boot:
        text = "the call was sent before the device was reset"
        return Outcome(CallStatus.FAULT, code="late", message=text, t=t)
    if message.not_after is not None and link_ms > message.not_after:
        text = "the call came after its latest time to start"
        return Outcome(CallStatus.FAULT, code="late", message=text, t=t)
    return None


def id_of_unfit(error: CodecError) -> wire.MessageId | None:
    """Return the id of a malformed call or init, if it has one that can be answered."""
    data = error.data or {}
    message_id = data.get("id")
    if data.get("op") not in ("call", "init") or isinstance(message_id, bool):
        return None
    return message_id if isinstance(message_id, str | int) else None
