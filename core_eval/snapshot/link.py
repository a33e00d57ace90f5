"""`snapshot:FILE` as a kind of link; its modules are imported when it is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from core_eval.text.streams import STREAMS
from firmware_bridge.link import Link
from firmware_bridge.links import LinkType, RigAddress

SCHEME = "snapshot"


def _path(url: str) -> Path:
    return Path(url.removeprefix(f"{SCHEME}:"))


def _open(rig: RigAddress) -> Link:
    from core_eval.snapshot.device import SnapshotLink
    from core_eval.snapshot.file import load_snapshot

    return SnapshotLink(load_snapshot(_path(rig.url)), rig.url)


def _implied(url: str) -> dict[str, Any]:
    from core_eval.snapshot.file import load_snapshot
    from devices.registry import DEVICE_TYPES

    snapshot = load_snapshot(_path(url))
    implied: dict[str, Any] = {} if snapshot.scoring_twin is None else {"twin": snapshot.scoring_twin}
    return implied | ({"device": snapshot.device} if snapshot.device in DEVICE_TYPES else {})


def _streams(url: str) -> int:
    from core_eval.snapshot.file import load_snapshot

    simulated = (one.streams for one in load_snapshot(_path(url)).episodes if one.simulated)
    return min(simulated, default=STREAMS)


def _fault(parts: SplitResult, _spawned: bool) -> str | None:
    return None if parts.path else "name the file that `pathrig log record` wrote, as in snapshot:rover.json"


SNAPSHOT = LinkType(SCHEME, "snapshot:FILE", _open, _fault, implied=_implied, streams=_streams)
