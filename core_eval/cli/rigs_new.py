"""`pathrig rigs new`: asks for the facts of a rig, and writes its file."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from configs.device_types import is_device_file
from configs.drivers_loader import OWN_WIRE, driver_names, load_driver
from configs.errors import ConfigError
from configs.programs import TrustedFiles, always, consent
from configs.rigs_loader import load_rig
from core_eval.cli.new_package import NAME, write_package
from core_eval.cli.output import UsageError, console, write_file
from core_eval.cli.programs import AllowPrograms
from devices.drivers.driver_file import DriverFile
from devices.registry import DEVICE_TYPES
from firmware_bridge.guard import GuardMode

LINKS = ("serial", "mqtt")
EXAMPLES = {"serial": "/dev/ttyACM0", "mqtt": "mqtt://localhost"}


def new(
    file: Annotated[Path | None, typer.Argument(help="The file to write; default: NAME.yaml here.")] = None,
    name: Annotated[str | None, typer.Option(help="The rig's name in the log.")] = None,
    driver: Annotated[
        str | None,
        typer.Option(
            help="A driver's name or file; pathrig-json is the kit's own wire. With a name that none has, "
            "and no other option, a package with a new one is written: class, driver file, device file, task "
            "and a test, which passes as it stands."
        ),
    ] = None,
    link: Annotated[str | None, typer.Option(help="serial or mqtt; for a driver that supports both.")] = None,
    port: Annotated[str | None, typer.Option(help="Serial: the port's path.")] = None,
    baud: Annotated[int | None, typer.Option(help="Serial: the speed; default: the driver's.")] = None,
    broker: Annotated[str | None, typer.Option(help="MQTT: mqtt://[user:pass@]HOST[:PORT].")] = None,
    topic: Annotated[str | None, typer.Option(help="MQTT: the device's part of its topics.")] = None,
    device: Annotated[
        str | None, typer.Option(help="The device type, or a device file; default: the driver's.")
    ] = None,
    mcp: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND|URL",
            help="An MCP server whose tools the rig has; a device file with them is written too, as "
            "FILE-tools.yaml beside FILE. The server is started, and none of its tools is called.",
        ),
    ] = None,
    guard: Annotated[
        str | None, typer.Option(help="The guard mode for harmful calls: block, observe or estop.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    allow_programs: AllowPrograms = False,
) -> None:
    """Write a rig's file. Ask for what no option gives."""
    if (
        driver is not None
        and _is_new(driver)
        and not (file or name or link or port or broker or device or mcp)
    ):
        write_package("driver", driver, Path(driver), _driver_files(driver))
        return
    asks = sys.stdin.isatty()
    name = _answer(asks, name, "name", "Name of the rig", "my-rig")
    path = file or Path(f"{name}.yaml")
    if mcp is not None:
        if driver or link or port or baud or broker or topic or device:
            raise UsageError("--mcp takes no other option but --name, --guard and --force")
        guard = guard or GuardMode.usual(simulated=False)
        _new_mcp(path, name, mcp, _choice(False, guard, "guard", "Guard", tuple(GuardMode)), force)
        return
    driver = _answer(asks, driver, "driver", f"Driver ({', '.join(driver_names())}, or a file)", OWN_WIRE)
    known = load_driver(driver)
    kind = known.link if known.link in LINKS else _choice(asks, link, "link", "Link", LINKS)
    url = _serial_url(asks, port, baud, known) if kind == "serial" else _mqtt_url(asks, broker, topic, name)
    if known.device is not None:
        # The driver's file names it, by a path relative to that file.
        device = None
    elif device is None or not is_device_file(device):
        device = _choice(asks, device, "device", "Device", tuple(DEVICE_TYPES))
    usual = GuardMode.usual(simulated=False)
    guards = (usual, *(mode for mode in GuardMode if mode != usual))
    guard = _choice(asks, guard, "guard", "Guard for harmful calls", guards)
    _check_new(path, force)
    _write(path, _text(name, url, driver, known, device, guard))
    console().print(f"wrote {path}; try `pathrig rigs check {path}`", highlight=False)


def _is_new(driver: str) -> bool:
    """Return whether it names no driver and no file, and is no slip of a driver's name."""
    known = driver_names()
    return NAME.fullmatch(driver) is not None and not (
        driver in known or Path(driver).is_file() or get_close_matches(driver, known, cutoff=0.75)
    )


def _driver_files(name: str) -> dict[str, Path]:
    package = Path(f"pathrig_{name}")
    return {
        "pyproject.toml.j2": Path("pyproject.toml"),
        "README.md.j2": Path("README.md"),
        "__init__.py.j2": package / "__init__.py",
        "driver.yaml.j2": package / f"{name}.yaml",
        "device.yaml.j2": package / "device.yaml",
        "rig.yaml.j2": Path("rig.yaml"),
        "tasks.yaml.j2": Path("tasks.yaml"),
        "test.py.j2": Path(f"test_{name}.py"),
    }


def _check_new(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise UsageError(f"{path} exists already; name another file, or give --force")


def _new_mcp(path: Path, name: str, server: str, guard: str, force: bool) -> None:
    """Write the files of a rig whose tools are an MCP server's."""
    try:
        from firmware_bridge.mcp.device_file import describe_server
    except ImportError as error:
        raise UsageError(f"--mcp needs {error.name}: pip install 'pathrig[mcp]'") from None

    tools = path.with_name(f"{path.stem}-tools.yaml")
    for one in (path, tools):
        _check_new(one, force)
    url = server if server.startswith("mcp:") else f"mcp:{server}"
    described = describe_server(url)
    write_file(tools, "the device file", described.text)
    entries = {"name": name, "url": url, "device": tools.name, "guard": guard}
    with consent(always):
        # Its program stood on the command line.
        _write(path, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000))
    TrustedFiles().add([path])
    out = console()
    for left_out, why in described.left_out.items():
        out.print(f"left out {left_out}: {why}", highlight=False, markup=False)
    out.print(f"wrote {path} and {tools}; look at each tool's effect in {tools}", highlight=False)


def _answer(asks: bool, given: str | None, option: str, question: str, default: str) -> str:
    if given is None and asks:
        given = str(typer.prompt(question, default=default))
    if given is None:
        raise UsageError(f"standard input is no terminal: give --{option}, as in --{option} {default}")
    if not given.strip() or not given.isprintable():
        raise UsageError(f"--{option} must not be empty")
    return given.strip()


def _choice(asks: bool, given: str | None, option: str, question: str, choices: tuple[str, ...]) -> str:
    if given is None and not asks:
        given = choices[0] if option == "guard" else None
    given = _answer(asks, given, option, f"{question} ({', '.join(choices)})", choices[0])
    if given not in choices:
        raise UsageError(f"--{option} must be one of {', '.join(choices)}, not {given!r}")
    return given


def _serial_url(asks: bool, port: str | None, baud: int | None, driver: DriverFile) -> str:
    port = _answer(asks, port, "port", "Serial port", EXAMPLES["serial"])
    return f"serial://{port}?baud={driver.line.baud if baud is None else baud}"


def _mqtt_url(asks: bool, broker: str | None, topic: str | None, name: str) -> str:
    broker = _answer(asks, broker, "broker", "Broker", EXAMPLES["mqtt"])
    if "://" not in broker:
        broker = f"mqtt://{broker}"
    topic = _answer(asks, topic, "topic", "Topic of the device", name)
    return f"{broker.rstrip('/')}/{topic}"


def _text(name: str, url: str, driver: str, known: DriverFile, device: str | None, guard: str) -> str:
    """Return the file's text, with the driver's options and tables as comments to fill in."""
    entries = {"name": name, "url": url, "driver": driver, "device": device, "guard": guard}
    lines = [
        yaml.safe_dump({key: value}, allow_unicode=True).strip()
        for key, value in entries.items()
        if value is not None
    ]
    if known.options:
        lines += [
            "",
            "# The driver's defaults; remove the # from a line to change it.",
            "# driver_options:",
        ]
        for option, declared in known.options.items():
            lines.append(f"#   {option}: {_flow(declared.default)}  # {declared.description}")
    if known.tables:
        lines.append("driver_tables:")
        for table, columns in known.tables.items():
            lines.append(f"  {table}: {{}}  # {columns.description}")
            row = {column: declared.default for column, declared in columns.columns.items()}
            cells = ", ".join(
                f"{column}: {'...' if cell is None else _flow(cell)}" for column, cell in row.items()
            )
            lines.append(f"  #   NAME: {{{cells}}}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    return json.dumps(value)


def _write(path: Path, text: str) -> None:
    """Write the file, and restore the previous state if it does not load."""
    before = path.read_text(encoding="utf-8") if path.exists() else None
    # It may hold a password.
    write_file(path, "the file", text, private=True)
    try:
        load_rig(str(path))
    except ConfigError:
        if before is None:
            path.unlink()
        else:
            write_file(path, "the file", before)
        raise
