"""MQTT URLs and the topics of a rig."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from firmware_bridge.link import LinkError


@dataclass(frozen=True, slots=True)
class MqttAddress:
    """Where a broker is and who we are to it; `rig` is empty where the URL names none."""

    host: str
    port: int
    rig: str
    tls: bool
    user: str | None
    password: str | None
    ca: str | None

    @property
    def name(self) -> str:
        """The URL without user and password."""
        scheme = "mqtts" if self.tls else "mqtt"
        return f"{scheme}://{self.host}:{self.port}/{self.rig}"


def parse_mqtt_url(url: str) -> MqttAddress:
    """`mqtt://[user:pass@]host[:port][/RIG]`, `mqtts://...[?ca=FILE]`; user and password percent-encoded.

    Raises:
        LinkError: the URL does not have that form.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname
    except ValueError as error:
        raise LinkError(f"bad MQTT URL: {error}; write mqtt://host[:port]/RIG") from None
    if parts.scheme not in ("mqtt", "mqtts") or not host:
        raise LinkError(
            f"bad MQTT URL with scheme {parts.scheme!r}, host {host!r}; write mqtt://host[:port]/RIG"
        )
    rig = unquote(parts.path.strip("/"))
    if rig:
        check_rig_name(rig)
    tls = parts.scheme == "mqtts"
    return MqttAddress(
        host=host,
        port=port or (8883 if tls else 1883),
        rig=rig,
        tls=tls,
        user=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        ca=parse_qs(parts.query).get("ca", [None])[0],
    )


def check_rig_name(rig: str) -> str:
    """The name, if it can be one level of a topic.

    Raises:
        LinkError: it is empty or holds `/`, `+`, `#` or a control character.
    """
    if not rig or any(character in "/+#" or not character.isprintable() for character in rig):
        raise LinkError(f"{rig!r} is no rig name: one word without /, + or #")
    return rig


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one rig."""

    rig: str

    def of(self, channel: str) -> str:
        """`call`, `result`, `status`, `estop`, `truth` or `sample/SENSOR`."""
        return f"pathrig/v1/{self.rig}/{channel}"

    def sample(self, sensor: str) -> str:
        """The topic of a sensor; what a topic may not hold becomes `_`."""
        return self.of("sample/" + "".join("_" if c in "/+#\0" else c for c in sensor))
