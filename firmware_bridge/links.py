"""URLs to links."""

from __future__ import annotations

from firmware_bridge.link import Link, LinkError
from firmware_bridge.mqtt_address import without_password

__all__ = ["Link", "LinkError", "open_link"]


def open_link(url: str, *, kept: bool = True) -> Link:
    """Open `mqtt://[user:pass@]host[:port]/RIG`, `mqtts://...` or a serial URL.

    Serial URLs: `serial:///dev/ttyX?baud=115200`, `serial://?serial=NUMBER`, `serial://?vid=2341&pid=0042`,
    `socket://HOST:PORT`, `rfc2217://HOST:PORT`; `kept` is `SerialLink`'s.

    Raises:
        LinkError: it cannot be opened; one line that says why and what to do.
    """
    scheme = url.partition("://")[0]
    if scheme in ("mqtt", "mqtts"):
        from firmware_bridge.mqtt_link import MqttLink

        return MqttLink(url)
    if scheme in ("serial", "socket", "rfc2217"):
        from firmware_bridge.serial_link import SerialLink

        return SerialLink(url, kept=kept)
    raise LinkError(
        f"no link for {without_password(url)!r}; write mqtt://HOST/RIG, mqtts://HOST/RIG or serial:///dev/ttyX"
    )
