"""The vectors of the guard's frames are what the kit sends, and the kit's own devices have no such guard."""

from __future__ import annotations

import json
import zlib
from typing import Any

from conformance_player import load

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.symbols import Symbol
from devices.registry import device_type
from firmware_bridge import messages as wire
from firmware_bridge.codec import decode_host_message, encode
from firmware_bridge.firmware.guard_table import NO_SYMBOL, compile_guard
from firmware_bridge.guard_loader import code_of, code_of_told

KEY = bytes(range(16))
OTHER_KEY = bytes(range(1, 17))
ASK = Symbol.of_tool("ask")
TABLE = compile_guard(
    TaskAutomaton(
        states=["before", "after"],
        symbols=[ASK],
        start="before",
        accepting=["after"],
        delta={("before", ASK.name): "after"},
        reading=2,
    ),
    device_type("farm_rover"),
)
"""A person is to be asked once, and then the task is done."""
ANSWER = TABLE.told[ASK.name]
HALF = len(TABLE.data) // 2
Vector = dict[str, Any]


def piece(at: int, end: int | None) -> wire.Guard:
    return wire.Guard(at=at, data=TABLE.data[at:end].hex().upper())


def end(mac: str | None, table: bytes = TABLE.data) -> wire.Guard:
    return wire.Guard(length=len(table), sum=f"{zlib.crc32(table):08X}" if table else None, mac=mac)


def told(
    symbol: int, calls: int, code_of: tuple[int, int] | None = None, generation: int = 1, key: bytes = KEY
) -> wire.Guard:
    mac = code_of_told(*(code_of or (symbol, calls)), generation, key)
    return wire.Guard(told=symbol, calls=calls, mac=mac)


def vectors() -> list[Vector]:
    """What the kit sends to a device whose guard has taken no table yet, and what that answers."""
    loading, off = {"state": "loading"}, {"state": "off"}
    begun = {"state": "on", "mode": "block", "table": TABLE.name, "at": 0, "accepted": False, "calls": 0}
    asked = {"state": "on", "at": 1, "accepted": True, "calls": 1, "progress": 1, "loops": 0, "harm": "00"}
    twice = {**asked, "calls": 2, "loops": 1, "condensed": 1, "prefix_criticality": 1, "harm_rate": 0}
    no_code, keyed = {**begun, "error": "mac"}, ["guard_key"]
    rows: list[tuple[str, wire.Guard, Vector, list[str]]] = [
        ("told before there is a table", told(ANSWER, 0), {**off, "error": "malformed"}, []),
        ("a table without a code, its first half", piece(0, HALF), loading, keyed),
        ("its second half", piece(HALF, None), loading, keyed),
        ("its end", end(None), {**off, "error": "mac"}, keyed),
        ("the table, its first half", piece(0, HALF), loading, []),
        ("the table, its second half", piece(HALF, None), loading, []),
        ("the table's end", end(code_of(TABLE.data, 1, KEY)), begun, []),
        ("an answer under another key", told(ANSWER, 0, key=OTHER_KEY), no_code, keyed),
        ("an answer of another table", told(ANSWER, 0, generation=2), no_code, keyed),
        (
            "no symbol under an answer's code",
            told(NO_SYMBOL, 0, (ANSWER, 0)),
            {**begun, "error": "mac"},
            keyed,
        ),
        ("an answer of a later call", told(ANSWER, 1), {**begun, "error": "calls"}, []),
        ("no symbol of any table", told(255, 0), {**begun, "error": "malformed"}, []),
        ("the answer", told(ANSWER, 0), asked, []),
        ("the answer once more", told(ANSWER, 0), {**asked, "error": "calls"}, []),
        (
            "the next under its code",
            told(ANSWER, 1, (ANSWER, 0)),
            {**asked, "error": "mac"},
            keyed,
        ),
        ("another question, off the path", told(NO_SYMBOL, 1), twice, []),
        ("the end of the episode without a code", end(None, b""), {**twice, "error": "mac"}, keyed),
        ("the end of the episode", end(code_of(b"", 2, KEY), b""), off, []),
    ]
    return [
        {"name": name, "message": json.loads(encode(message)), "needs": needs, "guard": guard}
        for name, message, guard, needs in rows
    ]


def test_the_kit_makes_the_frames_of_the_file() -> None:
    file = load("guard_frames.json")
    assert (bytes.fromhex(file["key"]), bytes.fromhex(file["table"])) == (KEY, TABLE.data)
    assert file["frames"] == vectors()
    for vector in file["frames"]:
        assert decode_host_message(json.dumps(vector["message"]).encode()) is None
