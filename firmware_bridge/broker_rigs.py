"""A further rig for a broker whose files `broker_files` wrote."""

from __future__ import annotations

import secrets
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit

from firmware_bridge.broker_files import (
    HOST_USER,
    Account,
    BrokerFiles,
    check_rig_user,
    hashed,
    rig_access,
    write_file,
)
from firmware_bridge.certificates import Authority
from firmware_bridge.link import LinkError


def add_rig(folder: Path, rig: str) -> BrokerFiles:
    """Let one more rig log in; the broker has to read its files again.

    Passwords and certificates of the others stay as they are. `urls.txt` tells under which
    address the broker is reached, and gets the new URLs. The password comes last: what was cut off in the
    middle lets nobody in, and can be done again.

    Returns:
        The broker's files, with the new accounts alone.

    Raises:
        LinkError: the folder holds no broker of ours, or a rig of that name, or cannot be read or written.
    """
    check_rig_user(rig)
    config, passwd, acl, urls = (folder / name for name in ("mosquitto.conf", "passwd", "acl", "urls.txt"))
    try:
        users, access, known = (file.read_text(encoding="utf-8") for file in (passwd, acl, urls))
        certified = "require_certificate true" in config.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        text = f"{folder} holds no broker: {error.filename} is missing; make one with `pathrig broker init`"
        raise LinkError(text) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LinkError(f"the broker in {folder} cannot be read: {error}") from None
    if rig in {line.partition(":")[0] for line in users.splitlines()}:
        raise LinkError(f"the broker in {folder} has a rig {rig} already; its URLs are in {urls}")
    host = _host_url(known, urls)
    try:
        options = host.query
        if certified:
            certificate, key = Authority(folder.absolute()).client(f"client-{rig}")
            ca = options.split("&")[0]
            options = f"{ca}&cert={quote(str(certificate))}&key={quote(str(key))}"
        password = secrets.token_urlsafe(18)
        device = f"mqtts://{quote(rig)}:{password}@{_address(host.netloc)}/{quote(rig)}?{options}"
        drives = host._replace(path=f"/{quote(rig)}").geturl()
        write_file(acl, _ended(access) + rig_access(rig), 0o600)
        write_file(urls, _ended(known) + f"host {drives}\ndevice {device}\n", 0o600)
        write_file(passwd, _ended(users) + f"{rig}:{hashed(password)}\n", 0o600)
    except OSError as error:
        raise LinkError(f"the broker in {folder} cannot be written: {error}") from None
    host_account = Account(HOST_USER, str(host.password), drives)
    return BrokerFiles(config.absolute(), (Account(rig, password, device),), (host_account,))


def _host_url(known: str, urls: Path) -> SplitResult:
    for line in known.splitlines():
        side, _, url = line.partition(" ")
        if side == "host" and (parts := urlsplit(url)).scheme == "mqtts" and parts.password:
            return parts
    raise LinkError(f"{urls} has no line `host mqtts://...`, from which the broker's address would be known")


def _address(netloc: str) -> str:
    return netloc.rpartition("@")[2]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
