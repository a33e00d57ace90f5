"""The codec beyond its vectors (`tests/conformance`): any bytes, any damage, and what it refuses to send."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge import messages as wire
from firmware_bridge.codec import CodecError, decode_device_message, decode_host_message, decode_lease, encode
from firmware_bridge.lines import RESET, RESET_STOP_INPUT, LineDecoder, to_line

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CALLS = st.builds(
    wire.Call,
    id=TEXT | st.integers(0, 2**31),
    tool=st.sampled_from(["move_to", "water_plant"]),
    args=st.dictionaries(TEXT, JSON, max_size=3),
    not_after=st.none() | st.integers(0, 2**40),
)
GOOD = to_line(encode(wire.Ping()))


@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "9" * 400 + ".0", "9" * 300 + "e9", "9" * 215 + ".0E+99"]
)
def test_numbers_beyond_all_floats_are_refused(number: str) -> None:
    for decode, text in (
        (decode_host_message, '{"op":"call","id":"a","tool":"t","args":{"x":[%s]}}'),
        (decode_host_message, '{"op":"call","id":"a","tool":"t","not_after":%s}'),
        (decode_host_message, '{"op":"init","id":"a","state":{"x":{"y":%s}}}'),
        (decode_device_message, '{"op":"result","id":"a","status":"ok","value":%s}'),
        (decode_device_message, '{"op":"result","id":"a","status":"ok","t":%s}'),
        (decode_device_message, '{"op":"ack","id":"a","eta":%s}'),
        (decode_device_message, '{"op":"pong","m":%s}'),
        (decode_device_message, '{"op":"sample","sensor":"a","value":%s}'),
        (decode_device_message, '{"op":"status","state":"online","watchdog_ms":%s}'),
    ):
        with pytest.raises(CodecError) as refused:
            decode((text % number).encode())
        if '"id"' in text:
            assert refused.value.data is not None and refused.value.data["id"] == "a"


@given(CALLS)
def test_a_call_survives_the_wire(call: wire.Call) -> None:
    payload = encode(call)
    assert b"\x18" not in payload and b"\n" not in payload
    assert LineDecoder().feed(to_line(payload)) == [payload]
    assert decode_host_message(payload) == call


def test_a_message_says_its_version_and_its_op() -> None:
    assert encode(wire.Ping()) == b'{"v":1,"op":"ping"}'
    assert (encode(wire.Reset()), encode(wire.Reset(stop_input=True))) == (RESET, RESET_STOP_INPUT)


@given(CALLS, st.data())
def test_a_line_with_one_byte_changed_lost_or_added_never_passes_for_another(
    call: wire.Call, data: st.DataObject
) -> None:
    payload = encode(call)
    line = bytearray(to_line(payload))
    at = data.draw(st.integers(0, len(line) - 2), label="at")
    match data.draw(st.sampled_from(["flip", "lose", "insert"]), label="how"):
        case "flip":
            line[at] ^= 1 << data.draw(st.integers(0, 7), label="bit")
        case "lose":
            del line[at]
        case _:
            line.insert(at, data.draw(st.integers(0, 255), label="byte"))
    decoder = LineDecoder()
    got = decoder.feed(bytes(line) + GOOD)
    # A carriage return before the newline belongs to no payload, so adding one changes nothing.
    assert set(got[:-1]) <= {payload}
    assert got[-1:] == [GOOD[:-10]]
    assert decoder.dropped + len(got) >= 2


@given(st.binary(max_size=300), st.lists(st.integers(1, 7), max_size=50))
def test_any_bytes_in_any_pieces_then_in_step_again(noise: bytes, pieces: list[int]) -> None:
    decoder = LineDecoder(max_frame=200)
    stream = noise + b"\n" + GOOD
    got: list[bytes] = []
    for size in pieces:
        got += decoder.feed(stream[:size])
        stream = stream[size:]
    got += decoder.feed(stream)
    assert got[-1] == GOOD[:-10]


def test_too_long_a_line_is_dropped_once_and_the_next_is_read() -> None:
    decoder = LineDecoder(max_frame=100)
    for _ in range(50):
        assert decoder.feed(b"x" * 40) == []
    assert decoder.feed(b"\n" + GOOD) == [GOOD[:-10]]
    assert decoder.dropped == 1


def test_lines_with_carriage_return_and_blank_lines_are_fine() -> None:
    decoder = LineDecoder()
    assert decoder.feed(b"\r\n\n" + GOOD[:-1] + b"\r\n") == [GOOD[:-10]]
    assert decoder.dropped == 0


@pytest.mark.parametrize("payload", [b"[" * 5000, b'{"op":"call","id":"a","tool":"t","args":{"x":NaN}}'])
def test_what_is_no_message_is_said_to_be_none(payload: bytes) -> None:
    with pytest.raises(CodecError):
        decode_host_message(payload)


@pytest.mark.parametrize("word", ["Infinity", "-Infinity", "NaN"])
def test_bare_words_for_numbers_are_refused_in_every_place(word: str) -> None:
    for text in (
        '{"op":"result","id":"a","status":"ok","value":{"x":%s}}',
        '{"op":"truth","id":"a","state":{"x":%s}}',
        '{"op":"sample","sensor":"a","value":%s}',
        '{"op":"result","id":"a","status":"ok","unknown":%s}',
    ):
        with pytest.raises(CodecError):
            decode_device_message((text % word).encode())
    with pytest.raises(CodecError):
        decode_host_message(b'{"op":"call","id":"a","tool":"t","args":{"x":%s}}' % word.encode())


@pytest.mark.parametrize("spare", [0, 1])
def test_a_frame_of_just_the_longest_length_is_taken(spare: int) -> None:
    line = to_line(b'{"op":"ping"}')
    longest = len(line) - len(b"\n")
    for pieces in ([line], [line[:5], line[5:]]):
        decoder = LineDecoder(max_frame=longest - spare)
        got = [payload for piece in pieces for payload in decoder.feed(piece)]
        assert (got, decoder.dropped) == (([], 1) if spare else ([b'{"op":"ping"}'], 0))


LONG = "9" * 4301
DEEP = "[" * 150 + "]" * 150
"""Deeper than what reads the log again takes, and not too deep for the wire's own parser."""


@pytest.mark.parametrize(
    "text",
    [
        '{"op":"pong","m":1e300}',
        f'{{"op":"pong","m":{"9" * 400}}}',
        f'{{"op":"pong","m":{LONG}}}',
        f'{{"op":"status","state":"online","watchdog_ms":{"9" * 400}}}',
        f'{{"op":"status","state":"online","max_frame":{"9" * 400}}}',
        f'{{"op":"sample","sensor":"a","value":{"9" * 400}}}',
        f'{{"op":"result","id":"a","status":"ok","value":{LONG}}}',
        f'{{"op":"result","id":"a","status":"ok","value":{DEEP}}}',
        f'{{"op":"truth","id":"a","state":{{"x":{DEEP}}}}}',
        "[" * 100_000,
    ],
)
def test_numbers_and_depths_that_nobody_could_use_are_refused_by_the_one_error(text: str) -> None:
    with pytest.raises(CodecError):
        decode_device_message(text.encode())


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("nonsense", None),
        ("[1]", None),
        ('{"op":"lease","id":"a","x":NaN}', None),
        ('{"id":"a"}', {"id": "a"}),
        ('{"op":5,"id":"a"}', {"op": 5, "id": "a"}),
        ('{"op":"call","id":"a"}', {"op": "call", "id": "a"}),
        ('{"op":"call","id":"NaN"}', {"op": "call", "id": "NaN"}),
    ],
)
def test_an_error_holds_the_object_as_far_as_there_is_one(text: str, data: object) -> None:
    for decode in (decode_host_message, decode_lease):
        with pytest.raises(CodecError) as refused:
            decode(text.encode())
        assert refused.value.data == data


def test_a_lease_is_read_and_nothing_else_passes_for_one() -> None:
    lease = wire.Lease(id="a", holder="me on here", since=1.0, seconds=5.0, n=2)
    assert decode_lease(encode(lease)) == lease
    for text in ('{"op":"ping"}', encode(lease).decode().replace('"lease"', '"LEASE"')):
        with pytest.raises(CodecError, match="no lease"):
            decode_lease(text.encode())


def test_an_answer_that_is_too_deep_still_names_its_call() -> None:
    with pytest.raises(CodecError, match="nested deeper") as refused:
        decode_device_message(f'{{"op":"result","id":"a","status":"ok","value":{DEEP}}}'.encode())
    assert refused.value.data is not None and refused.value.data["id"] == "a"


@pytest.mark.parametrize("nothing", ["0", "-1", "0.0", "-0.5e3", "null"])
def test_limits_of_nothing_are_none(nothing: str) -> None:
    whole = nothing if "." not in nothing else "0"
    text = f'{{"op":"status","state":"online","watchdog_ms":{nothing},"max_frame":{whole}}}'
    status = decode_device_message(text.encode())
    assert isinstance(status, wire.Status)
    assert status.watchdog_ms is None and status.max_frame is None


def test_a_boot_may_be_a_number_of_starts() -> None:
    status = decode_device_message(b'{"op":"status","state":"online","boot":17}')
    assert isinstance(status, wire.Status) and status.boot == "17"


def test_unknown_ops_and_keys_are_ignored() -> None:
    assert decode_host_message(b'{"v":1,"op":"dance","x":1}') is None
    assert decode_host_message(b'{"op":"ping","colour":"red"}') == wire.Ping()
    result = decode_device_message(b'{"op":"result","id":"a","status":"ok","new":[1]}')
    assert result == wire.Result(id="a", status="ok")


def test_sloppy_devices_are_understood() -> None:
    result = decode_device_message(b'{"op":"result","id":7,"status":"fault","error":"motor","t":null}')
    assert isinstance(result, wire.Result) and result.id == 7
    assert result.error is not None and result.error.message == "motor"
    status = decode_device_message(b'{"op":"status","state":"online"}')
    assert isinstance(status, wire.Status) and status.max_frame is None and status.watchdog_ms is None


def test_what_is_sent_keeps_nulls_of_values_and_leaves_out_missing_keys() -> None:
    sent = json.loads(encode(wire.Result(id="a", status="ok", value={"held": None})))
    assert sent == {"v": 1, "op": "result", "id": "a", "status": "ok", "value": {"held": None}}


@pytest.mark.parametrize("text", ["NaN", "-Infinity", 'a "NaN" in quotes'])
def test_words_that_name_no_number_may_stand_in_texts_and_keys(text: str) -> None:
    call = wire.Call(id="a", tool=text, args={text: text, "x": 1.5})
    assert json.loads(encode(call))["args"] == {text: text, "x": 1.5}
    assert decode_host_message(encode(call)) == call
    result = wire.Result(id="a", status="ok", value={text: [text, 2]})
    assert decode_device_message(encode(result)) == result


def test_values_without_json_are_refused_not_changed() -> None:
    with pytest.raises(ValueError):
        encode(wire.Call(id="a", tool="t", args={"x": float("inf")}))
    with pytest.raises(ValueError):
        encode(wire.Call(id="a", tool="t", args={"x": "\ud800"}))


class Thing:
    """Something of Python's own."""


@pytest.mark.parametrize(
    "value",
    [{1, 2}, frozenset(), b"raw", bytearray(b"raw"), Thing(), 1j, Decimal("1.5"), datetime.now(UTC),
     Path("/"), range(3), {1: "a"}, {"deep": [{"er": (1, {2})}]}],
)  # fmt: skip
def test_what_plain_json_refuses_is_refused(value: object) -> None:
    for message in (
        wire.Call(id="a", tool="t", args={"x": value}),
        wire.Init(id="a", state={"x": value}),
        wire.Result(id="a", status="ok", value=value),
        wire.Truth(state={"x": value}),
        wire.Truth(events=[{"x": value}]),
    ):
        with pytest.raises((TypeError, ValueError)):
            encode(message)
