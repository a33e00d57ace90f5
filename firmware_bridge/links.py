"""URLs to links."""

from __future__ import annotations

from firmware_bridge.link import Link, LinkError

__all__ = ["Link", "LinkError", "open_link"]


def open_link(url: str) -> Link:
    """Open `mqtt://[user:pass@]host[:port]/RIG`, `mqtts://...` or `serial:///dev/ttyX?baud=115200`.

    Raises:
        LinkError: it cannot be opened; one line that says why and what to do.
    """
    scheme = url.partition("://")[0]
    if scheme in ("mqtt", "mqtts"):
        from firmware_bridge.mqtt_link import MqttLink

        return MqttLink(url)
    if scheme == "serial":
        from firmware_bridge.serial_link import SerialLink

        return SerialLink(url)
    raise LinkError(f"no link for {url!r}; write mqtt://HOST/RIG, mqtts://HOST/RIG or serial:///dev/ttyX")
