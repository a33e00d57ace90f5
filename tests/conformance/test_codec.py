"""The vectors of `tests/conformance` and the kit's codec; and what the vectors themselves keep to."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conformance_player import FOLDER, bytes_of, load

from firmware_bridge import messages as wire
from firmware_bridge.codec import CodecError, decode_device_message, decode_host_message
from firmware_bridge.lines import STOP_BYTE, LineDecoder, to_line

FRAMES = load("frames.json")["frames"]
BAD = load("bad_frames.json")
DECODERS: dict[str, Callable[[bytes], wire.Message | None]] = {
    "host": decode_host_message,
    "device": decode_device_message,
}
SEQUENCES = {path.stem: load(f"sequences/{path.name}") for path in sorted(FOLDER.glob("sequences/*.json"))}
MESSAGES = [(sender, vector) for sender in DECODERS for vector in load(f"{sender}_messages.json")["messages"]]
SAMPLES = {"READ": "sense", "LONG": "go", "BAD_ARGUMENTS": "{}", "RUN": "r", "NUMBER": "7"}
SAMPLES |= {"TABLE_BEGIN": "03000014", "TABLE_REST": "00", "TABLE_SUM": "00000000", "TABLE_LENGTH": "5"}


def named(vectors: list[Any]) -> Any:
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["name"])


@named(FRAMES)
def test_frames(vector: dict[str, str]) -> None:
    payload, line = vector["payload"].encode(), vector["line"].encode()
    assert f"{zlib.crc32(payload):08X}" == vector["crc32"]
    assert to_line(payload) == line.replace(b"\r\n", b"\n")
    decoder = LineDecoder()
    assert (decoder.feed(line), decoder.dropped) == ([payload], 0)
    message = DECODERS[vector["from"]](payload)
    assert message is not None and (message.op == "ping") == (vector["from"] == "host")


@named(BAD["lines"])
def test_lines_that_do_not_check(vector: dict[str, str]) -> None:
    decoder = LineDecoder()
    assert decoder.feed(bytes_of(vector, "line") + to_line(b"{}")) == [b"{}"]
    assert decoder.dropped == 1


@named(BAD["payloads"])
def test_payloads_that_are_no_json_object(vector: dict[str, str]) -> None:
    for decode in DECODERS.values():
        with pytest.raises(CodecError):
            decode(bytes_of(vector, "payload"))


@pytest.mark.parametrize(
    ("sender", "vector"), MESSAGES, ids=[f"{sender}: {vector['name']}" for sender, vector in MESSAGES]
)
def test_messages(sender: str, vector: dict[str, Any]) -> None:
    text = vector["payload"]
    for name in sorted(SAMPLES, key=len, reverse=True):
        text = text.replace(f"${name}", SAMPLES[name])
    decode = DECODERS[sender]
    match vector["reading"]:
        case "valid":
            message = decode(text.encode())
            assert message is not None and message.op == json.loads(text)["op"]
        case "ignored":
            assert decode(text.encode()) is None
        case "invalid":
            with pytest.raises(CodecError):
                decode(text.encode())
        case reading:
            raise AssertionError(reading)


def steps_of(steps: list[Any]) -> Iterator[dict[str, Any]]:
    for step in steps:
        yield step
        yield from steps_of(step.get("steps", []))


def keys_of(value: Any) -> Iterator[str]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from value if isinstance(value, dict) else ()
    for item in items:
        yield from keys_of(item)


def test_the_page_explains_every_word_of_the_vectors() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    every = [FRAMES, BAD, [vector for _sender, vector in MESSAGES], SEQUENCES]
    for name in set(re.findall(r"\$(?:[A-Z][A-Z_]+|N\b)", json.dumps(every))):
        assert f"`{name}`" in page, name
    steps = [step for sequence in SEQUENCES.values() for step in steps_of(sequence["steps"])]
    for word in {next(iter(step)) for step in steps} | {key for key in keys_of(every) if key[:1] == "$"}:
        assert f'`{{"{word}":' in page, word
    parts = [*BAD["payloads"], *(vector for _sender, vector in MESSAGES), *SEQUENCES.values()]
    for need in {need for part in parts for need in part.get("needs", ())}:
        assert f"| `{need}` |" in page, need


def test_no_two_vectors_of_a_file_have_one_name() -> None:
    messages = ([vector for by, vector in MESSAGES if by == sender] for sender in DECODERS)
    for vectors in (FRAMES, BAD["lines"], BAD["payloads"], *messages):
        names = [vector["name"] for vector in vectors]
        assert len(set(names)) == len(names)


def test_no_line_holds_the_stop_byte() -> None:
    for vector in BAD["lines"]:
        assert STOP_BYTE not in bytes_of(vector, "line")


def test_no_wait_comes_near_a_watchdog() -> None:
    for sequence in SEQUENCES.values():
        if "watchdog" not in sequence.get("needs", ()):
            waits = [step.get("wait", step.get("for", 0)) for step in steps_of(sequence["steps"])]
            assert max(waits) <= 0.5


def test_ids_are_those_of_the_run() -> None:
    """A device keeps its answers: a fixed id in a file works once."""
    for sequence in SEQUENCES.values():
        for step in steps_of(sequence["steps"]):
            message = step.get("send", {})
            if message.get("op") in ("call", "init"):
                assert "$" in json.dumps(message["id"]), step
