"""Plays the vectors of `tests/conformance` to a device; their README.md says what each word of them means."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from paths import TESTS

FOLDER = TESTS / "conformance"
WITHIN = 2.0
DEFAULT_MAX_FRAME = 1024
FROM_DEVICE = {"result", "ack", "pong", "status", "sample", "truth"}
STATUSES = {"ok", "rejected", "invalid", "fault"}
STATES = {"online", "offline", "estop"}
TYPES: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str) and value != "",
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
}
Message = dict[str, Any]
_runs = count(int(time.time()) % 100_000)


def load(name: str) -> dict[str, Any]:
    """A file of vectors."""
    loaded: dict[str, Any] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return loaded


def bytes_of(vector: Mapping[str, Any], key: str) -> bytes:
    """A vector's text in UTF-8, or the bytes of its `KEY_hex`."""
    return vector[key].encode() if key in vector else bytes.fromhex(vector[f"{key}_hex"])


def line_of(payload: bytes) -> bytes:
    """The frame of a payload, made without the kit's codec, straight from the specification."""
    return payload + b"*%08X\n" % zlib.crc32(payload)


class Wire(Protocol):
    """A host's end of a link, byte by byte."""

    def send(self, payload: bytes, op: str) -> None:
        """One message: a frame on a serial line, a payload on the topic of its op."""

    def raw(self, data: bytes) -> None:
        """Bytes on a serial line as they are."""

    def stop(self, text: bytes) -> None:
        """The link's own stop."""

    def receive(self, seconds: float) -> bytes | None:
        """The next payload of the device within this time; None where there is none."""

    def now(self) -> float:
        """The clock that `receive` waits by, s."""


@dataclass
class Peer:
    """A device that vectors are played to.

    Attributes:
        wire: the link to it.
        names: what it puts in for $READ, $LONG, $LONG_ARGUMENTS and $BAD_ARGUMENTS.
        offers: what the vectors may need of it.
        prepare: calls that make $LONG possible, in a device that has just been stopped and reset.
        outputs: "working" while an output of $LONG is on, else "rest"; None where they cannot be read.
        dropped: how many frames the device has dropped; None where its status says it.
        patience: how many times longer than a vector says an answer may take, on a loaded machine.
    """

    wire: Wire
    names: Mapping[str, Any]
    offers: frozenset[str]
    prepare: Sequence[tuple[str, Mapping[str, Any]]] = ()
    outputs: Callable[[], str] | None = None
    dropped: Callable[[], int] | None = None
    patience: float = 8.0


class Mismatch(AssertionError):
    """The device did not do what a vector says."""


class Player:
    """One vector's host. `begin` takes the device out of whatever state it is in."""

    def __init__(self, peer: Peer) -> None:
        number = next(_runs)
        self._peer, self._wire = peer, peer.wire
        self._names: dict[str, Any] = {"RUN": f"r{number}", "NUMBER": number, "NUMBER_AS_TEXT": str(number)}
        self._names |= peer.names
        self._saved: dict[str, Message] = {}
        self._inbox: list[Message] = []
        self._watchdog = 0.0
        self._silent = False
        self._owed_pongs = 0

    def begin(self, prepare: bool) -> None:
        """Out of any call and any stop, with nothing in flight."""
        # A board that starts, or a broker's first subscription, may swallow the first word.
        for _ in range(20):
            self._send({"v": 1, "op": "estop"})
            self._send({"v": 1, "op": "hello"})
            if self._wait(lambda: self._has({"op": "status", "state": "estop"}), 1.0):
                break
        self.do({"send": {"v": 1, "op": "reset"}})
        status = self.do({"await": {"op": "status", "state": "online"}})
        assert status is not None
        self._watchdog = status.get("watchdog_ms", 0) / 1000
        self._names["MAX_FRAME"] = status.get("max_frame") or DEFAULT_MAX_FRAME
        self._names["BOOT"] = status.get("boot", "")
        for place, (tool, arguments) in enumerate(self._peer.prepare if prepare else ()):
            call_id = f"{self._names['RUN']} prepare {place}"
            self.do({"send": {"v": 1, "op": "call", "id": call_id, "tool": tool, "args": arguments}})
            self.do({"expect": {"op": "result", "id": call_id, "status": "ok"}, "within": 60.0})
        self.settle()

    def settle(self) -> None:
        """Pass over all that the device has said so far."""
        self._inbox.clear()
        self.do({"send": {"v": 1, "op": "ping"}})
        self.do({"await": {"op": "pong"}})
        self._inbox.clear()

    def play(self, sequence: Mapping[str, Any]) -> None:
        """A whole sequence, from `begin` on."""
        self.begin(prepare="$LONG" in json.dumps(sequence))
        self._silent = "watchdog" in sequence.get("needs", ())
        for step in sequence["steps"]:
            self.do(step)

    def answered(self, answer: Any, send: Callable[[], None]) -> int | None:
        """What is sent is answered like that, with nothing where that is None, and the device is online then.

        How many frames it has dropped by then; None where it does not count them.
        """
        send()
        if answer is not None:
            self.do({"expect": answer})
            self._forget({"op": "ack", "id": answer.get("id")})
        dropped = self.dropped()
        for op in ("result", "ack", "pong", "status"):
            if self._has({"op": op}):
                raise Mismatch(f"an answer too many: {self._inbox}")
        return dropped

    def answered_by_guard(self, message: Message, guard: Message) -> None:
        """A frame of the guard is answered by a status with these values, and no other error."""
        within = WITHIN * self._peer.patience
        deadline = self._wire.now() + within
        while True:
            self.do({"send": message})
            status = self.do({"expect": {"op": "status", "guard": {}}})
            assert status is not None
            if status["guard"].get("error") != "busy" or self._wire.now() > deadline:
                break
            self.do({"wait": 0.2})
        if not fits({"error": None} | status["guard"], {"error": None} | guard):
            raise Mismatch(f"{status['guard']} is not {guard}")

    def send_payload(self, payload: bytes) -> None:
        """One message as it is, on the link's channel of calls."""
        self._wire.send(payload, "call")

    def send_text(self, text: str) -> None:
        """A payload whose $NAMES are filled in."""
        # Longer names first: $LONG_ARGUMENTS begins with $LONG.
        for name in sorted(self._names, key=len, reverse=True):
            value = self._names[name]
            text = text.replace(f"${name}", value if isinstance(value, str) else json.dumps(value))
        self.send_payload(text.encode())

    def dropped(self) -> int | None:
        """How many frames the device, which is online, has dropped; None where it does not count them."""
        self.do({"send": {"v": 1, "op": "hello"}})
        status = self.do({"expect": {"op": "status", "state": "online"}})
        assert status is not None
        if "counts" not in self._peer.offers:
            return None
        return int(status["dropped"]) if self._peer.dropped is None else self._peer.dropped()

    def do(self, step: Mapping[str, Any]) -> Message | None:
        """One step; the message that it was about."""
        match step:
            case {"send": message}:
                self._send(self._filled(message), step.get("bytes"))
            case {"payload": text}:
                self.send_text(text)
            case {"raw": parts}:
                self._wire.raw(b"".join(map(self._part, [parts] if isinstance(parts, str) else parts)))
            case {"stop": text}:
                self._wire.stop(text.encode())
            case {"expect": pattern}:
                return self._expect(self._filled(pattern), step, strict=True)
            case {"await": pattern}:
                return self._expect(self._filled(pattern), step, strict=False)
            case {"expect_none": pattern, "for": seconds}:
                pattern = self._filled(pattern)
                if self._wait(lambda: self._has(pattern), self._seconds(seconds)):
                    raise Mismatch(f"there should be no {pattern}, but: {self._inbox}")
            case {"wait": seconds}:
                self._wait(lambda: False, self._seconds(seconds))
            case {"outputs": state}:
                look = self._peer.outputs
                # Not stretched, or a call that came to its own end would pass for a stopped one.
                within = WITHIN if state == "rest" else WITHIN * self._peer.patience
                if look is not None and not self._wait_alive(lambda: look() == state, within):
                    raise Mismatch(f"the outputs are not at {state}; so far: {self._inbox}")
            case {"times": times, "steps": steps}:
                for number in range(times):
                    self._names["N"] = str(number)
                    for inner in steps:
                        self.do(inner)
            case {"dropped": lines, "steps": steps}:
                before = self.dropped()
                for inner in steps:
                    self.do(inner)
                if before is not None and (after := self.dropped()) != before + lines:
                    raise Mismatch(f"{lines} lines should have been dropped, from {before} to {after}")
            case _:
                raise ValueError(f"no step: {step}")
        return None

    def _seconds(self, written: Any) -> float:
        return written["watchdogs"] * self._watchdog if isinstance(written, dict) else float(written)

    def _send(self, message: Message, size: Any = None) -> None:
        if size is not None:
            empty = len(line_of(json.dumps(message | {"fill": ""}).encode()))
            message = message | {"fill": "x" * (self._filled(size) - empty)}
        self._wire.send(json.dumps(message, ensure_ascii=False).encode(), message["op"])

    def _part(self, part: Any) -> bytes:
        if isinstance(part, str):
            return part.encode()
        return part["repeat"].encode() * (self._filled(part["times"]) + part.get("plus", 0))

    def _filled(self, value: Any) -> Any:
        """What stands for a value with $NAMES in it."""
        match value:
            case {"$sum": terms}:
                return sum(map(self._filled, terms))
            case dict():
                return {key: self._filled(item) for key, item in value.items()}
            case list():
                return [self._filled(item) for item in value]
            case str() if value[:1] == "$" and value[1:] in self._names:
                return self._names[value[1:]]
            case str() if "$" in value:
                text = value.replace("$RUN", self._names["RUN"]).replace("$N", self._names.get("N", "$N"))
                name, _, key = text.removeprefix("$").partition(".")
                if text[:1] == "$" and name in self._saved:
                    return self._saved[name][key] if key else self._saved[name]
                return text
        return value

    def _expect(self, pattern: Any, step: Mapping[str, Any], strict: bool) -> Message:
        # Of the message that it must equal, it looks for that one's op and id.
        wanted = pattern.get("$same_as", pattern)
        meant = {key: wanted[key] for key in ("op", "id") if key in wanted} if strict else pattern
        within = self._seconds(step.get("within", WITHIN)) * self._peer.patience
        wait = self._wait if meant["op"] == "pong" else self._wait_alive
        if not wait(lambda: self._has(meant), within):
            raise Mismatch(f"no {pattern} within {within:g} s; but: {self._inbox}")
        place = next(place for place, message in enumerate(self._inbox) if fits(message, meant))
        message = self._inbox[place]
        if not fits(message, pattern):
            raise Mismatch(f"{message} is not {pattern}")
        same = {key: message[key] for key in ("op", "id") if key in message}
        before, after = self._inbox[:place], self._inbox[place + 1 :]
        self._inbox = [other for other in before if not fits(other, same)] + after
        if "save" in step:
            self._saved[self._filled(step["save"])] = message
        return message

    def _wait_alive(self, done: Callable[[], bool], seconds: float) -> bool:
        """The same, with pings: what the watchdog does must not pass for what is waited for."""
        deadline = self._wire.now() + seconds
        while (left := deadline - self._wire.now()) > 0:
            if self._wait(done, min(left, self._watchdog / 3 or left)):
                return True
            if not self._silent:
                self._send({"v": 1, "op": "ping"})
                self._owed_pongs += 1
        return done()

    def _forget(self, pattern: Message) -> None:
        pattern = self._filled(pattern)
        self._inbox = [message for message in self._inbox if not fits(message, pattern)]

    def _has(self, pattern: Message) -> bool:
        return any(fits(message, pattern) for message in self._inbox)

    def _wait(self, done: Callable[[], bool], seconds: float) -> bool:
        """Take what comes until `done()`; whether it was within this time."""
        deadline = self._wire.now() + seconds
        while not done():
            left = deadline - self._wire.now()
            if left <= 0:
                return False
            payload = self._wire.receive(min(left, 0.02))
            if payload is not None:
                message = checked(payload)
                if self._owed_pongs and message["op"] == "pong":
                    self._owed_pongs -= 1
                else:
                    self._inbox.append(message)
        return True


def checked(payload: bytes) -> Message:
    """What every message of every device keeps to."""
    message = json.loads(payload.decode())
    if not isinstance(message, dict) or message.get("v", 1) != 1 or message.get("op") not in FROM_DEVICE:
        raise Mismatch(f"no device says {payload!r}")
    if message["op"] == "result":
        status, error = message.get("status"), message.get("error")
        if not isinstance(message.get("id"), str | int) or status not in (
            "ok",
            "rejected",
            "invalid",
            "fault",
        ):
            raise Mismatch(f"no result: {message}")
        if (status == "ok") == isinstance(error, dict):
            raise Mismatch(f"a result has an error if and only if it is not ok: {message}")
    if message["op"] == "status" and message.get("state") not in STATES:
        raise Mismatch(f"no status: {message}")
    return message


def fits(value: Any, pattern: Any) -> bool:
    """Whether a value is as a pattern says; keys that the pattern does not name are free."""
    match pattern:
        case {"$type": name}:
            return TYPES[name](value)
        case {"$one_of": patterns}:
            return any(fits(value, one) for one in patterns)
        case {"$at_least": least}:
            return TYPES["number"](value) and value >= least
        case {"$same_as": other}:
            return bool(value == other)
        case dict():
            return isinstance(value, dict) and all(
                key in value and fits(value[key], item) for key, item in pattern.items()
            )
    return type(value) is type(pattern) and value == pattern
