"""MQTT URLs, their passwords, and the topics of a rig."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from firmware_bridge.link import LinkError

QUERY_KEYS = ("version", "password_file", "ca", "cert", "key")
FOR_TLS = ("ca", "cert", "key")
PASSWORD_VARIABLE = "PATHRIG_MQTT_PASSWORD"
"""Environment variable of the password for URLs with a user and no password."""
HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class MqttAddress:
    """A broker's address and our account; `rig` is empty if the URL names none.

    Attributes:
        version: MQTT 3 (3.1.1) or 5.
        ca, cert, key: PEM files: the authority to trust, our own certificate and its key.
    """

    host: str
    port: int
    rig: str
    tls: bool
    user: str | None
    password: str | None = field(repr=False)
    ca: str | None
    cert: str | None = None
    key: str | None = None
    version: int = 3

    @property
    def name(self) -> str:
        """The URL without user, password and options."""
        scheme = "mqtts" if self.tls else "mqtt"
        return f"{scheme}://{self.host}:{self.port}/{self.rig}"


def parse_mqtt_url(url: str) -> MqttAddress:
    """`mqtt://[user[:pass]@]host[:port][/RIG][?version=5]`, `mqtts://...[?ca=FILE&cert=FILE&key=FILE]`.

    User and password are percent-encoded; `version` is 3.1.1 (the default) or 5. A user without a password
    has the one in `password_file=FILE`, or else the environment's, as other users of the machine can read
    a command's arguments.

    Raises:
        LinkError: the URL does not have that form, or its password file cannot be used.
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
    options = _options(parts.query, tls)
    user = unquote(parts.username) if parts.username else None
    return MqttAddress(
        host=host,
        port=port or (8883 if tls else 1883),
        rig=rig,
        tls=tls,
        user=user,
        password=_password(user, parts.password, options.get("password_file")),
        ca=options.get("ca"),
        cert=options.get("cert"),
        key=options.get("key"),
        version=5 if options.get("version") == "5" else 3,
    )


def _options(query: str, tls: bool) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for key, value in options.items():
        if key not in QUERY_KEYS:
            raise LinkError(f"an MQTT URL knows no option {key!r}; there are {', '.join(QUERY_KEYS)}")
        if not value:
            raise LinkError(f"the option {key} of an MQTT URL is empty")
        if key in FOR_TLS and not tls:
            raise LinkError(f"the option {key} of an MQTT URL is for TLS: write mqtts://")
    if options.get("version", "5") not in ("3", "3.1.1", "5"):
        raise LinkError(f"MQTT version {options['version']!r} is not known; write version=3.1.1 or version=5")
    if "key" in options and "cert" not in options:
        raise LinkError("an MQTT URL with key= needs cert= too: the certificate that the key belongs to")
    return options


def _password(user: str | None, written: str | None, file: str | None) -> str | None:
    if file is not None:
        if written:
            raise LinkError("an MQTT URL has a password or a password_file, not both")
        if user is None:
            raise LinkError("an MQTT URL with a password_file needs its user: mqtt://USER@host/RIG")
        return read_password(Path(file))
    if written:
        return unquote(written)
    return None if user is None else os.environ.get(PASSWORD_VARIABLE)


def read_password(path: Path) -> str:
    """Return the one line of a password file.

    Raises:
        LinkError: it cannot be read, holds no password, or others may read it.
    """
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            lines = file.read(4096).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8 text"
        raise LinkError(f"the password file {path} cannot be read: {reason}") from None
    if mode & 0o077:
        raise LinkError(f"others may read the password file {path}: chmod 600 {path}")
    if len(lines) != 1 or not lines[0]:
        raise LinkError(f"the password file {path} must hold one line, the password")
    return lines[0]


def without_password(url: str) -> str:
    """Return the URL with `***` in place of its password, for messages and logs."""
    return re.sub(r"^((?:\w+:)?\w+://[^/@:]*):[^/]*@", rf"\1:{HIDDEN}@", url)


def check_rig_name(rig: str) -> str:
    """Return the name if it is valid as one level of a topic.

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
        """`call`, `result`, `status`, `estop`, `truth`, `lease` or `sample/SENSOR`."""
        return f"pathrig/v1/{self.rig}/{channel}"

    def sample(self, sensor: str) -> str:
        """Return the topic of a sensor; invalid characters become `_`."""
        return self.of("sample/" + "".join("_" if c in "/+#\0" else c for c in sensor))
