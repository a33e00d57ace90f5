"""Serves a simulator as a device at the other end of a real link.

`python -m core_eval.rig.serve_simulator JSON` is the child process of `simulator_process`: JSON holds the
fields of `ServedSimulator`. It ends when its parent process ends.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from configs.errors import ConfigError
from configs.worlds_loader import load_world, make_simulator, merged_state
from core_eval.text.foreign_json import ForeignJsonError, parse_json
from core_eval.text.json_text import json_text
from firmware_bridge.link import LinkError
from firmware_bridge.serve import serve_mqtt, serve_serial
from firmware_bridge.stop_input import StopInput


@dataclass(frozen=True)
class ServedSimulator:
    """A simulator and the link that it is served on: either `mqtt` or `serial`.

    Attributes:
        world: name or YAML file.
        mqtt: URL of the broker.
        rig: the rig's name, if the URL has none.
        serial: path of a port, or `pty` for a new pseudo terminal.
        seed: seed of the noise until an `init` sets another.
        init: overrides of the world's initial state.
        watchdog_ms: silence after which the device goes to its safe state, ms.
        truth: whether it publishes ground truth.
        stop_input: whether it has a stop input, which SIGUSR1 presses and SIGUSR2 releases.
    """

    world: str
    mqtt: str | None = None
    rig: str = ""
    serial: str | None = None
    seed: int = 0
    init: Mapping[str, Any] | None = None
    watchdog_ms: int = 5000
    truth: bool = True
    stop_input: bool = False

    def command(self) -> list[str]:
        """Return the command of the child process that serves it."""
        return [sys.executable, "-m", "core_eval.rig.serve_simulator", json_text(asdict(self))]


def serve(what: ServedSimulator, *, exit_with_parent: bool = False) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; print one line when the device accepts calls.

    The line is the port's path over serial, and a sentence over MQTT.

    Raises:
        ConfigError: the world or its overrides are invalid.
        LinkError: the broker or the port cannot be used.
    """
    loaded = load_world(what.world)
    if what.init is not None:
        loaded = replace(loaded, state=merged_state(loaded, what.init))
    device = make_simulator(loaded, what.seed)
    device.reports_truth = what.truth
    stop_input = StopInput() if what.stop_input else None
    if what.serial is not None:
        serve_serial(
            device,
            what.serial,
            watchdog_ms=what.watchdog_ms,
            ready=lambda path: print(path, flush=True),
            exit_with_parent=exit_with_parent,
            stop_input=stop_input,
        )
    elif what.mqtt is not None:
        serve_mqtt(
            device,
            what.mqtt,
            what.rig,
            watchdog_ms=what.watchdog_ms,
            ready=lambda: print(f"{loaded.name} is online as rig {what.rig}", flush=True),
            exit_with_parent=exit_with_parent,
            stop_input=stop_input,
        )


def main(arguments: list[str]) -> int:
    """Serve the simulator that the argument describes; print an error as one line on standard error."""
    try:
        serve(ServedSimulator(**parse_json(arguments[0])), exit_with_parent=True)
    except (ConfigError, LinkError, ForeignJsonError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
