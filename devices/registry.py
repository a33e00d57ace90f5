"""Registries of plug-ins: found through entry points, loaded on request."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from devices.device_type import DeviceType
from devices.error_text import described
from devices.tool import Tool

Plugin = TypeVar("Plugin")


class PluginError(Exception):
    """A registered plug-in is unusable; one line that names the package which registers it."""


class Registry(Mapping[str, Plugin], Generic[Plugin]):
    """The plug-ins of one entry-point group, by name; each is imported when it is read.

    Args:
        group: the entry-point group, such as `pathrig.worlds`.
        kind: the class of the objects that entry points must load.
        part_of: another group, each of whose objects has such a plug-in as the attribute named second; its
            names are added to those of the group.
    """

    def __init__(self, group: str, kind: type[Plugin], part_of: tuple[str, str] | None = None) -> None:
        self._group, self._kind = group, kind
        self._wider, self._part = part_of or ("", "")
        self._loaded: dict[str, Plugin] = {}

    def __getitem__(self, name: str) -> Plugin:
        """Return the plug-in of that name.

        Raises:
            KeyError: there is none.
            PluginError: it cannot be imported, or is of another class.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(self._found[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def ships(self, name: str) -> bool:
        """Return whether the kit itself registers that plug-in."""
        return name in self._found and _owner(self._found[name]) == "pathrig"

    @cached_property
    def _found(self) -> Mapping[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        ours = []
        installed = _installed(*sys.path)
        own = installed.select(group=self._group)
        wider = installed.select(group=self._wider)
        for point in (*own, *(point for point in wider if point.name not in own.names)):
            known = found.get(point.name)
            if known is not None and known.value != point.value:
                raise PluginError(
                    f"{_owner(known)} and {_owner(point)} both register {point.name!r} in {point.group}: "
                    "uninstall one of them"
                )
            found[point.name] = point
            if _owner(point) == "pathrig":
                ours.append(point.name)
        # The kit's own first. By name, because the order of entry points is the installer's.
        return {name: found[name] for name in (*sorted(ours), *sorted(found.keys() - set(ours)))}

    def _load(self, point: EntryPoint) -> Plugin:
        try:
            loaded = point.load()
            if point.group == self._wider:
                loaded = getattr(loaded, self._part, loaded)
        except Exception as error:
            raise PluginError(
                f"{_owner(point)} registers {point.name!r} in {point.group} as {point.value}, which cannot "
                f"be imported ({described(error)}): correct it, or install a version of it that fits"
            ) from error
        if not isinstance(loaded, self._kind):
            raise PluginError(
                f"{_owner(point)} registers {point.name!r} in {point.group} as {point.value}, which must be "
                f"a {self._kind.__name__}, not {type(loaded).__name__}"
            )
        return loaded


@cache
def _installed(*_path: str) -> Any:
    """The `EntryPoints` of all that is installed; by group, all files are read again for each."""
    return entry_points()


def _owner(point: EntryPoint) -> str:
    return "a package" if point.dist is None else _name(point.dist)


@cache
def _name(package: Distribution) -> str:
    return package.name


DEVICE_TYPES: Registry[DeviceType] = Registry("pathrig.devices", DeviceType, ("pathrig.worlds", "device"))
"""Every device type that an installed package registers, by name; a world's name means its device type."""


def device_type(name: str) -> DeviceType:
    """Return the device type of that name.

    Raises:
        KeyError: no such type; the text names the existing ones.
    """
    try:
        return DEVICE_TYPES[name]
    except KeyError:
        raise KeyError(f"no device type {name!r}; there are {', '.join(DEVICE_TYPES)}") from None


def shipped_tools(device: DeviceType) -> tuple[Tool, ...]:
    """Return those tools of a device that are the very ones of a type which ships with the kit.

    A foreign file may give its device and its tools any name.
    """
    if not DEVICE_TYPES.ships(device.name):
        return ()
    shipped = DEVICE_TYPES[device.name].tools
    return tuple(tool for tool in device.tools if tool in shipped)
