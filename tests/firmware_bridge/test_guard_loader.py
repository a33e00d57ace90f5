"""The load of a chip's guard table, beside answers that come late."""

from __future__ import annotations

import time
import zlib
from typing import Any

import pytest
from fake_link import FakeLink

from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError

TABLE = bytes(range(200))


class Chip:
    """A device with a guard, each of whose statuses comes after the next message, the last one by itself."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.guard: dict[str, Any] = {"state": "none", "generation": 6}
        self.late = dict(self.guard)
        self.refuses = refuses

    def reply(self, link: FakeLink, message: dict[str, Any]) -> None:
        told, self.late = self.late, self.guard
        link.say({"op": "status", "state": "online", "device": "d", "guard": told})
        if message["op"] == "guard" and "length" in message:
            on = {"state": "on", "generation": 7, "table": message["sum"]}
            refused = {"state": "none", "generation": 6, "error": "mac"}
            time.sleep(0.05)
            link.say({"op": "status", "state": "online", "guard": refused if self.refuses else on})
        elif message["op"] == "guard":
            self.guard = {"state": "loading", "generation": 6}


def test_the_late_answer_to_a_piece_is_none_to_the_end() -> None:
    with RigClient(FakeLink(Chip().reply)) as client:
        client.open()
        status = client.load_guard(TABLE)
    assert (status.state, status.generation) == ("on", 7)
    assert status.table == f"{zlib.crc32(TABLE):08X}"


def test_a_refusal_is_told_at_once() -> None:
    with RigClient(FakeLink(Chip(refuses=True).reply)) as client:
        client.open()
        with pytest.raises(LinkError, match="mac"):
            client.load_guard(TABLE)
