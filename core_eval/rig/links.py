"""Opens the link to a rig; starts its simulator and broker first, where its file asks for them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final
from urllib.parse import urlsplit

from configs.drivers_loader import load_driver
from configs.rig_config import RigConfig
from core_eval.rig.driver_process import DRIVEN
from core_eval.rig.serve_simulator import ServedSimulator
from core_eval.rig.simulator_process import ProcessMonitor, simulator_process
from firmware_bridge.links import Link, open_link


def open_rig_link(config: RigConfig, stack: ExitStack, monitor: ProcessMonitor) -> Link:
    """Return an open link to a rig.

    Args:
        config: the rig.
        stack: ends the processes that are started.
        monitor: tells when one of them ends by itself.

    Raises:
        LinkError: it cannot be opened.
    """
    if is_driven(config):
        return DRIVEN.open(config.address)
    kind = config.link_type
    if config.spawn and kind is not None and kind.spawn is not None:
        return SPAWN[kind.spawn](config, stack, monitor)
    return open_link(config.address)


def is_driven(config: RigConfig) -> bool:
    """Return whether a rig's hardware has messages and interlocks of its own, behind a driver."""
    return config.driver is not None and load_driver(config.driver).link != "pathrig"


def _behind_a_port(config: RigConfig, stack: ExitStack, monitor: ProcessMonitor) -> Link:
    from firmware_bridge.serial.link import SerialLink

    assert config.world is not None, "checked by the loader"
    served = ServedSimulator(config.world, serial="pty", truth=config.truth, stop_input=config.stop_input)
    return SerialLink(f"serial://{stack.enter_context(simulator_process(served, monitor))}")


def _behind_a_broker(config: RigConfig, stack: ExitStack, monitor: ProcessMonitor) -> Link:
    from firmware_bridge.broker.process import start_broker_process

    assert config.world is not None, "checked by the loader"
    broker = stack.enter_context(start_broker_process())
    stack.enter_context(monitor.monitoring(broker.process, "the embedded broker"))
    rig = urlsplit(config.url).path.strip("/")
    served = ServedSimulator(
        config.world, mqtt=broker.url, rig=rig, truth=config.truth, stop_input=config.stop_input
    )
    stack.enter_context(simulator_process(served, monitor))
    return open_link(f"{broker.url}/{rig}")


SPAWN: Final[dict[str, Callable[[RigConfig, ExitStack, ProcessMonitor], Link]]] = {
    "broker": _behind_a_broker,
    "pty": _behind_a_port,
}
"""What starts a rig's simulator, by the `spawn` of its kind of link, and opens its link."""
