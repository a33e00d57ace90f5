"""Whether an envelope limits what its device has: a mistyped name would silently be no limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from configs.yaml_file import nearest
from devices.device_type import DeviceType


def envelope_fault(
    limits: Mapping[str, Mapping[str, Any]], device: DeviceType
) -> tuple[tuple[str, ...], str] | None:
    """Return the first tool or argument that the device does not have: its keys, and what is wrong; None:
    none.
    """
    for name, arguments in limits.items():
        tool = device.by_name.get(name)
        if tool is None:
            there = _there(name, device.by_name)
            return ("envelope", name), f"a {device.name} has no tool {name!r}; {there}"
        known = tool.arguments.model_fields
        for argument in arguments:
            if argument not in known and tool.arguments.model_config.get("extra") != "allow":
                there = _there(argument, known)
                return ("envelope", name, argument), f"{name} has no argument {argument!r}; {there}"
    return None


def _there(name: str, names: Iterable[str]) -> str:
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"the nearest is {close[0]}" if close else f"there are {nearest(names)}"
