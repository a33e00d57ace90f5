"""Opens a rig's driver, in the rig process, from what its file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from configs.device_types import load_device
from configs.drivers_loader import load_driver
from devices.drivers.settings import resolve
from firmware_bridge.link import Link
from firmware_bridge.links import LinkType, RigAddress


def driver_spec(config: RigAddress) -> dict[str, Any]:
    """Return the arguments of `open_driver` for a rig with a driver, JSON values."""
    return {
        "driver": config.driver,
        "options": config.driver_options,
        "tables": config.driver_tables,
        "url": config.url,
        "name": config.name,
    }


def open_driver(
    driver: str,
    options: Mapping[str, Any],
    tables: Mapping[str, Any],
    url: str,
    name: str,
    *,
    stop_first: bool = False,
) -> Link:
    """Open the hardware behind a driver, and stop it before all else if `stop_first`.

    Raises:
        LinkError: it cannot be opened.
    """
    file = load_driver(driver)
    assert file.device is not None, "checked by the loader"
    parameters = file, load_device(file.device), resolve(file, options, tables), url, name
    if file.link == "python":
        from firmware_bridge.drivers.python_link import open_python_driver

        link: Link = open_python_driver(*parameters)
        if stop_first:
            link.stop()
        return link
    from firmware_bridge.drivers.driver_link import open_driver_link

    return open_driver_link(*parameters, stop_first=stop_first)


def _open(rig: RigAddress) -> Link:
    from firmware_bridge.rig_process.link import Opener, RigProcessLink

    opener = Opener("core_eval.rig.driver_process:open_driver", driver_spec(rig), rig.deadman)
    return RigProcessLink(opener)


DRIVEN = LinkType("driver", "the URL of the driver's machine", _open)
"""The link to hardware behind a driver, whatever its URL: the rig process owns port and driver."""
