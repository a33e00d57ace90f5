"""`pathrig broker`: the files of a broker for rigs that are not on this machine alone."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer
from rich.text import Text

from core_eval.cli.output import UsageError, console, print_json

if TYPE_CHECKING:
    from firmware_bridge.broker.files import BrokerFiles

app = typer.Typer(help="Make a broker for your rigs, and keep its accounts.")
Folder = Annotated[Path, typer.Argument(help="The folder that `broker init` made.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RELOAD = "send mosquitto a SIGHUP, or start it again"
"""mosquitto then reads passwords, access list and certificates anew, and drops only whose account is gone."""


@app.callback()
def broker() -> None:
    """Make a broker for your rigs."""


@app.command("init")
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder for the broker's files.")],
    rig: Annotated[
        list[str] | None, typer.Option(help="A rig that may log in; may be given several times.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name or address under which the broker is reached, for its certificate; may be given "
            "several times. The first one stands in the URLs. Left out: this machine's name and localhost."
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of the TLS listener.")] = 8883,
    plain_port: Annotated[
        int, typer.Option(min=0, max=65535, help="A port without TLS on loopback alone; 0 for none.")
    ] = 1883,
    client_certificates: Annotated[
        bool, typer.Option("--client-certificates", help="Let only clients with a certificate in.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a mosquitto's configuration with passwords, access list and certificates."""
    from firmware_bridge.broker.files import write_broker_files

    names = list(host or dict.fromkeys((socket.gethostname(), "localhost", "127.0.0.1")))
    with _told():
        files = write_broker_files(
            folder,
            list(dict.fromkeys(rig or ["rig"])),
            hosts=names,
            port=port,
            plain_port=plain_port or None,
            client_certificates=client_certificates,
        )
    _tell(files, "start", f"mosquitto -c {shlex.quote(str(files.config))}", folder, json)


@app.command("add-rig")
def add_rig(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="The new rig's name.")],
    json: Json = False,
) -> None:
    """Let one more rig log in; passwords and certificates of the others stay."""
    from firmware_bridge.broker import rigs

    with _told():
        files = rigs.add_rig(folder, name)
    _tell(files, "reload", RELOAD, folder, json)


@app.command("remove-rig")
def remove_rig(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="The rig that may log in no more.")],
    json: Json = False,
) -> None:
    """Let a rig log in no more; the others stay."""
    from firmware_bridge.broker import rigs

    with _told():
        files = rigs.remove_rig(folder, name)
    _tell(files, "reload", RELOAD, folder, json)


@app.command("rotate")
def rotate(
    folder: Folder,
    account: Annotated[str, typer.Argument(help="A rig's name, `host` or `observer`.")],
    json: Json = False,
) -> None:
    """Give an account a new password; the old one holds until the broker reads its files again."""
    from firmware_bridge.broker import rigs

    with _told():
        files = rigs.rotate(folder, account)
    _tell(files, "reload", RELOAD, folder, json)


@app.command("renew")
def renew(
    folder: Folder,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name or address under which the broker is reached; may be given several times, the first "
            "one stands in the URLs. Left out: those of the old certificate."
        ),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long it is valid.")] = 3650,
    json: Json = False,
) -> None:
    """Make the broker a new certificate, signed by the authority that its clients trust already."""
    from firmware_bridge.broker import rigs

    with _told():
        files, names = rigs.renew(folder, host, days)
    if not json:
        console().print(Text(f"The certificate is for {', '.join(names)}, {days} days from now."))
    _tell(files, "reload", RELOAD, folder, json)


@contextmanager
def _told() -> Iterator[None]:
    from firmware_bridge.link import LinkError

    try:
        yield
    except LinkError as error:
        # There is no rig here that could have failed: what was asked for cannot be done.
        raise UsageError(str(error)) from None


def _tell(files: BrokerFiles, verb: str, command: str, folder: Path, json: bool) -> None:
    from firmware_bridge.broker.files import password_file

    observer = files.observer
    if json:
        accounts = {"hosts": files.hosts, "devices": files.devices}
        urls = {side: {one.url.split("?")[0].rsplit("/", 1)[1]: one.url for one in ones}
                for side, ones in accounts.items()}  # fmt: skip
        watches = {} if observer is None else {"observer": observer.url}
        print_json({"config": str(files.config), verb: command, **urls, **watches})
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
        out.print(Text(f"Without the password in a command, which others can see:  {url}"), soft_wrap=True)
