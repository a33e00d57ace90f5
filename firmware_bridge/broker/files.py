"""The files of a mosquitto for rigs: configuration, passwords, access list, certificates.

Three kinds of accounts: `host` drives rigs, each rig publishes on its own topics, and `observer` reads all
but the truth.

The password file holds mosquitto's own format (mosquitto.conf(5), mosquitto_passwd(1)):
`USER:$7$ITERATIONS$SALT$HASH`, PBKDF2 with SHA-512, salt and hash in base64.
"""

from __future__ import annotations

import base64
import getpass
import hashlib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from firmware_bridge.broker.certificates import Authority, is_address
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import check_rig_name

ITERATIONS = 101
"""The default of mosquitto_passwd; passwords made here are random and long."""
HOST_USER, OBSERVER_USER = "host", "observer"
HOST_CHANNELS = {"write": ("call", "estop"), "read": ("result", "sample/#", "status", "truth")}
RIG_CHANNELS = {"read": ("call", "estop", "status"), "write": ("result", "sample/#", "status", "truth")}
OBSERVER_CHANNELS = ("call", "estop", "result", "sample/#", "status", "lease")


@dataclass(frozen=True)
class Account:
    """An account; its password stands only in `urls.txt`, in its own file and here."""

    user: str
    password: str = field(repr=False)
    url: str = field(repr=False)


@dataclass(frozen=True)
class BrokerFiles:
    """The files and accounts of a broker.

    Attributes:
        config: the `mosquitto.conf`.
        devices: one account for each rig, for its device.
        hosts: for each rig, the host's URL for `--rig`.
        observer: an account that may only read; its URL names no rig.
    """

    config: Path
    devices: tuple[Account, ...]
    hosts: tuple[Account, ...]
    observer: Account | None = None


def write_broker_files(
    folder: Path,
    rigs: Sequence[str],
    *,
    hosts: Sequence[str] = ("localhost", "127.0.0.1"),
    port: int = 8883,
    plain_port: int | None = 1883,
    client_certificates: bool = False,
) -> BrokerFiles:
    """Write all files of a broker into a new folder.

    Args:
        folder: must not contain a broker.
        rigs: the names of the rigs.
        hosts: names and addresses under which the broker is reached; the first one stands in the URLs.
        port: the TLS listener, on all interfaces.
        plain_port: a listener without TLS on loopback alone; None for none.
        client_certificates: whether only clients with a certificate of the broker's own authority get in.

    Raises:
        LinkError: a rig's name cannot be one, the folder holds a broker, or openssl fails.
    """
    for rig in rigs:
        check_rig_user(rig)
    config = folder / "mosquitto.conf"
    if config.exists():
        raise LinkError(f"{folder} holds a broker already: name another folder, or delete it first")
    check_hosts(hosts)
    folder = folder.absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            folder.chmod(0o700)
        return _written(folder, rigs, hosts, port, plain_port, client_certificates)
    except OSError as error:
        raise LinkError(f"a broker cannot be written to {folder}: {error.strerror or error}") from None


def _written(
    folder: Path,
    rigs: Sequence[str],
    hosts: Sequence[str],
    port: int,
    plain_port: int | None,
    client_certificates: bool,
) -> BrokerFiles:
    config = folder / "mosquitto.conf"
    authority = Authority.new(folder)
    authority.server("server", hosts)
    passwords = {user: new_password() for user in (HOST_USER, OBSERVER_USER, *rigs)}
    options = {user: f"ca={quote(str(authority.certificate))}" for user in passwords}
    if client_certificates:
        for user in passwords:
            certificate, key = authority.client(f"client-{user}")
            options[user] += f"&cert={quote(str(certificate))}&key={quote(str(key))}"
    write_file(
        folder / "passwd", "".join(f"{user}:{hashed(word)}\n" for user, word in passwords.items()), 0o600
    )
    for user, word in passwords.items():
        write_file(password_file(folder, user), f"{word}\n", 0o600)
    write_file(folder / "acl", access_list(rigs), 0o600)
    write_file(config, _config(folder, port, plain_port, client_certificates), 0o644)

    def account(user: str, rig: str) -> Account:
        url = (
            f"mqtts://{quote(user)}:{passwords[user]}@{in_url(hosts[0])}:{port}/{quote(rig)}?{options[user]}"
        )
        return Account(user, passwords[user], url)

    files = BrokerFiles(
        config,
        tuple(account(rig, rig) for rig in rigs),
        tuple(account(HOST_USER, rig) for rig in rigs),
        account(OBSERVER_USER, ""),
    )
    lines = [f"host {one.url}" for one in files.hosts] + [f"device {one.url}" for one in files.devices]
    observer = account(OBSERVER_USER, "").url
    write_file(folder / "urls.txt", "\n".join([*lines, f"observer {observer}", ""]), 0o600)
    return files


def password_file(folder: Path, user: str) -> Path:
    """Return the file of an account's password, for `password_file=` in a URL."""
    return folder / f"{user}.password"


def new_password() -> str:
    """Return a random password."""
    return secrets.token_urlsafe(18)


def in_url(host: str) -> str:
    """Return a host's name or address as written in a URL."""
    return f"[{host}]" if ":" in host else host


def check_hosts(hosts: Sequence[str]) -> None:
    """Raise LinkError if one of these is no name or address of a broker."""
    for host in hosts:
        if (
            not host
            or not host.isprintable()
            or set(host) & set(" ,/@:?#") - set(":" if is_address(host) else "")
        ):
            raise LinkError(f"{host!r} is no name or address of a broker: give one as in broker.local")


def check_rig_user(rig: str) -> None:
    """Raise LinkError if this rig's name cannot be a user name."""
    check_rig_name(rig)
    if rig in (HOST_USER, OBSERVER_USER, ".", "..") or ":" in rig or " " in rig:
        raise LinkError(
            f"{rig!r} cannot be a rig's user name here: no space, no colon, and neither 'host' nor 'observer'"
        )


def access_list(rigs: Sequence[str]) -> str:
    """Return the access list: hosts write calls, observers only read, a rig uses its own topics."""
    lines = [f"user {HOST_USER}"]
    lines += [f"topic {may} pathrig/v1/+/{name}" for may, names in HOST_CHANNELS.items() for name in names]
    lines.append("topic readwrite pathrig/v1/+/lease")
    return "\n".join([*lines, ""]) + observer_access() + "".join(rig_access(rig) for rig in rigs)


def observer_access() -> str:
    """Return the observer's part of the access list."""
    lines = ["", f"user {OBSERVER_USER}"]
    lines += [f"topic read pathrig/v1/+/{name}" for name in OBSERVER_CHANNELS]
    return "\n".join([*lines, ""])


def rig_access(rig: str) -> str:
    """Return a rig's part of the access list: its own topics."""
    lines = ["", f"user {rig}"]
    lines += [f"topic {may} pathrig/v1/{rig}/{name}" for may, names in RIG_CHANNELS.items() for name in names]
    return "\n".join([*lines, ""])


def hashed(password: str) -> str:
    """Return the password as mosquitto stores it."""
    salt = os.urandom(12)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def _config(folder: Path, port: int, plain_port: int | None, client_certificates: bool) -> str:
    lines = [
        "# Without it Nagle and delayed acknowledgements add 40 ms to every call.",
        "set_tcp_nodelay true",
        "# Used only if root starts it: the user that may read the files below.",
        f"user {getpass.getuser()}",
        "allow_anonymous false",
        f"password_file {folder / 'passwd'}",
        f"acl_file {folder / 'acl'}",
        "# Nothing is kept over a restart: calls that were not received are outdated.",
        "persistence false",
        "",
    ]
    if plain_port is not None:
        lines += ["# For programs on this machine alone.", f"listener {plain_port} 127.0.0.1", ""]
    lines += [
        f"listener {port}",
        f"cafile {folder / 'ca.crt'}",
        f"certfile {folder / 'server.crt'}",
        f"keyfile {folder / 'server.key'}",
        f"require_certificate {'true' if client_certificates else 'false'}",
        "",
    ]
    return "\n".join(lines)


def write_file(path: Path, text: str, mode: int) -> None:
    """Write a file atomically, with this mode from the start."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
