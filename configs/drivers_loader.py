"""Driver files: by the name that a package registers, or by a file's path."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from configs.device_types import device_ref, load_device
from configs.errors import ConfigError
from configs.programs import require
from configs.yaml_file import load_yaml, nearest
from devices.drivers.check import driver_faults
from devices.drivers.driver_file import DriverFile
from devices.drivers.python_driver import load_class
from devices.drivers.templates import names_in
from devices.drivers.tool_driver import method_faults
from devices.registry import Registry

DRIVERS_FOLDER = Path(__file__).parent / "drivers"
OWN_WIRE = "pathrig-json"
"""The driver of a rig file that names none."""
DRIVERS: Registry[Path] = Registry("pathrig.drivers", Path)
"""Every driver that an installed package registers, by name: its file, or the folder of NAME.yaml."""


def driver_names() -> list[str]:
    """Return the registered drivers."""
    return list(DRIVERS)


def shipped_drivers() -> list[str]:
    """Return the drivers that ship with the kit."""
    return sorted(path.stem for path in DRIVERS_FOLDER.glob("*.yaml"))


def driver_path(name_or_file: str, beside: Path | None = None) -> Path:
    """Return the file of a driver; a relative path is looked for beside the rig file too.

    Raises:
        ConfigError: no such driver.
    """
    candidates = [Path(name_or_file)]
    if name_or_file in DRIVERS:
        registered = DRIVERS[name_or_file]
        candidates.append(registered / f"{name_or_file}.yaml" if registered.is_dir() else registered)
    if beside is not None:
        candidates.insert(0, beside.parent / name_or_file)
    for path in candidates:
        if path.is_file():
            return path
    raise ConfigError(
        f"no driver {name_or_file!r}; there are {nearest(driver_names(), name_or_file)}, or give a file"
    )


def load_driver(name_or_file: str) -> DriverFile:
    """Return a driver, checked.

    Raises:
        ConfigError: no such driver, or its file is wrong; with its line.
    """
    path = driver_path(name_or_file)
    return _loaded(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _loaded(path: Path, changed: int) -> DriverFile:
    """Load the file in its version of time `changed`; the result is cached."""
    file = load_yaml(path)
    driver = file.validate(DriverFile)
    if driver.link == "pathrig":
        return driver
    if (driver.link == "python") != bool(driver.python):
        raise file.error("a class is for link python, which needs one: package.module:Class", "python")
    if driver.device is None:
        raise file.error("must be a device type: a registered name, or a file", "device")
    ref = device_ref(driver.device, path)
    with file.at("device"):
        device = load_device(ref)
    driver = driver.model_copy(update={"device": ref})
    for name in names_in(driver.unattended):
        if name not in driver.options:
            raise file.error(f"{driver.name} has no option {name!r}", "unattended")
    if driver.link == "python":
        if not {path, path.parent} & set(DRIVERS.values()):
            require(file, "python", f"imports and runs the Python class {driver.python}")
        try:
            found = load_class(driver.python)
        except ValueError as error:
            raise file.error(str(error), "python") from None
        tools = [tool for tool in device.tools if not driver.tools or tool.name in driver.fitted]
        for wrong in method_faults(found, tools):
            raise file.error(wrong, "python")
        return driver
    faults = list(driver_faults(driver, device))
    if faults:
        place, message = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise file.error(f"{message}{more}", *place)
    return driver
