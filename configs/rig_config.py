"""One rig, as its file or URL states it, and what must hold of it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from configs.device_types import device_ref, load_device
from configs.drivers_loader import driver_path, load_driver
from configs.errors import ConfigError, at
from configs.meter_config import MeterConfig
from configs.programs import require
from configs.rig_url import check_link, check_url, without_truth
from configs.site_limits import OperatingLimits, split_site
from configs.twin_config import TwinConfig, check_twin
from configs.worlds_loader import load_world
from configs.yaml_file import YamlFile, nearest
from devices.device_type import DeviceType, an
from devices.drivers.driver_file import DriverFile
from devices.drivers.settings import settings_faults
from devices.models import FrozenModel
from firmware_bridge.firmware.guard_table import ChipMode
from firmware_bridge.guard import Envelope, GuardMode
from firmware_bridge.links import LinkType, RigAddress, link_type


class RigConfig(FrozenModel):
    """One rig."""

    name: str = Field(description="what the log calls the rig")
    url: str = Field(
        description="mqtt://[user[:pass]@]host[:port]/RIG, mqtts://..., serial:///dev/ttyACM0?baud=115200, "
        "serial://?serial=NUMBER, serial://?vid=2341&pid=0042, socket://HOST:PORT, rfc2217://HOST:PORT, "
        "mcp:COMMAND, mcp:https://HOST/PATH, snapshot:FILE, sim:WORLD"
    )
    device: str | None = Field(
        default=None,
        description="the device type: a registered name, or a device file; left out, the task's own is taken",
    )
    world: str | None = Field(
        default=None, description="the world that it simulates; left out for a physical rig"
    )
    site: str | None = Field(
        default=None,
        description="the world, by name or file, where a physical rig works: the layout by which the "
        "guard checks interlocks and limits; left out: its twin's world, or only what needs no layout; also "
        "a mapping of `world` and the keys of `site_limits`",
    )
    site_limits: OperatingLimits | None = Field(
        default=None,
        description="where and when it may be driven, written under `site`: geofence, hours, wind, daylight; "
        "a call outside them is refused before it moves anything",
    )
    spawn: bool = Field(
        default=False,
        description="start the simulator (and for MQTT an embedded broker) as processes, and end them again",
    )
    guard: GuardMode | None = Field(
        default=None, description="left out: observe on simulators, block on physical rigs"
    )
    chip_guard: ChipMode | None = Field(
        default=None,
        description="load each task into the guard on the device's chip, which judges every call beside the "
        "host: observe counts, block rejects what is harmful; a difference of the two stops the rig; left "
        "out: the chip's guard is left as it is",
    )
    chip_guard_key: str | None = Field(
        default=None,
        description="the file of the key, in hexadecimal, under which the chip takes a table; left out: none",
    )
    envelope: dict[str, dict[str, Any]] = Field(
        default={},
        description="limits that no call may leave, whatever the guard: tool, argument, pattern as in a "
        "plan, such as {move_to: {x: {min: 0, max: 20}}}",
    )
    truth: bool = Field(
        default=True,
        description="false: take no ground truth from it; its twin assesses the harm, as for a physical rig",
    )
    twin: TwinConfig | None = Field(
        default=None, description="the model that assesses the harm of a rig without ground truth"
    )
    camera: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s;,'\"]+$",
        description="the http(s) address of a picture or MJPEG stream, which the browser loads for the live "
        "page",
    )
    home: str | None = Field(
        default=None,
        description="a tool without arguments that takes the machine home after a run that ended in order; "
        "left out: it stays where it was stopped",
    )
    reset: str | None = Field(
        default=None,
        description="of an mcp: rig: a program with its arguments that is run before each episode, while no "
        "session with the server is open; exit status 0: the rig is as for the first episode",
    )
    check: str | None = Field(
        default=None,
        description="of an mcp: rig: a program with its arguments that judges the goal after each episode: "
        "exit status 0: met, 1: not met, any other: not known",
    )
    discovery: Literal["homeassistant"] | None = Field(
        default=None,
        description="announce the rig's state, stop and sensors to Home Assistant over the rig's own broker",
    )
    discovery_prefix: str = Field(
        default="homeassistant",
        pattern=r"^[^+#/]+(/[^+#/]+)*$",
        description="Home Assistant's discovery prefix",
    )
    driver: str | None = Field(
        default=None,
        description="how the hardware is spoken to: a shipped driver's name or a file; left out: "
        "pathrig-json, our own wire",
    )
    driver_options: dict[str, Any] = Field(default={}, description="the driver's options")
    deadman: str | None = Field(
        default=None,
        description="serial:///dev/ttyUSB1, the port of a relay that cuts the machine's supply without a "
        "heartbeat (examples/deadman); the rig process sends it while a host lives",
    )
    stop_input: bool = Field(
        default=False,
        description="it has a physical stop input, and is not driven where its status tells of none; a "
        "simulator that is spawned gets one (SIGUSR1 presses, SIGUSR2 releases)",
    )
    meter: MeterConfig | None = Field(
        default=None,
        description="the plug or Modbus meter that tells the power of the machine that computes the agent; "
        "left out: what that machine has itself",
    )
    driver_tables: dict[str, dict[str, dict[str, Any]]] = Field(
        default={}, description="the driver's tables: table, row, column"
    )

    @property
    def address(self) -> RigAddress:
        """What opens the link to it."""
        return RigAddress.of(self)

    @property
    def in_process(self) -> bool:
        """Whether the rig is a simulator in this process."""
        return self.link_type is not None and self.link_type.in_process

    @property
    def link_type(self) -> LinkType | None:
        """The kind of link that its URL names; None where a driver in Python takes the URL."""
        return link_type(self.url)

    @model_validator(mode="before")
    @classmethod
    def _as_the_file_means(cls, data: Any, info: ValidationInfo) -> Any:
        """Take `truth` out of the URL, and find the files that a rig's file names beside itself."""
        file = (info.context or {}).get("file")
        if isinstance(data, dict):
            data = split_site(data)
        if file is None or not isinstance(data, dict):
            return data
        found = dict(data)
        if isinstance(url := data.get("url"), str):
            with at("url"):
                found["url"], truth = without_truth(url)
            if not truth:
                found["truth"] = False
        if isinstance(device := data.get("device"), str):
            found["device"] = device_ref(device, file.path)
        if isinstance(key := data.get("chip_guard_key"), str):
            found["chip_guard_key"] = str(file.path.parent / key)
        if isinstance(driver := data.get("driver"), str):
            with at("driver"):
                path = driver_path(driver, file.path)
            found["driver"] = str(path)
            # What the driver is for; a device of the file's own is compared with it.
            found.setdefault("device", load_driver(str(path)).device)
        return found

    @field_validator("envelope")
    @classmethod
    def _has_patterns(cls, limits: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        Envelope(limits)
        return limits

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Self:
        file = (info.context or {}).get("file")
        if file is not None:
            self._check(file)
        return self

    def _check(self, file: YamlFile) -> None:
        """Raise ConfigError where a key does not fit the others, or nobody consents to what it names."""
        kind = self.link_type
        if kind is not None and (program := kind.program(self.url)) is not None:
            require(file, "url", f"runs the program {program!r}")
        with at("device"):
            own = None if self.device is None else load_device(self.device)
        # A driver in Python may take any URL.
        if self.driver is None or kind is not None:
            with at("url"):
                check_url(self.url, spawned=self.spawn)
        with at("world"):
            world = None if self.world is None else load_world(self.world).device
            if self.spawn and self.world is None:
                raise ConfigError("a rig that is spawned needs the world that it simulates")
        if self.spawn and kind is not None and kind.spawn is None:
            raise ConfigError("no simulator can be started behind such a URL", at=("url",))
        if self.site is not None:
            with at("site"):
                if self.world is not None:
                    raise ConfigError("a rig that simulates a world works in that world, remove it")
                _check_place(load_world(self.site).device, own, "a place for")
        if self.twin is not None:
            with at("twin"):
                check_twin(self.twin)
                with at("world"):
                    _check_place(load_world(self.twin.world).device, own or world, "a world of")
        if self.driver is not None:
            self._check_driver(load_driver(self.driver))
        if self.deadman is not None:
            with at("deadman"):
                _check_deadman(self.deadman, own_process=self.driver is not None or _is_serial(kind))
        for key in ("reset", "check"):
            if (program := getattr(self, key)) is not None:
                with at(key):
                    _check_program(kind, program)
                require(file, key, f"runs the program {program!r}")
        foreign = self.driver is not None and load_driver(self.driver).link != "pathrig"
        if self.stop_input and (foreign or self.in_process):
            raise ConfigError(
                "only a rig with the kit's own wire tells of a stop input; for a simulator add spawn",
                at=("stop_input",),
            )
        if self.discovery is not None:
            with at("discovery"):
                check_discovery(self)
        if (device := device_of(self)) is not None:
            check_device(self, device)

    def _check_driver(self, driver: DriverFile) -> None:
        for place, message in settings_faults(driver, self.driver_options, self.driver_tables):
            raise ConfigError(message, at=place)
        if self.world is not None:
            raise ConfigError("hardware behind a driver has no world to simulate, remove it", at=("world",))
        if driver.device is not None and self.device is not None:
            wanted = load_device(driver.device).name
            if wanted != load_device(self.device).name:
                raise ConfigError(f"driver {driver.name} is for {an(wanted)}", at=("device",))
        with at("url"):
            check_link(driver, self.url)


def device_of(rig: RigConfig) -> DeviceType | None:
    """Return the device type that a rig's file states or implies; None if only a task does."""
    if rig.device is not None:
        return load_device(rig.device)
    world = rig.world or rig.site or (None if rig.twin is None else rig.twin.world)
    return None if world is None else load_world(world).device


def fitted_tools(rig: RigConfig) -> frozenset[str] | None:
    """The tools that the hardware behind a driver has; None where none states them: all of the type."""
    if rig.driver is None:
        return None
    driver = load_driver(rig.driver)
    has_all = driver.link == "pathrig" or (driver.link == "python" and not driver.tools)
    return None if has_all else driver.fitted


def check_device(rig: RigConfig, device: DeviceType) -> None:
    """Check that a device has what its rig's `home` and `envelope` name.

    Raises:
        ConfigError: it does not; at their keys.
    """
    if rig.home is not None and rig.home not in device.by_name:
        there = nearest(device.by_name, rig.home)
        raise ConfigError(f"a {device.name} has no tool {rig.home!r}; there are {there}", at=("home",))
    check_envelope(rig.envelope, device)


def check_discovery(rig: RigConfig) -> None:
    """Check that a rig can be announced to Home Assistant.

    Raises:
        ConfigError: it cannot.
    """
    if rig.link_type is None or rig.link_type.family != "mqtt" or rig.spawn:
        raise ConfigError(
            "only a rig behind a broker of its own can be announced: give it an mqtt:// URL, without spawn"
        )
    if rig.driver is not None and load_driver(rig.driver).link != "pathrig":
        raise ConfigError("hardware behind a driver has its own topics, and announces itself: remove it")


def _check_place(place: DeviceType, rig: DeviceType | None, what: str) -> None:
    if rig is not None and rig.name != place.name:
        raise ConfigError(f"is {what} {an(place.name)}, and the rig is {an(rig.name)}")


def _is_serial(kind: LinkType | None) -> bool:
    return kind is not None and kind.family == "serial"


def _check_deadman(url: str, *, own_process: bool) -> None:
    if not _is_serial(link_type(url)):
        raise ConfigError("is the relay's serial port, as in serial:///dev/ttyUSB1")
    check_url(url, spawned=False)
    if not own_process:
        raise ConfigError("only a rig over serial or behind a driver has a rig process to send it: remove it")


def _check_program(kind: LinkType | None, command: str) -> None:
    if kind is None or kind.family != "mcp":
        raise ConfigError("only a rig of an MCP server has it; remove it")
    try:
        program = shlex.split(command)[:1]
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if not program or shutil.which(program[0]) is None:
        raise ConfigError(f"there is no program {''.join(program)!r}; write 'PROGRAM ARGS'")


def check_envelope(limits: Mapping[str, Mapping[str, Any]], device: DeviceType) -> None:
    """Check that a device has the tools and arguments that an envelope limits.

    Raises:
        ConfigError: it does not have one; at its keys.
    """
    for name, arguments in limits.items():
        tool = device.by_name.get(name)
        if tool is None:
            there = _there(name, device.by_name)
            raise ConfigError(f"a {device.name} has no tool {name!r}; {there}", at=("envelope", name))
        known = tool.arguments.model_fields
        for argument in arguments:
            if argument not in known and tool.arguments.model_config.get("extra") != "allow":
                there = _there(argument, known)
                raise ConfigError(
                    f"{name} has no argument {argument!r}; {there}", at=("envelope", name, argument)
                )


def _there(name: str, names: Iterable[str]) -> str:
    names = list(names)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"the nearest is {close[0]}" if close else f"there are {nearest(names)}"
