"""`pathrig rigs find-port`: finds the rig's serial port by its plugging in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from core_eval.cli.output import console, print_json


def find_port(
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds to wait for the cable.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the rig's serial port: unplug the rig and plug it in again."""
    from core_eval.rig.signals import StopSignals
    from firmware_bridge.serial.ports import find_by_plugging

    out = console(stderr=json)
    with StopSignals() as signals, signals.interruptible():
        port = find_by_plugging(lambda text: out.print(Text(text)), timeout=timeout)
    if json:
        print_json({**asdict(port), "url": port.url})
        return
    out.print(Text(f"{port}  {port.description}"))
    out.print(Text(f"Its URL, independent of the path:  {port.url}"))
