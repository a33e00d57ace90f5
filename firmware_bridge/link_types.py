"""The kit's own kinds of links; each is imported when it is opened."""

from __future__ import annotations

from urllib.parse import SplitResult

from firmware_bridge.link import Link, LinkError
from firmware_bridge.links import LinkType, RigAddress


def _open_mqtt(rig: RigAddress) -> Link:
    from firmware_bridge.mqtt.link import MqttLink

    return MqttLink(rig.url)


def _open_serial(rig: RigAddress) -> Link:
    from firmware_bridge.rig_process.link import Opener, RigProcessLink

    return RigProcessLink(Opener("firmware_bridge.serial.link:SerialLink", {"url": rig.url}, rig.deadman))


def _open_mcp(rig: RigAddress) -> Link:
    try:
        from firmware_bridge.mcp.link import McpLink
    except ImportError as error:
        raise LinkError(f"{rig.url} needs {error.name}: pip install 'pathrig[mcp]'") from None
    return McpLink(rig.url)


def _may_publish(url: str, channel: str, payload: bytes) -> bool | None:
    from firmware_bridge.mqtt.connection import may_publish

    return may_publish(url, channel, payload)


def _mqtt_fault(parts: SplitResult, _spawned: bool) -> str | None:
    if not parts.path.strip("/"):
        return "the rig's name is missing, as in mqtt://localhost/my-rover"
    if any(sign in parts.path for sign in "+#"):
        return "a rig's name holds neither + nor #"
    return None


def _serial_fault(parts: SplitResult, spawned: bool) -> str | None:
    if parts.path.strip("/") or parts.query or spawned:
        return None
    return "the port's path is missing, as in serial:///dev/ttyACM0?baud=115200"


def _mcp_fault(parts: SplitResult, _spawned: bool) -> str | None:
    return None if parts.path.strip() else "name a program or a URL, as in mcp:'python server.py'"


def _mcp_program(url: str) -> str | None:
    text = url.partition(":")[2].strip()
    return None if text.startswith(("http://", "https://")) else text


def _network_fault(parts: SplitResult, _spawned: bool) -> str | None:
    if parts.hostname and parts.port is not None:
        return None
    return f"write {parts.scheme}://HOST:PORT"


MQTT = LinkType("mqtt", "mqtt://HOST/RIG", _open_mqtt, _mqtt_fault, "broker", _may_publish)
SERIAL = LinkType("serial", "serial:///dev/ttyACM0", _open_serial, _serial_fault, "pty")
NETWORK_SERIAL = LinkType("serial", "socket://HOST:PORT", _open_serial, _network_fault)
MCP = LinkType("mcp", "mcp:COMMAND", _open_mcp, _mcp_fault, program=_mcp_program)
