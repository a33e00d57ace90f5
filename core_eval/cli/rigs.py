"""`pathrig rigs`: lists, tests and announces rigs, and all that sets one up."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import date
from typing import Annotated

import typer
from rich.text import Text

from configs.errors import ConfigError
from configs.rig_config import RigConfig, check_discovery, device_of
from configs.rigs_loader import list_rigs, load_rig
from core_eval.cli import broker, calibrate, programs, rigs_new, sensors
from core_eval.cli.output import Json, UsageError, console, print_json
from core_eval.report.tables.fitted_table import Table
from core_eval.rig.check import check_rig
from core_eval.rig.fault_check import check_faults
from core_eval.rig.opening import open_rig
from core_eval.rig.signals import RigError, StopSignals
from firmware_bridge.link import tell_terminal
from firmware_bridge.mqtt.homeassistant import HomeAssistantDiscovery
from firmware_bridge.serial.ports import find_by_plugging

app = typer.Typer(help="List, test, set up and calibrate rigs.", no_args_is_help=True)
app.command("new")(rigs_new.new)
app.command("calibrate")(calibrate.calibrate)
app.command("sensors")(sensors.sensors)
app.command("trust")(programs.trust)
app.add_typer(broker.app, name="broker")


@app.command("list")
def list_all(json: Json = False) -> None:
    """List the rigs that ship with the kit."""
    rigs = list_rigs()
    if json:
        print_json([rig.model_dump(mode="json") for rig in rigs])
        return
    table = Table("rig", "device", "url", "world")
    for rig in rigs:
        device = device_of(rig)
        kind = "-" if device is None else device.name
        table.add_row(rig.name, kind, Text(rig.url), rig.world or "physical")
    console().print(table)


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(help="A rig's name, its YAML file, or a URL.")],
    look: Annotated[
        bool, typer.Option("--look", help="Only connect and measure its clock: no calls, no stop.")
    ] = False,
    faults: Annotated[
        bool,
        typer.Option(
            "--faults",
            help="Test its driver instead: a line that is mute, cut, late, noisy, or shared with another "
            "host. Read tools and stops alone; takes a minute or two.",
        ),
    ] = False,
    kill: Annotated[bool, typer.Option("--kill", help="Kill a host of the rig, and time its stop.")] = False,
    suspend: Annotated[
        bool, typer.Option("--suspend", help="Freeze host and rig process together, and time the stop.")
    ] = False,
    cut: Annotated[bool, typer.Option("--cut", help="Have you pull the cable, and time the stop.")] = False,
    json: Json = False,
    allow_programs: programs.AllowPrograms = False,
) -> None:
    """Test a rig: link, lock, clock, tools, sensors, stop, reset. Nothing moves.

    With --kill, --suspend or --cut: only these, as a page to sign.
    """
    config = load_rig(name)
    asked = {"kill": kill, "suspend": suspend, "cut": cut}
    if any(asked.values()):
        _try_stops(config, [fault for fault, wanted in asked.items() if wanted], json)
        return
    if faults and look:
        raise UsageError("--faults stops the rig, and --look does not: give one of them")
    with StopSignals() as signals, signals.interruptible():
        report = check_faults(config) if faults else check_rig(config, only_look=look)
    if json:
        print_json(report.as_json())
    else:
        table = Table("check", "verdict", "finding")
        for finding in report.findings:
            table.add_row(finding.check, finding.verdict, Text(finding.text))
        console().print(table)
    if report.failed:
        failures = "; ".join(f"{finding.check}: {finding.text}" for finding in report.failed)
        raise RigError(f"rig {config.name}: {failures}")


@app.command("reset")
def reset(
    name: Annotated[str, typer.Argument(help="A rig's name, its YAML file, or a URL.")],
    allow_programs: programs.AllowPrograms = False,
) -> None:
    """Reset a rig's stop input after it was pressed. Look at the machine first; it stays stopped."""
    config = load_rig(name)
    with StopSignals() as signals, open_rig(config, only_look=True) as session, signals.interruptible():
        session.client.claim()
        session.reset_stop_input()
    print(f"{config.name}: its stop input is reset; it stays stopped until a run begins")


def _try_stops(config: RigConfig, faults: list[str], json: bool) -> None:
    from core_eval.rig.stop_trial import page, try_stops

    with StopSignals() as signals, signals.interruptible():
        firmware, trials = try_stops(config, faults, tell_terminal)
    if json:
        print_json({"rig": config.name, "firmware": firmware, "trials": [asdict(one) for one in trials]})
    else:
        print(page(config.name, firmware, trials, date.today()))
    if failed := [trial for trial in trials if not trial.passed]:
        text = "; ".join(f"{trial.fault}: {trial.measured}" for trial in failed)
        raise RigError(f"rig {config.name}: {text}")


@app.command("announce")
def announce(
    name: Annotated[str, typer.Argument(help="A rig's name, its YAML file, or a URL.")],
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove its announcements from the broker instead.")
    ] = False,
    seconds: Annotated[
        float,
        typer.Option(min=0.0, help="Seconds to listen for sensors, each announced at its first reading."),
    ] = 10.0,
    allow_programs: programs.AllowPrograms = False,
) -> int:
    """Announce a rig to Home Assistant. State, stop button and sensors; nothing moves."""
    config = load_rig(name)
    try:
        check_discovery(config)
    except ConfigError as error:
        raise ConfigError(f"rig {config.name}: {error}") from None
    if remove:
        discovery = HomeAssistantDiscovery(config.url, None, config.discovery_prefix)
        topics = discovery.remove()
        discovery.close()
        print(f"{len(topics)} announcements removed")
        return 0
    config = config.model_copy(update={"discovery": "homeassistant"})
    with StopSignals() as signals, open_rig(config, only_look=True) as session:
        with signals.interruptible():
            time.sleep(seconds)
        sensors = len(session.recorder.last_samples)
        assert session.recorder.discovery is not None, "the configuration asks for it"
        dropped = session.recorder.discovery.unconfirmed()
    if dropped:
        # `open_rig` has printed which.
        return 3
    print(f"{config.name}: state, stop and {sensors} sensors announced")
    return 0


@app.command("find-port")
def find_port(
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds to wait for the cable.")] = 60.0,
    json: Json = False,
) -> None:
    """Find a rig's serial port. Unplug the rig and plug it in again."""
    out = console(stderr=json)
    with StopSignals() as signals, signals.interruptible():
        port = find_by_plugging(lambda text: out.print(Text(text)), timeout=timeout)
    if json:
        print_json({**asdict(port), "url": port.url})
        return
    out.print(Text(f"{port}  {port.description}"))
    out.print(Text(f"Its URL, independent of the path:  {port.url}"))
