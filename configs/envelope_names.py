"""Whether an envelope limits what its device has: a mistyped name would silently be no limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from configs.errors import ConfigError
from configs.yaml_file import nearest
from devices.device_type import DeviceType


def check_envelope(limits: Mapping[str, Mapping[str, Any]], device: DeviceType) -> None:
    """Check that a device has the tools and arguments that an envelope limits.

    Raises:
        ConfigError: it does not have one; at its keys.
    """
    for name, arguments in limits.items():
        tool = device.by_name.get(name)
        if tool is None:
            there = _there(name, device.by_name)
            raise ConfigError(f"a {device.name} has no tool {name!r}; {there}", at=("envelope", name))
        known = tool.arguments.model_fields
        for argument in arguments:
            if argument not in known and tool.arguments.model_config.get("extra") != "allow":
                there = _there(argument, known)
                raise ConfigError(
                    f"{name} has no argument {argument!r}; {there}", at=("envelope", name, argument)
                )


def _there(name: str, names: Iterable[str]) -> str:
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"the nearest is {close[0]}" if close else f"there are {nearest(names)}"
