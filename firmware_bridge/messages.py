"""The messages of the wire, version 1 (docs: the wire), as pydantic models.

Keys that a model does not know are ignored, and `v` may be missing; what is sent always has `v` and `op`.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from devices.outcome import StopOutcome

MessageId = StrictStr | StrictInt
"""An id chosen by the host; the answer has the same type."""
MOST_MS = 1e12
"""Largest number of milliseconds that is accepted: 32 years."""
LAST_EPOCH = 253_402_300_799.0
"""The end of the year 9999, s: the last moment that Python can format as a date."""
LongInt = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A whole number that the log (SQLite) can hold."""


def _positive_or_none(value: object) -> object:
    return None if isinstance(value, int | float) and -inf < value <= 0 else value


def _one_of(*known: str) -> BeforeValidator:
    """Take what is none of these for none."""
    return BeforeValidator(lambda value: value if value in known else None)


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) else value


class Message(BaseModel):
    """Base of every message: one JSON object."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    free: ClassVar[tuple[str, ...]] = ()
    """Keys whose values are any JSON."""

    v: Literal[1] = 1


class Call(Message):
    """Host to device: run a tool.

    `not_after` is a moment of the device's link clock, ms: the call must not start later. None: no limit.
    `boot` is the boot of the device whose clock that is: another one must not start it. None: any.
    """

    free = ("args",)
    op: Literal["call"] = "call"
    id: MessageId
    tool: str
    args: Annotated[dict[str, Any], BeforeValidator(lambda args: {} if args is None else args)] = {}
    not_after: StrictInt | StrictFloat | None = None
    boot: Annotated[str | None, BeforeValidator(_as_text)] = None


class Init(Message):
    """Host to simulator: back to the initial state with these overrides."""

    free = ("state",)
    op: Literal["init"] = "init"
    id: MessageId
    state: Annotated[dict[str, Any], BeforeValidator(lambda state: {} if state is None else state)] = {}
    seed: StrictInt = 0


class Estop(Message):
    """Host to device: go to the safe state now, and reject calls until `reset`."""

    op: Literal["estop"] = "estop"


class Reset(Message):
    """Host to device: leave the stop.

    `stop_input`: also forget that the stop input was pressed; without it, and while it is pressed, the device
    stays stopped. None: no.
    """

    op: Literal["reset"] = "reset"
    stop_input: bool | None = None


class Ping(Message):
    """Host to device: answered by `pong`."""

    op: Literal["ping"] = "ping"


class Hello(Message):
    """Host to device: a link was opened; answered by `status`."""

    op: Literal["hello"] = "hello"


class Guard(Message):
    """Host to device: a piece of the table of the guard on its chip, or with `length` the end, or with `told`
    a call made without the device; answered by `status`. Devices without such a guard ignore it.

    `data` is hexadecimal and goes to the place `at`. `sum` is the table's CRC-32; `mac` the code under the
    device's key. `told` is the call's symbol, and `calls` how many calls the guard has counted before it.
    """

    op: Literal["guard"] = "guard"
    at: StrictInt | None = None
    data: str | None = None
    length: StrictInt | None = None
    sum: str | None = None
    told: StrictInt | None = None
    calls: StrictInt | None = None
    mac: str | None = None


class ResultError(BaseModel):
    """Why a call failed: a short stable code and a sentence."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    code: str = ""
    message: str = ""


class Result(Message):
    """Device to host: how a call or an init ended. `t` and `dur` are device time, s."""

    free = ("value",)
    op: Literal["result"] = "result"
    id: MessageId
    status: str
    value: Any = None
    error: Annotated[
        ResultError | None,
        BeforeValidator(lambda error: {"message": error} if isinstance(error, str) else error),
    ] = None
    t: float | None = None
    dur: float | None = None
    guard: Annotated[str | None, BeforeValidator(lambda it: it if isinstance(it, str) else None)] = None
    """What the guard on the device's chip judged: `progress`, `loop` or `harmful`."""


class Ack(Message):
    """Device to host: the call has started; another message about it follows within `eta` seconds."""

    op: Literal["ack"] = "ack"
    id: MessageId
    eta: float | None = None


class Pong(Message):
    """Device to host: the answer to `ping`; `m` is the link clock of the device's boot `boot`, ms."""

    op: Literal["pong"] = "pong"
    m: Annotated[int | float, Field(ge=-MOST_MS, le=MOST_MS)] | None = None
    boot: Annotated[str | None, BeforeValidator(_as_text)] = None


StopInputState = Literal["released", "pressed", "latched"]
"""Of a physical stop input: it is pressed, or was pressed and is not reset yet."""

HELD = frozenset({"pressed", "latched"})
"""Its states in which no reset without `stop_input` leaves the stop."""


class GuardStatus(BaseModel):
    """The guard on a device's chip: whether it holds a table, and which.

    The counts of the episode stand beside, for the log; `error` says why the last message with the op
    `guard` was refused.
    """

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    state: str
    generation: LongInt = 0
    table: str | None = None
    at: LongInt = 0
    calls: LongInt = 0
    error: str | None = None


def _guard_or_none(value: object) -> object:
    # Of foreign devices, which may mean something else by it.
    return value if isinstance(value, dict) and isinstance(value.get("state"), str) else None


class Status(Message):
    """Device to host: which device it is, and its state.

    `boot` differs at every start of the device, so that two devices under one name are distinguished.
    `watchdog_ms` and `max_frame` of 0 or less are none, as if they were missing.
    `stop`, with state `estop`, is how the stop of a driver's machine went. None: the device is stopped.
    `stop_input` is the state of its physical stop input. None: it has none.
    `m` is the device's link clock when it was sent, ms: a copy that is late is none of a later stop.
    """

    op: Literal["status"] = "status"
    state: Literal["online", "offline", "estop"]
    stop: Annotated[StopOutcome | None, _one_of(*StopOutcome)] = None
    device: str | None = None
    fw: str | None = None
    boot: Annotated[str | None, BeforeValidator(_as_text)] = None
    watchdog_ms: Annotated[
        Annotated[int | float, Field(le=MOST_MS)] | None, BeforeValidator(_positive_or_none)
    ] = None
    max_frame: Annotated[LongInt | None, BeforeValidator(_positive_or_none)] = None
    reset: Annotated[str | None, BeforeValidator(_as_text)] = None
    stop_input: Annotated[StopInputState | None, _one_of(*get_args(StopInputState))] = None
    guard: Annotated[GuardStatus | None, BeforeValidator(_guard_or_none)] = None
    m: Annotated[int | float | None, Field(le=MOST_MS)] = None


class Sample(Message):
    """Device to host: one reading of a coarse sensor at device time `t`, s."""

    op: Literal["sample"] = "sample"
    sensor: str
    value: bool | LongInt | float | str
    t: float = 0.0


class Truth(Message):
    """Simulator to scorer: the ground truth after the call or init `id`; never shown to an agent."""

    free = ("state", "events")
    op: Literal["truth"] = "truth"
    id: MessageId | None = None
    t: float = 0.0
    state: dict[str, Any] = {}
    events: list[dict[str, Any]] = []


class Lease(Message):
    """Host to hosts, retained by the broker: which host drives the rig.

    `since` is the holder's wall clock (UTC epoch, s); the lease lasts `seconds` without a renewal;
    `n` counts the renewals.
    """

    op: Literal["lease"] = "lease"
    id: MessageId
    holder: str
    since: float = Field(ge=0, le=LAST_EPOCH)
    seconds: float = Field(gt=0)
    n: LongInt


HostMessage = Call | Init | Estop | Reset | Ping | Hello
DeviceMessage = Result | Ack | Pong | Status | Sample | Truth


class Ops:
    """The model of each op, by direction."""

    from_host: ClassVar[dict[str, type[HostMessage]]] = {
        "call": Call, "init": Init, "estop": Estop, "reset": Reset, "ping": Ping, "hello": Hello,
    }  # fmt: skip
    from_device: ClassVar[dict[str, type[DeviceMessage]]] = {
        "result": Result, "ack": Ack, "pong": Pong, "status": Status, "sample": Sample, "truth": Truth,
    }  # fmt: skip
