"""The load of a chip's guard table, beside answers that come late."""

from __future__ import annotations

import time
import zlib
from typing import Any

import pytest
from fake_link import FakeLink

from firmware_bridge import guard_loader
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
        status = client.guard.load(TABLE)
    assert (status.state, status.generation) == ("on", 7)
    assert status.table == f"{zlib.crc32(TABLE):08X}"


class Asked:
    """A device with a guard, whose answer to the first call that it is told of is lost."""

    def __init__(self) -> None:
        self.guard: dict[str, Any] = {"state": "on", "generation": 1, "calls": 4}
        self.heard: list[dict[str, Any]] = []

    def reply(self, link: FakeLink, message: dict[str, Any]) -> None:
        error = {}
        if message["op"] == "guard":
            self.heard.append(message)
            error = {"error": "calls"} if message["calls"] != self.guard["calls"] else {}
            self.guard["calls"] += not error
        if len(self.heard) != 1:
            link.say({"op": "status", "state": "online", "device": "d", "guard": self.guard | error})


def test_what_it_is_told_counts_once_though_the_answer_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_loader, "ANSWER_SECONDS", 0.1)
    asked = Asked()
    with RigClient(FakeLink(asked.reply)) as client:
        client.open()
        assert client.guard.tell(7).calls == 5
    assert [(message["told"], message["calls"]) for message in asked.heard] == [(7, 4), (7, 4)]


def test_a_refusal_is_told_at_once() -> None:
    with RigClient(FakeLink(Chip(refuses=True).reply)) as client:
        client.open()
        with pytest.raises(LinkError, match="mac"):
            client.guard.load(TABLE)
