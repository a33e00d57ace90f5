"""Rigs: where a device is found, by the name of a file in `configs/rigs/`, by a file's path, or by a URL."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from configs.device_types import device_ref, load_device
from configs.drivers_loader import DRIVERS_FOLDER, driver_path, load_driver
from configs.envelope_names import envelope_fault
from configs.errors import ConfigError
from configs.programs import require
from configs.twin_config import TwinConfig, twin_fault
from configs.worlds_loader import known_world, load_world
from configs.yaml_file import YamlFile, load_yaml, nearest
from devices.device_type import DeviceType, an
from devices.drivers.driver_file import DriverFile
from devices.drivers.settings import settings_faults
from firmware_bridge.envelope import Envelope
from firmware_bridge.guard import GuardMode
from firmware_bridge.links import LINK_TYPES, LinkType, link_type
from firmware_bridge.mqtt.address import without_password

RIGS_FOLDER = Path(__file__).parent / "rigs"
PROGRAM_KEYS = ("reset", "check")
"""Keys whose value is a program with its arguments."""
IN_PROCESS = "sim"
"""The scheme of a rig that is a simulator in this process, whose link takes no address."""


class RigConfig(BaseModel):
    """One rig."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
        "guard checks interlocks and limits; left out: its twin's world, or only what needs no layout",
    )
    spawn: bool = Field(
        default=False,
        description="start the simulator (and for MQTT an embedded broker) as processes, and end them again",
    )
    guard: GuardMode | None = Field(
        default=None, description="left out: observe on simulators, block on physical rigs"
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
    driver_tables: dict[str, dict[str, dict[str, Any]]] = Field(
        default={}, description="the driver's tables: table, row, column"
    )

    @property
    def in_process(self) -> bool:
        """Whether the rig is a simulator in this process."""
        return urlsplit(self.url).scheme == IN_PROCESS

    @property
    def link_type(self) -> LinkType | None:
        """The kind of link that leads to it; None of a simulator in this process."""
        return link_type(self.url)

    @field_validator("envelope")
    @classmethod
    def _has_patterns(cls, limits: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        Envelope(limits)
        return limits


def list_rigs() -> list[RigConfig]:
    """Return the rigs that ship with the kit."""
    return [load_rig(str(path)) for path in sorted(RIGS_FOLDER.glob("*.yaml"))]


def load_rig(ref: str) -> RigConfig:
    """Return a rig by its shipped name, its YAML file or its URL.

    Raises:
        ConfigError: no such rig, or its file or URL is wrong.
    """
    if _known_scheme(urlsplit(ref).scheme) and not Path(ref).exists():
        return _from_url(ref)
    path = Path(ref)
    if not path.is_file():
        path = RIGS_FOLDER / f"{ref}.yaml"
    if not path.is_file():
        names = nearest([shipped.stem for shipped in RIGS_FOLDER.glob("*.yaml")], ref)
        raise ConfigError(
            f"no rig {without_password(ref)!r}; the rigs are {names}, or give a file or a URL "
            "(mqtt://HOST/RIG, serial:///dev/..., sim:WORLD)"
        )
    file = _with_implied(_with_base(load_yaml(path)))
    rig = file.validate(RigConfig)
    try:
        address, truth = _without_truth(rig.url)
    except ConfigError as error:
        raise file.error(str(error), "url") from None
    rig = rig.model_copy(update={"url": address, "truth": rig.truth and truth})
    kind = rig.link_type
    if kind is not None and (program := kind.program(rig.url)) is not None:
        require(file, "url", f"runs the program {program!r}")
    if rig.device is not None:
        rig = _with_device(rig, file)
    try:
        # A driver in Python may take any URL; `_with_driver` checks those of the others.
        if rig.driver is None or _known_scheme(urlsplit(rig.url).scheme):
            _check_url(rig.url, spawned=rig.spawn)
        if rig.world is not None:
            load_world(rig.world)
    except ConfigError as error:
        raise file.error(str(error), "url" if rig.world is None else "world") from None
    if rig.site is not None:
        _check_site(rig, file)
    if rig.twin is not None:
        _check_twin(rig.twin, rig, file)
    if rig.spawn and rig.world is None:
        raise file.error("a rig that is spawned needs the world that it simulates", "world")
    if rig.spawn and rig.link_type is not None and rig.link_type.spawn is None:
        raise file.error("no simulator can be started behind such a URL", "url")
    if rig.driver is not None:
        rig = _with_driver(rig, file)
    for key in PROGRAM_KEYS:
        program = getattr(rig, key)
        if (wrong := _program_fault(rig, program)) is not None:
            raise file.error(wrong, key)
        if program is not None:
            require(file, key, f"runs the program {program!r}")
    if rig.discovery is not None and (unannounced := discovery_fault(rig)) is not None:
        raise file.error(unannounced, "discovery")
    device = device_of(rig)
    if device is not None and rig.home is not None and rig.home not in device.by_name:
        there = nearest(device.by_name, rig.home)
        raise file.error(f"a {device.name} has no tool {rig.home!r}; there are {there}", "home")
    if device is not None and (fault := envelope_fault(rig.envelope, device)) is not None:
        raise file.error(fault[1], *fault[0])
    return rig


def discovery_fault(rig: RigConfig) -> str | None:
    """Return why a rig cannot be announced to Home Assistant; None if it can."""
    if rig.link_type is None or rig.link_type.family != "mqtt" or rig.spawn:
        return "only a rig behind a broker of its own can be announced: give it an mqtt:// URL, without spawn"
    if rig.driver is not None and load_driver(rig.driver).link != "pathrig":
        return "hardware behind a driver has its own topics, and announces itself: remove it"
    return None


def _program_fault(rig: RigConfig, command: str | None) -> str | None:
    if command is None:
        return None
    if rig.link_type is None or rig.link_type.family != "mcp":
        return "only a rig of an MCP server has it; remove it"
    try:
        program = shlex.split(command)[:1]
    except ValueError as error:
        return str(error)
    if not program or shutil.which(program[0]) is None:
        return f"there is no program {''.join(program)!r}; write 'PROGRAM ARGS'"
    return None


def _with_device(rig: RigConfig, file: YamlFile) -> RigConfig:
    assert rig.device is not None
    ref = device_ref(rig.device, file.path)
    try:
        load_device(ref)
    except ConfigError as error:
        raise file.error(str(error), "device") from None
    return rig.model_copy(update={"device": ref})


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


def _check_site(rig: RigConfig, file: YamlFile) -> None:
    assert rig.site is not None
    if rig.world is not None:
        raise file.error("a rig that simulates a world works in that world, remove it", "site")
    try:
        site = load_world(rig.site)
    except ConfigError as error:
        raise file.error(str(error), "site") from None
    own = None if rig.device is None else load_device(rig.device).name
    if own not in (None, site.device.name):
        raise file.error(f"is a place for {an(site.device.name)}, and the rig is {an(own)}", "site")


def _check_twin(twin: TwinConfig, rig: RigConfig, file: YamlFile) -> None:
    try:
        world, fault = load_world(twin.world), twin_fault(twin)
    except ConfigError as error:
        raise file.error(str(error), "twin", "world") from None
    if fault is not None:
        raise file.error(fault[1], "twin", *fault[0])
    ref = rig.device or rig.world
    own = None if ref is None else (load_device(ref) if rig.device else load_world(ref).device).name
    if own not in (None, world.device.name):
        raise file.error(f"is a world of {an(world.device.name)}, and the rig is {an(own)}", "twin", "world")


def _with_base(file: YamlFile) -> YamlFile:
    """Return the file laid over the rig that its `base` names."""
    base = file.data.get("base")
    if base is None:
        return file
    shipped = RIGS_FOLDER / f"{base}.yaml"
    if not isinstance(base, str) or not shipped.is_file():
        names = nearest([path.stem for path in RIGS_FOLDER.glob("*.yaml")], str(base))
        raise file.error(f"no rig {base!r}; the rigs are {names}", "base")
    own = {key: value for key, value in file.data.items() if key != "base"}
    return replace(file, data=_laid_over(load_yaml(shipped).data, own))


def _laid_over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        # Options one by one and tables as a whole: a plant of the base that is not here would be a trap.
        merged[key] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _with_implied(file: YamlFile) -> YamlFile:
    """Return the file laid over what its URL states of the rig."""
    url = file.data.get("url")
    kind = link_type(url) if isinstance(url, str) else None
    if kind is None:
        return file
    try:
        implied = kind.implied(str(url))
    except ValueError as error:
        raise file.error(str(error), "url") from None
    return replace(file, data={**implied, **file.data}) if implied else file


def _with_driver(rig: RigConfig, file: YamlFile) -> RigConfig:
    assert rig.driver is not None
    try:
        path = driver_path(rig.driver, file.path)
    except ConfigError as error:
        raise file.error(str(error), "driver") from None
    driver = load_driver(str(path))
    for place, message in settings_faults(driver, rig.driver_options, rig.driver_tables):
        raise file.error(message, *place)
    if rig.world is not None:
        raise file.error("hardware behind a driver has no world to simulate, remove it", "world")
    if driver.device is not None and rig.device is not None:
        wanted, given = load_device(driver.device).name, load_device(rig.device).name
        if wanted != given:
            raise file.error(f"driver {driver.name} is for {an(wanted)}", "device")
    if fault := _link_fault(driver, rig.url):
        raise file.error(fault, "url")
    return rig.model_copy(update={"driver": str(path), "device": driver.device or rig.device})


def _link_fault(driver: DriverFile, url: str) -> str | None:
    kind = link_type(url)
    own_wire = driver.link == "pathrig" and _known_scheme(urlsplit(url).scheme)
    if own_wire or driver.link == "python" or (kind is not None and driver.link == kind.family):
        return None
    # The scheme that is named as the family, where there is one, is its plainest.
    plainest = LINK_TYPES.get(driver.link) or next(
        known for known in LINK_TYPES.values() if driver.link in (known.family, "pathrig")
    )
    return f"driver {driver.name} needs a URL like {plainest.example}, not {without_password(url)!r}"


def _from_url(url: str) -> RigConfig:
    address, truth = _without_truth(url)
    rig = _at_address(address)
    return rig if truth else rig.model_copy(update={"truth": False})


def _without_truth(url: str) -> tuple[str, bool]:
    """Return the URL without its query key `truth`, and that key's value."""
    address, _, query = url.partition("?")
    pairs = parse_qsl(query)
    said = [value for key, value in pairs if key == "truth"]
    if not said:
        return url, True
    if said[0] not in ("true", "false"):
        raise ConfigError(f"{without_password(url)!r}: truth is either true or false")
    rest = urlencode([pair for pair in pairs if pair[0] != "truth"])
    return address + (f"?{rest}" if rest else ""), said[0] == "true"


def _at_address(url: str) -> RigConfig:
    _check_url(url, spawned=False)
    parts = urlsplit(url)
    if parts.scheme == IN_PROCESS:
        if parts.query:
            raise ConfigError(f"{url!r}: a simulator takes no options but truth=false")
        world = load_world(parts.path)
        return RigConfig(name=url, url=url, device=world.device.name, world=parts.path)
    shown = without_password(url)
    query = parse_qsl(parts.query)
    named = [value for key, value in query if key == "driver"]
    if not named:
        implied = LINK_TYPES[parts.scheme].implied(url)
        return RigConfig.model_validate({"name": shown, "url": url, **implied})
    path = driver_path(named[0])
    driver = load_driver(str(path))
    rest = urlencode([pair for pair in query if pair[0] != "driver"])
    plain = url.partition("?")[0] + (f"?{rest}" if rest else "")
    if fault := _link_fault(driver, plain):
        raise ConfigError(fault)
    if path.parent == DRIVERS_FOLDER and (RIGS_FOLDER / f"{path.stem}.yaml").is_file():
        # The rig that ships for this driver, at another address: it has the tables that the kit's tasks need.
        return load_rig(path.stem).model_copy(update={"name": shown, "url": plain})
    return RigConfig(name=shown, url=plain, driver=str(path), device=driver.device)


def _check_url(url: str, *, spawned: bool) -> None:
    parts, shown = urlsplit(url), without_password(url)
    if not _known_scheme(parts.scheme):
        starts = ", ".join(
            f"{scheme}{'://' if '://' in kind.example else ':'}" for scheme, kind in LINK_TYPES.items()
        )
        raise ConfigError(f"{shown!r}: a rig's URL starts with {starts} or {IN_PROCESS}:")
    try:
        port = parts.port
    except ValueError:
        raise ConfigError(f"{shown!r}: the port must be a number from 1 to 65535") from None
    del port
    if parts.scheme == IN_PROCESS:
        known = known_world(parts.path) is not None or Path(parts.path).is_file()
        fault = None if known else f"no world {parts.path!r}"
    else:
        fault = LINK_TYPES[parts.scheme].fault(parts, spawned)
    if fault is not None:
        raise ConfigError(f"{shown!r}: {fault}")


def _known_scheme(scheme: str) -> bool:
    return scheme == IN_PROCESS or scheme in LINK_TYPES
