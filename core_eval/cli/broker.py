"""`pathrig broker`: the files of a broker for rigs that are not on this machine alone."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from core_eval.cli.output import UsageError, console, print_json

if TYPE_CHECKING:
    from firmware_bridge.broker_files import BrokerFiles

app = typer.Typer(help="Make a broker for your rigs.")


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
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a mosquitto's configuration with passwords, access list and certificates."""
    from firmware_bridge.broker_files import write_broker_files

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
    folder: Annotated[Path, typer.Argument(help="The folder that `broker init` made.")],
    name: Annotated[str, typer.Argument(help="The new rig's name.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let one more rig log in; passwords and certificates of the others stay."""
    from firmware_bridge import broker_rigs

    with _told():
        files = broker_rigs.add_rig(folder, name)
    # What mosquitto does on a HUP: passwords and access list are read anew, and nobody is cut off.
    _tell(files, "reload", "send mosquitto a SIGHUP, or start it again", folder, json)


@contextmanager
def _told() -> Iterator[None]:
    from firmware_bridge.link import LinkError

    try:
        yield
    except LinkError as error:
        # There is no rig here that could have failed: what was asked for cannot be done.
        raise UsageError(str(error)) from None


def _tell(files: BrokerFiles, verb: str, command: str, folder: Path, json: bool) -> None:
    if json:
        accounts = {"hosts": files.hosts, "devices": files.devices}
        urls = {side: {one.url.split("?")[0].rsplit("/", 1)[1]: one.url for one in ones}
                for side, ones in accounts.items()}  # fmt: skip
        print_json({"config": str(files.config), verb: command, **urls})
        return
    out = console()
    out.print(Text(f"{verb.capitalize()} it:  {command}"))
    for one in files.hosts:
        out.print(Text(f"A host's rig URL:    {one.url}"), soft_wrap=True)
    for one in files.devices:
        out.print(Text(f"The device's own:    {one.url}"), soft_wrap=True)
    out.print(Text(f"The URLs, with their passwords, are in {folder / 'urls.txt'}."))
