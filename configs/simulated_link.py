"""`sim:WORLD` as a kind of link: a simulator in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from configs.worlds_loader import known_world, load_world, make_simulator
from firmware_bridge.link import Link
from firmware_bridge.links import LinkType, RigAddress


def _open(rig: RigAddress) -> Link:
    from firmware_bridge.local.link import LocalLink

    simulator = make_simulator(load_world(rig.world or urlsplit(rig.url).path))
    simulator.reports_truth = rig.truth
    return LocalLink(simulator, name=rig.name)


def _fault(parts: SplitResult, _spawned: bool) -> str | None:
    if known_world(parts.path) is None and not Path(parts.path).is_file():
        return f"no world {parts.path!r}"
    return "a simulator takes no options but truth=false" if parts.query else None


def _implied(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if known_world(parts.path) is None and not Path(parts.path).is_file():
        return {}
    return {"device": load_world(parts.path).device.name, "world": parts.path}


SIMULATED = LinkType("sim", "sim:WORLD", _open, _fault, implied=_implied, in_process=True)
