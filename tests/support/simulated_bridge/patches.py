"""Puts the simulated system in the place of the real one, in the modules of the bridge and of the run."""

from __future__ import annotations

import json
import os
import queue
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import paho.mqtt.client
import serial

import core_eval.rig.opening
import core_eval.run.episode
from core_eval.log import liveness, pending_rows, writer
from core_eval.run import provenance
from devices.rig_motion import Event as Happened
from devices.rig_motion import Motion, RigMotion
from firmware_bridge import clock
from firmware_bridge.rig_process import door, rig_side
from firmware_bridge.rig_process import link as rig_link
from firmware_bridge.rig_process.protocol import HostWatch
from firmware_bridge.serial import open as serial_open
from simulated_bridge import broker, line, system

for _name in (
    "core_eval.rig.opening",
    "firmware_bridge.mqtt.link",
    "firmware_bridge.serial.link",
    "firmware_bridge.serial.port",
):
    # What is imported later would keep the real system.
    import_module(_name)

ROOMS = ("firmware_bridge.", "core_eval.rig.", "devices.rig_motion", "paho.mqtt.client")
MODULES = ("core_eval.run.episode", "core_eval.run.loop")
system.SOCKET.create_connection = lambda *at, **how: broker.BROKER[0].connect(*at, **how)
OTHERS: list[tuple[Any, Any]] = [
    (threading, system.THREADING),
    (time, system.TIME),
    (queue, system.QUEUE),
    (select, system.SELECT),
    (socket, system.SOCKET),
    (os, system.OS),
    (subprocess, system.SUBPROCESS),
    (signal, system.SIGNAL),
    (tempfile, system.TEMPFILE),
    (serial, line.SERIAL),
    (secrets, system.Module(secrets, token_hex=system.token_hex)),
    (uuid, system.Module(uuid, uuid4=system.uuid4)),
    (threading.Thread, system.Thread),
    (threading.Lock, system.Lock),
    (threading.RLock, system.RLock),
    (threading.Event, system.Event),
    (threading.Condition, system.Condition),
    (queue.SimpleQueue, system.SimpleQueue),
]


class Terminal:
    """Where lines for a person go: each process has its own."""

    def __getitem__(self, _: int) -> Any:
        return system.process().tell

    def __setitem__(self, _: slice, tell: list[Any]) -> None:
        system.process().tell = tell[0]


class NoCost:
    """The cost of an episode that costs nothing."""

    def __init__(self, *_: object) -> None:
        from core_eval.log.rows import MachineCost

        self.cost = MachineCost()
        self.failure = ""

    def __enter__(self) -> NoCost:
        return self

    def __exit__(self, *_: object) -> None:
        return


def rig_program(command: list[str], given: bytes) -> None:
    """The program of a rig process."""
    _, successor, function, arguments, deadman = json.loads(given)
    rig_side.main(int(command[-1]), function, arguments, deadman, successor=successor)


def name_process(name: str) -> None:
    system.process().name = name


def guards_sleep(self: rig_side.RigSide) -> bool:
    process = system.process()
    if not getattr(process.world, "has_logind", False):
        return False
    process.before_sleep = self.strike_now  # type: ignore[attr-defined]
    return True


def watched_strikes(strikes: Any) -> Any:
    """Return `HostWatch.strikes` that tells the machine when it is true."""

    def tell(self: HostWatch) -> bool:
        due = bool(strikes(self))
        if due:
            system.world().say("rig process: the host is silent")
            system.world().plant.strike()  # type: ignore[attr-defined]
        return due

    return tell


def watched(on: Any) -> Any:
    """Return `RigMotion.on` that tells the machine what is believed of it."""

    def tell(self: RigMotion, event: Happened) -> bool:
        here = system.world()
        plant = getattr(here, "plant", None)
        if plant is None or here.over:
            return bool(on(self, event))
        if event is Happened.RESET or (event is Happened.DRIVE and not self.halted):
            plant.confirmed = False
        changed = bool(on(self, event))
        if event is Happened.HALT:
            here.asked_to_stop(here.this.process)  # type: ignore[attr-defined]
        if changed and self.state is Motion.STANDING:
            here.say(f"{here.this.process.name}: it stands")
            if plant.moving:
                here.find("false confirmation", f"{here.this.process.name} says that it stands, and it moves")
            if not plant.confirms:
                here.find("false confirmation", f"{here.this.process.name} says that it stands, unconfirmed")
            plant.confirmed = True
        return changed

    return tell


@contextmanager
def simulated_system() -> Iterator[None]:
    """The modules use the simulated system within this block."""
    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        undo.append((owner, name, owner.__dict__.get(name, undo)))
        setattr(owner, name, value)

    try:
        for module_name, module in list(sys.modules.items()):
            if module is None or not (module_name.startswith(ROOMS) or module_name in MODULES):
                continue
            for name, value in list(vars(module).items()):
                for real, other in OTHERS:
                    if value is real:
                        put(module, name, other)
        for one, now in ((clock.MONOTONIC, system.monotonic), (clock.BOOTTIME, system.boottime)):
            put(one, "now", now)
            put(one, "sleep", system.sleep)
        put(sys.modules["firmware_bridge.link"], "_tell", Terminal())
        put(rig_link, "AdoptedProcess", system.AdoptedProcess)
        put(rig_link, "is_stopped", system.is_stopped)
        put(rig_link, "scope", list)
        put(door, "peer", lambda connected: connected.credentials)
        put(rig_side, "name_process", name_process)
        put(rig_side, "stay_alive", lambda: None)
        put(rig_side.RigSide, "_guards_sleep", guards_sleep)
        put(serial_open, "port_holder", line.port_holder)
        put(serial_open, "process_name", line.process_name)
        put(serial_open, "describe_process", str)
        put(HostWatch, "strikes", watched_strikes(HostWatch.strikes))
        put(RigMotion, "on", watched(RigMotion.on))
        put(paho.mqtt.client, "time_func", system.monotonic)
        put(paho.mqtt.client, "_socketpair_compat", system.waking_pair)
        put(core_eval.run.episode, "UsageMonitor", NoCost)
        put(core_eval.run.episode, "find_meter", lambda: None)
        put(provenance, "version", cache(provenance.version))
        put(writer, "version", cache(writer.version))
        for module in (liveness, pending_rows, writer):
            # The chain of hashes shows later changes of a log, and is tried elsewhere.
            put(module, "add_record", lambda connection, episode, parts: None)
        for name in ("_boot_id", "_start"):
            put(liveness, name, cache(getattr(liveness, name)))
        put(core_eval.run.episode, "is_model", lambda spec: False)
        system.PROGRAMS[:] = [rig_program]
        yield
    finally:
        for owner, name, value in reversed(undo):
            if value is undo:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
