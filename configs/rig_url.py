"""URLs of rigs: what they may be, and what they say."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit

from configs.errors import ConfigError
from devices.drivers.driver_file import DriverFile
from firmware_bridge.links import LINK_TYPES, link_type
from firmware_bridge.mqtt.address import without_password


def check_link(driver: DriverFile, url: str) -> None:
    """Check that a driver's machine can be behind a URL.

    Raises:
        ConfigError: it cannot.
    """
    kind = link_type(url)
    own_wire = driver.link == "pathrig" and link_type(url) is not None
    if own_wire or driver.link == "python" or (kind is not None and driver.link == kind.family):
        return
    # The scheme that is named as the family, where there is one, is its plainest.
    plainest = LINK_TYPES.get(driver.link) or next(
        known for known in LINK_TYPES.values() if driver.link in (known.family, "pathrig")
    )
    raise ConfigError(
        f"driver {driver.name} needs a URL like {plainest.example}, not {without_password(url)!r}"
    )


def check_url(url: str, *, spawned: bool) -> None:
    """Check that a URL leads to a rig, without opening it.

    Raises:
        ConfigError: it does not.
    """
    parts, shown = urlsplit(url), without_password(url)
    kind = link_type(url)
    if kind is None:
        *starts, last = (
            f"{scheme}{'://' if '://' in kind.example else ':'}" for scheme, kind in LINK_TYPES.items()
        )
        raise ConfigError(f"{shown!r}: a rig's URL starts with {', '.join(starts)} or {last}")
    try:
        _ = parts.port
    except ValueError:
        raise ConfigError(f"{shown!r}: the port must be a number from 1 to 65535") from None
    if (fault := kind.fault(parts, spawned)) is not None:
        raise ConfigError(f"{shown!r}: {fault}")


def without_truth(url: str) -> tuple[str, bool]:
    """Return the URL without its query key `truth`, and that key's value.

    Raises:
        ConfigError: it is neither true nor false.
    """
    address, _, query = url.partition("?")
    pairs = parse_qsl(query)
    said = [value for key, value in pairs if key == "truth"]
    if not said:
        return url, True
    if said[0] not in ("true", "false"):
        raise ConfigError(f"{without_password(url)!r}: truth is either true or false")
    rest = urlencode([pair for pair in pairs if pair[0] != "truth"])
    return address + (f"?{rest}" if rest else ""), said[0] == "true"
