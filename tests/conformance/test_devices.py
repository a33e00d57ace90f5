"""Every device of the kit passes the vectors of `tests/conformance`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import conformance_peers as peers
import micropython_rig
import pytest
from conformance_player import FOLDER, Mismatch, Peer, Player, bytes_of, load

from firmware_bridge.firmware.build import missing_packages

pytestmark = [pytest.mark.slow, pytest.mark.serial, pytest.mark.broker]

NEEDS_NODE = pytest.mark.skipif(micropython_rig.missing() is not None, reason=micropython_rig.missing() or "")
NEEDS_AVR = pytest.mark.skipif(bool(missing_packages()), reason="the AVR tools are not installed")
NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
PEERS = [
    pytest.param(peers.endpoint_on_serial, id="endpoint-serial"),
    pytest.param(peers.physical_endpoint_on_serial, id="physical-endpoint-serial"),
    pytest.param(peers.endpoint_on_mosquitto, id="endpoint-mosquitto"),
    pytest.param(peers.native_rover, id="firmware-native", marks=NEEDS_CC),
    pytest.param(peers.emulated_board, id="firmware-board", marks=NEEDS_AVR),
    pytest.param(peers.micropython_on_serial, id="micropython-serial", marks=NEEDS_NODE),
    pytest.param(peers.micropython_on_mosquitto, id="micropython-mosquitto", marks=NEEDS_NODE),
]


@pytest.fixture(scope="module", params=PEERS)
def peer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    with request.param(tmp_path_factory.mktemp("peer")) as started:
        yield started


def skip_unless_offered(peer: Peer, vector: dict[str, Any], *more: str) -> None:
    lacking = {*vector.get("needs", ()), *more} - peer.offers
    if lacking:
        pytest.skip(f"it has no {', '.join(sorted(lacking))}")


@contextmanager
def about(vector: dict[str, Any]) -> Iterator[None]:
    """Name the vector that fails: a device stands through all of a file, and so does one test."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{vector['name']}: {error}") from error


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("sequences/*.json")))
def test_sequences(peer: Peer, name: str) -> None:
    sequence = load(f"sequences/{name}.json")
    skip_unless_offered(peer, sequence)
    try:
        Player(peer).play(sequence)
    except Mismatch:
        # A peer keeps the wall clock's pace only while the machine has time for it: where it falls behind,
        # its watchdog strikes in between. What is wrong by rule is wrong the second time, too.
        Player(peer).play(sequence)


def test_frames(peer: Peer) -> None:
    skip_unless_offered(peer, {}, "serial")
    player = Player(peer)
    player.begin(prepare=False)
    before = player.dropped()
    for vector in load("frames.json")["frames"]:
        if vector["from"] == "host":
            with about(vector):
                line = vector["line"].encode()
                assert player.answered({"op": "pong"}, partial(peer.wire.raw, line)) == before


def test_lines_that_do_not_check(peer: Peer) -> None:
    skip_unless_offered(peer, {}, "serial")
    player = Player(peer)
    player.begin(prepare=False)
    dropped = player.dropped()
    for vector in load("bad_frames.json")["lines"]:
        with about(vector):
            before, dropped = dropped, player.answered(None, partial(peer.wire.raw, bytes_of(vector, "line")))
            assert dropped == (None if before is None else before + 1)


def test_payloads_that_are_no_json_object(peer: Peer) -> None:
    player = Player(peer)
    player.begin(prepare=False)
    dropped = player.dropped()
    for vector in load("bad_frames.json")["payloads"]:
        if peer.offers >= set(vector.get("needs", ())):
            with about(vector):
                send = partial(player.send_payload, bytes_of(vector, "payload"))
                before, dropped = dropped, player.answered(None, send)
                assert dropped == (None if before is None else before + 1)


def test_host_messages(peer: Peer) -> None:
    player = Player(peer)
    player.begin(prepare=False)
    for vector in load("host_messages.json")["messages"]:
        if peer.offers >= set(vector.get("needs", ())):
            with about(vector):
                player.answered(vector["answer"], partial(player.send_text, vector["payload"]))


def test_guard_frames(peer: Peer) -> None:
    """A rover's guard answers each, though none is under a key here; a device without one answers none."""
    player = Player(peer)
    player.begin(prepare=False)
    for vector in load("guard_frames.json")["frames"]:
        if "guard_key" in vector["needs"]:
            continue
        with about(vector):
            if "chip_guard" in peer.offers:
                player.answered_by_guard(vector["message"], vector["guard"])
            else:
                player.answered(None, partial(player.do, {"send": vector["message"]}))
