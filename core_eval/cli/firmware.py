"""`pathrig firmware`: what a device's chip holds of a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from configs.tasks_loader import load_task
from core_eval.cli.output import Json, UsageError, check_output, print_json
from firmware_bridge.firmware.guard_table import ChipMode, GuardTable, GuardTableError, compile_guard

app = typer.Typer(help="Compile a task for the guard on a device's chip.", no_args_is_help=True)


@app.callback()
def firmware() -> None:
    """Keep `guard` a verb of its own, though it is the only one."""


@app.command()
def guard(
    task: Annotated[str, typer.Argument(help="Task id, FILE or FILE#ID.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="TABLE", help="Where the table goes; NAME.h: as C, to link in."
        ),
    ] = None,
    mode: Annotated[
        ChipMode, typer.Option(help="Whether the chip counts harmful calls, or rejects them.")
    ] = (ChipMode.BLOCK),
    json: Json = False,
) -> None:
    """Compile a task's automaton into the table by which its device's chip judges calls."""
    loaded = load_task(task)
    try:
        table = compile_guard(loaded.automaton, loaded.device, mode)
    except GuardTableError as error:
        raise UsageError(f"{task}: no table for a chip: {error}") from None
    if output is not None:
        check_output(output, "-o")
        if output.suffix == ".h":
            output.write_text(_as_c(table, loaded.id, loaded.device.name, mode), encoding="utf-8")
        else:
            output.write_bytes(table.data)
    told = {
        "task": loaded.id,
        "device": loaded.device.name,
        "mode": mode,
        "bytes": len(table.data),
        "states": len(table.states),
        "table": table.name,
    }
    if json:
        print_json(told)
    else:
        line = "{task}: {bytes} bytes for a chip of {device}, {states} states, mode {mode}, table {table}"
        print(line.format(**told))


def _as_c(table: GuardTable, task: str, device: str, mode: ChipMode) -> str:
    """Return a header that the firmware includes (`make GUARD_TABLE=FILE`)."""
    rows = (table.data[at : at + 16] for at in range(0, len(table.data), 16))
    body = "".join("    " + " ".join(f"0x{byte:02X}," for byte in row) + "\n" for row in rows)
    return (
        f"/* Made by `pathrig firmware guard {task} --mode {mode}` for {device}: table {table.name}. */\n"
        f"#define LINKED_TABLE_BYTES {len(table.data)}\n"
        f"static const uint8_t linked_table[LINKED_TABLE_BYTES] PROGMEM = {{\n{body}}};\n"
    )
