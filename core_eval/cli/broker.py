"""`pathrig rigs broker`: files of a broker for rigs on other machines."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from rich.text import Text

from core_eval.cli.output import Json, UsageError, console, print_json
from firmware_bridge.broker import rigs
from firmware_bridge.broker.files import BrokerFiles, password_file, write_broker_files
from firmware_bridge.link import LinkError

app = typer.Typer(help="Set up a broker for your rigs, and manage its accounts.")
Folder = Annotated[Path, typer.Argument(help="The folder that `broker init` made.")]
RELOAD = "send mosquitto a SIGHUP, or start it again"
"""mosquitto then reloads passwords, access list and certificates, and disconnects removed accounts only."""


@app.command("init")
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder for the broker's files.")],
    rig: Annotated[
        list[str] | None, typer.Option(help="A rig that may log in; may be given several times.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name or address of the broker, for its certificate; may be given several times. "
            "The URLs use the first one. Default: this machine's name and localhost."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the TLS listener.")] = 8883,
    plain_port: Annotated[
        int, typer.Option(min=0, max=65535, help="A port without TLS, on loopback only; 0 for none.")
    ] = 1883,
    client_certificates: Annotated[
        bool, typer.Option("--client-certificates", help="Admit only clients with a certificate.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a broker's files. For mosquitto: passwords, access list, certificates."""
    names = list(host or dict.fromkeys((socket.gethostname(), "localhost", "127.0.0.1")))
    with _link_errors():
        files = write_broker_files(
            folder,
            list(dict.fromkeys(rig or ["rig"])),
            hosts=names,
            port=port,
            plain_port=plain_port or None,
            client_certificates=client_certificates,
        )
    _print_files(files, "start", f"mosquitto -c {shlex.quote(str(files.config))}", folder, json)


@app.command("add-rig")
def add_rig(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="The new rig's name.")],
    json: Json = False,
) -> None:
    """Add an account for a rig. Passwords and certificates of the others stay."""
    _change(rigs.add_rig, folder, name, json)


@app.command("remove-rig")
def remove_rig(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="The rig whose account is removed.")],
    json: Json = False,
) -> None:
    """Remove the account of a rig; the others stay."""
    _change(rigs.remove_rig, folder, name, json)


@app.command("rotate")
def rotate(
    folder: Folder,
    account: Annotated[str, typer.Argument(help="A rig's name, `host` or `observer`.")],
    json: Json = False,
) -> None:
    """Give an account a new password. The old one is valid until the broker reloads its files."""
    _change(rigs.rotate, folder, account, json)


@app.command("renew")
def renew(
    folder: Folder,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name or address of the broker; may be given several times. The URLs use the first "
            "one. Default: those of the old certificate."
        ),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="Validity, days.")] = 3650,
    json: Json = False,
) -> None:
    """Renew the broker's certificate. The authority that its clients trust already signs it."""
    with _link_errors():
        files, names = rigs.renew(folder, host, days)
    if not json:
        console().print(Text(f"The certificate is for {', '.join(names)}, valid for {days} days."))
    _print_files(files, "reload", RELOAD, folder, json)


def _change(change: Callable[[Path, str], BrokerFiles], folder: Path, account: str, json: bool) -> None:
    with _link_errors():
        files = change(folder, account)
    _print_files(files, "reload", RELOAD, folder, json)


@contextmanager
def _link_errors() -> Iterator[None]:
    """Raise a LinkError as UsageError: these verbs open no link, so no rig has failed."""
    try:
        yield
    except LinkError as error:
        raise UsageError(str(error)) from None


def _print_files(files: BrokerFiles, verb: str, command: str, folder: Path, json: bool) -> None:
    observer = files.observer
    if json:
        accounts = {"hosts": files.hosts, "devices": files.devices}
        urls = {side: {one.url.split("?")[0].rsplit("/", 1)[1]: one.url for one in ones}
                for side, ones in accounts.items()}  # fmt: skip
        watching = {} if observer is None else {"observer": observer.url}
        print_json({"config": str(files.config), verb: command, **urls, **watching})
        return
    out = console()
    out.print(Text(f"{verb.capitalize()} it:  {command}"))
    for one in files.hosts:
        out.print(Text(f"A host's rig URL:    {one.url}"), soft_wrap=True)
    for one in files.devices:
        out.print(Text(f"The device's own:    {one.url}"), soft_wrap=True)
    if observer is not None:
        out.print(Text(f"An observer's:       {observer.url}"), soft_wrap=True)
    out.print(Text(f"The URLs, with their passwords, are in {folder / 'urls.txt'}."))
    if files.hosts:
        one = files.hosts[0]
        file = quote(str(password_file(files.config.parent, one.user)))
        url = one.url.replace(f":{one.password}@", "@", 1) + f"&password_file={file}"
        out.print(Text(f"With the password in a file, not on the command line:  {url}"), soft_wrap=True)
