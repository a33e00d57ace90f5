"""Device types: by the name that a package registers, or from a file of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from configs.errors import ConfigError
from configs.yaml_file import load_yaml, nearest
from devices.declared.build import declared_device
from devices.declared.check import device_faults
from devices.declared.device_file import DeviceFile
from devices.device_type import DeviceType
from devices.registry import DEVICE_TYPES, PluginError

SUFFIXES = (".yaml", ".yml")
DEVICES_FOLDER = Path(__file__).parent / "devices"


@dataclass(frozen=True)
class DeclaredDevice:
    """A device type from a file, and what of the file is for plans alone."""

    type: DeviceType
    file: DeviceFile


def is_device_file(ref: str) -> bool:
    """Whether a reference means a file rather than a registered name."""
    return ref not in DEVICE_TYPES and Path(ref).suffix in SUFFIXES


def load_device(ref: str) -> DeviceType:
    """The device type that a registered name or a file means; raises ConfigError."""
    if is_device_file(ref):
        return load_declared(ref).type
    try:
        return DEVICE_TYPES[ref]
    except KeyError:
        names = nearest(list(DEVICE_TYPES))
        raise ConfigError(f"no device type {ref!r}; there are {names}, or give a file") from None
    except PluginError as error:
        raise ConfigError(str(error)) from None


def device_ref(ref: str, beside: Path) -> str:
    """The reference with its file found, which may lie beside the file that names it, or be a shipped one."""
    if not is_device_file(ref):
        return ref
    places = beside.parent / ref, Path(ref), DEVICES_FOLDER / ref
    return next((str(place) for place in places if place.is_file()), ref)


def load_declared(ref: str) -> DeclaredDevice:
    """The device type of a file.

    Raises:
        ConfigError: there is no such file, or it is wrong; with its line.
    """
    path = Path(ref)
    try:
        return _loaded(path.resolve(), path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        raise ConfigError("no such device file", file=path) from None


@lru_cache(maxsize=32)
def _loaded(found: Path, path: Path, changed: int) -> DeclaredDevice:
    """The file as it is since it was `changed`; a file of tasks asks for it once a task."""
    file = load_yaml(path)
    device = file.validate(DeviceFile)
    if device.name in DEVICE_TYPES:
        raise file.error(f"{device.name!r} is a registered device type, choose another name", "name")
    faults = list(device_faults(device))
    if faults:
        place, message = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise file.error(f"{message}{more}", *place)
    return DeclaredDevice(declared_device(device), device)
