"""`pathrig sim`: serves a simulator as a device."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core_eval.cli.output import UsageError, print_json, read_json_object


def sim(
    world: Annotated[
        str, typer.Argument(help="A world's name, as `pathrig worlds list` prints it, or its YAML file.")
    ],
    mqtt: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Broker and rig, mqtt://[user[:pass]@]host[:port][/RIG]."),
    ] = None,
    rig: Annotated[
        str | None, typer.Option(help="The rig's name at the broker, where the URL names none.")
    ] = None,
    serial: Annotated[
        str | None, typer.Option(metavar="pty|PATH", help="A serial port, or pty for a pseudo terminal.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of noise until an init brings another.")] = 0,
    init: Annotated[Path | None, typer.Option(help="JSON file that overrides the initial state.")] = None,
    watchdog_ms: Annotated[
        int, typer.Option(min=50, help="Silence after which it goes to its safe state, ms.")
    ] = 5000,
    no_truth: Annotated[
        bool, typer.Option("--no-truth", help="Send no ground truth, like a physical rig.")
    ] = False,
    stop_input: Annotated[
        bool, typer.Option("--stop-input", help="Give it a stop input: SIGUSR1 presses, SIGUSR2 releases.")
    ] = False,
    show_init: Annotated[
        bool, typer.Option("--show-init", help="Print the initial state as JSON and exit.")
    ] = False,
) -> None:
    """Serve a simulator over MQTT or serial, until Ctrl-C."""
    from configs.worlds_loader import load_world, merged_state

    overrides = None if init is None else read_json_object(init, "--init")
    if show_init:
        print_json(merged_state(load_world(world), overrides or {}).model_dump(mode="json"))
        return
    if (mqtt is None) == (serial is None):
        raise UsageError("give either --mqtt URL/RIG, or --serial with pty or a port's path")
    named = "" if mqtt is None else _rig_name(mqtt, rig)
    from core_eval.rig.serve_simulator import ServedSimulator, serve

    serve(ServedSimulator(world, mqtt, named, serial, seed, overrides, watchdog_ms, not no_truth, stop_input))


def _rig_name(url: str, given: str | None) -> str:
    from firmware_bridge.link import LinkError
    from firmware_bridge.mqtt.address import parse_mqtt_url

    try:
        named = parse_mqtt_url(url).rig
    except LinkError as error:
        raise UsageError(f"--mqtt: {error}") from None
    if not (named or given):
        raise UsageError("--mqtt names no rig: write mqtt://HOST/RIG, or give --rig NAME")
    if named and given and named != given:
        raise UsageError(f"--mqtt names the rig {named!r} and --rig {given!r}: leave one out")
    return given or named
