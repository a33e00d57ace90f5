"""Changes rigs, passwords and the certificate of a broker that `broker.files` wrote.

mosquitto must reload its files afterwards, on a SIGHUP; it then disconnects removed accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from firmware_bridge.broker.certificates import Authority, names_in
from firmware_bridge.broker.files import (
    HOST_USER,
    OBSERVER_USER,
    Account,
    BrokerFiles,
    check_hosts,
    check_rig_user,
    hashed,
    in_url,
    new_password,
    observer_access,
    password_file,
    rig_access,
    write_file,
)
from firmware_bridge.link import LinkError


@dataclass
class _Broker:
    """The texts of a broker's files.

    Attributes:
        users: lines `USER:HASH`, those of `passwd`.
        access: the access list.
        urls: lines `host|device|observer URL`.
    """

    folder: Path
    users: str
    access: str
    urls: str
    certified: bool

    @property
    def names(self) -> set[str]:
        """The names of all accounts."""
        return {line.partition(":")[0] for line in self.users.splitlines()}

    def write(self) -> None:
        """Write the files, the password list last: an interrupted change can be repeated."""
        write_file(self.folder / "acl", self.access, 0o600)
        write_file(self.folder / "urls.txt", self.urls, 0o600)
        write_file(self.folder / "passwd", self.users, 0o600)

    def set_password(self, user: str, password: str) -> None:
        """Set a user's password, also in the URLs; takes effect with `write`."""
        write_file(password_file(self.folder, user), f"{password}\n", 0o600)
        kept = [line for line in self.users.splitlines() if line.partition(":")[0] != user]
        self.users = "\n".join([*kept, f"{user}:{hashed(password)}", ""])

        def renewed(url: SplitResult) -> SplitResult:
            if unquote(url.username or "") != user:
                return url
            return url._replace(netloc=f"{quote(user)}:{password}@{_address(url)}")

        self.change_urls(renewed)

    def change_urls(self, change: Callable[[SplitResult], SplitResult]) -> None:
        """Change every URL of `urls.txt`."""
        lines = []
        for line in self.urls.splitlines():
            side, _, url = line.partition(" ")
            lines.append(f"{side} {change(urlsplit(url)).geturl()}" if url else line)
        self.urls = "\n".join([*lines, ""])

    def host_url(self) -> SplitResult:
        """Return a host's URL, which has the broker's address."""
        for line in self.urls.splitlines():
            side, _, url = line.partition(" ")
            if side == "host" and (parts := urlsplit(url)).scheme == "mqtts" and parts.password:
                return parts
        urls = self.folder / "urls.txt"
        raise LinkError(
            f"{urls} has no line `host mqtts://...`, from which the broker's address would be known"
        )

    def accounts(self, user: str) -> BrokerFiles:
        """Return the broker's files, with only the accounts of this user."""
        found: dict[str, list[Account]] = {"host": [], "device": [], "observer": []}
        for line in self.urls.splitlines():
            side, _, url = line.partition(" ")
            parts = urlsplit(url)
            if side in found and unquote(parts.username or "") == user:
                found[side].append(Account(user, unquote(parts.password or ""), url))
        observer = found["observer"][0] if found["observer"] else None
        config = self.folder / "mosquitto.conf"
        return BrokerFiles(config, tuple(found["device"]), tuple(found["host"]), observer)


def add_rig(folder: Path, rig: str) -> BrokerFiles:
    """Add an account for a rig.

    Other passwords and certificates are not changed. The broker's address is taken from `urls.txt`, which
    receives the new URLs.

    Returns:
        The broker's files, with the new accounts alone.

    Raises:
        LinkError: the folder holds no broker of ours, or a rig of that name, or cannot be read or written.
    """
    check_rig_user(rig)
    broker = _read(folder)
    if rig in broker.names:
        urls = broker.folder / "urls.txt"
        raise LinkError(f"the broker in {folder} has a rig {rig} already; its URLs are in {urls}")
    host = broker.host_url()
    try:
        options = host.query
        if broker.certified:
            certificate, key = Authority(broker.folder).client(f"client-{rig}")
            ca = options.split("&")[0]
            options = f"{ca}&cert={quote(str(certificate))}&key={quote(str(key))}"
        password = new_password()
        device = f"mqtts://{quote(rig)}:{password}@{_address(host)}/{quote(rig)}?{options}"
        drives = host._replace(path=f"/{quote(rig)}").geturl()
        broker.access = _ended(broker.access) + rig_access(rig)
        broker.urls = _ended(broker.urls) + f"host {drives}\ndevice {device}\n"
        broker.set_password(rig, password)
        broker.write()
    except OSError as error:
        raise _unwritten(folder, error) from None
    host_account = Account(HOST_USER, unquote(str(host.password)), drives)
    config = broker.folder / "mosquitto.conf"
    return BrokerFiles(config, (Account(rig, password, device),), (host_account,))


def remove_rig(folder: Path, rig: str) -> BrokerFiles:
    """Remove a rig's account, its URLs, its password and its certificate.

    Raises:
        LinkError: the folder holds no broker of ours, or no such rig, or cannot be read or written.
    """
    broker = _read(folder)
    rigs = broker.names - {HOST_USER, OBSERVER_USER}
    if rig not in rigs:
        there = f"there are {', '.join(sorted(rigs))}" if rigs else "there is none"
        raise LinkError(f"the broker in {folder} has no rig {rig!r}; {there}")
    kept = [line for line in broker.users.splitlines() if line.partition(":")[0] != rig]
    broker.users = "\n".join([*kept, ""])
    broker.access = _without_user(broker.access, rig)
    known = [line for line in broker.urls.splitlines() if _rig_of(line) != rig]
    broker.urls = "\n".join([*known, ""])
    try:
        broker.write()
        password_file(broker.folder, rig).unlink(missing_ok=True)
        for suffix in ("crt", "key"):
            (broker.folder / f"client-{rig}.{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise _unwritten(folder, error) from None
    return broker.accounts(rig)


def rotate(folder: Path, user: str) -> BrokerFiles:
    """Give an account (a rig, `host` or `observer`) a new password; an observer is added if there is none.

    Returns:
        The broker's files, with the accounts of this user alone.

    Raises:
        LinkError: the folder holds no broker of ours, or no such account, or cannot be read or written.
    """
    broker = _read(folder)
    try:
        if user == OBSERVER_USER and user not in broker.names:
            host = broker.host_url()
            empty = host._replace(netloc=f"{user}:@{_address(host)}", path="/").geturl()
            broker.access = _ended(broker.access) + observer_access()
            broker.urls = _ended(broker.urls) + f"observer {empty}\n"
        elif user not in broker.names:
            there = ", ".join(sorted(broker.names))
            raise LinkError(f"the broker in {folder} has no account {user!r}; there are {there}")
        broker.set_password(user, new_password())
        broker.write()
    except OSError as error:
        raise _unwritten(folder, error) from None
    return broker.accounts(user)


def renew(folder: Path, hosts: Sequence[str] | None, days: int) -> tuple[BrokerFiles, tuple[str, ...]]:
    """Make a new certificate for the broker, with the same or other names.

    Args:
        folder: the broker's.
        hosts: names and addresses under which the broker is reached; None: those of the old certificate.
            The first one takes the old one's place in the URLs.
        days: how long it is valid, days.

    Returns:
        The broker's files with the hosts' accounts, and the names in the certificate.

    Raises:
        LinkError: the folder holds no broker of ours, a name cannot be one, or openssl fails.
    """
    broker = _read(folder)
    if hosts is not None:
        check_hosts(hosts)
    try:
        names = tuple(hosts or names_in(broker.folder / "server.crt"))
        Authority(broker.folder).server("server", names, days)
        if hosts:
            first = in_url(hosts[0])

            def moved(url: SplitResult) -> SplitResult:
                login = url.netloc.rpartition("@")[0]
                return url._replace(netloc=f"{login}@{first}:{url.port}")

            broker.change_urls(moved)
            broker.write()
    except OSError as error:
        raise _unwritten(folder, error) from None
    return broker.accounts(HOST_USER), names


def _read(folder: Path) -> _Broker:
    config, passwd, acl, urls = (folder / name for name in ("mosquitto.conf", "passwd", "acl", "urls.txt"))
    try:
        users, access, known = (file.read_text(encoding="utf-8") for file in (passwd, acl, urls))
        certified = "require_certificate true" in config.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        text = (
            f"{folder} holds no broker: {error.filename} is missing; make one with `pathrig rigs broker init`"
        )
        raise LinkError(text) from None
    except (OSError, UnicodeDecodeError) as error:
        raise LinkError(f"the broker in {folder} cannot be read: {error}") from None
    return _Broker(folder.absolute(), users, access, known, certified)


def _without_user(access: str, user: str) -> str:
    """Return the access list without a user's part, which ends at the next `user` line."""
    kept: list[str] = []
    theirs = False
    for line in access.splitlines():
        if line.startswith("user "):
            theirs = line == f"user {user}"
        if not theirs:
            kept.append(line)
    while kept and not kept[-1]:
        kept.pop()
    return "\n".join([*kept, ""])


def _rig_of(line: str) -> str:
    return unquote(urlsplit(line.partition(" ")[2]).path.strip("/"))


def _unwritten(folder: Path, error: OSError) -> LinkError:
    return LinkError(f"the broker in {folder} cannot be written: {error}")


def _address(url: SplitResult) -> str:
    return url.netloc.rpartition("@")[2]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
