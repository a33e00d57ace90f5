"""Rigs: where a device is found, by the name of a file in `configs/rigs/`, by a file's path, or by a URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from configs.drivers_loader import DRIVERS_FOLDER, driver_path, load_driver
from configs.envelope_names import envelope_fault
from configs.errors import ConfigError
from configs.twin_config import TwinConfig, twin_fault
from configs.worlds_loader import known_world, load_world
from configs.yaml_file import YamlFile, load_yaml, nearest
from devices.device_type import DeviceType
from devices.drivers.driver_file import DriverFile
from devices.drivers.settings import settings_faults
from devices.registry import DEVICE_TYPES
from firmware_bridge.envelope import Envelope
from firmware_bridge.mqtt_address import without_password

RIGS_FOLDER = Path(__file__).parent / "rigs"
SCHEMES = ("mqtt", "mqtts", "serial", "socket", "rfc2217", "sim")


class RigConfig(BaseModel):
    """One rig."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="what the log calls the rig")
    url: str = Field(
        description="mqtt://[user[:pass]@]host[:port]/RIG, mqtts://..., serial:///dev/ttyACM0?baud=115200, "
        "serial://?serial=NUMBER, serial://?vid=2341&pid=0042, socket://HOST:PORT, rfc2217://HOST:PORT, "
        "sim:WORLD"
    )
    device: str | None = Field(default=None, description="the device type; left out, the task's own is taken")
    world: str | None = Field(
        default=None, description="the world that it simulates; left out for a physical rig"
    )
    site: str | None = Field(
        default=None,
        description="the world, by name or file, that tells where a physical rig works: the layout by which "
        "the guard asks interlocks and limits; left out: its twin's world, or only what needs no layout",
    )
    spawn: bool = Field(
        default=False,
        description="start the simulator (and for MQTT an embedded broker) as processes, and end them again",
    )
    guard: Literal["observe", "block", "estop", "confirm"] | None = Field(
        default=None, description="left out: observe on simulators, block on physical rigs"
    )
    envelope: dict[str, dict[str, Any]] = Field(
        default={},
        description="limits that no call may leave, whatever the guard: tool, argument, pattern as in a "
        "plan, such as {move_to: {x: {min: 0, max: 20}}}",
    )
    truth: bool = Field(
        default=True,
        description="false: take no ground truth from it; its twin tells the harm, as for a physical rig",
    )
    twin: TwinConfig | None = Field(
        default=None, description="the model that tells the harm of a rig that has no ground truth"
    )
    home: str | None = Field(
        default=None,
        description="a tool without arguments that takes the machine home after a run that ended in order; "
        "left out: it stays where it was stopped",
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
    if urlsplit(ref).scheme in SCHEMES and not Path(ref).exists():
        return _from_url(ref)
    path = Path(ref)
    if not path.is_file():
        path = RIGS_FOLDER / f"{ref}.yaml"
    if not path.is_file():
        names = nearest([shipped.stem for shipped in RIGS_FOLDER.glob("*.yaml")])
        raise ConfigError(
            f"no rig {without_password(ref)!r}; the rigs are {names}, or give a file or a URL "
            "(mqtt://HOST/RIG, serial:///dev/..., sim:WORLD)"
        )
    file = _with_base(load_yaml(path))
    rig = file.validate(RigConfig)
    try:
        address, truth = _without_truth(rig.url)
    except ConfigError as error:
        raise file.error(str(error), "url") from None
    rig = rig.model_copy(update={"url": address, "truth": rig.truth and truth})
    if rig.device is not None and rig.device not in DEVICE_TYPES:
        raise file.error(f"no device type {rig.device!r}; there are {nearest(list(DEVICE_TYPES))}", "device")
    if rig.home is not None and rig.device is not None and rig.home not in DEVICE_TYPES[rig.device].by_name:
        raise file.error(f"a {rig.device} has no tool {rig.home!r}", "home")
    try:
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
    if rig.driver is not None:
        rig = _with_driver(rig, file)
    device = _device_of(rig)
    if device is not None and (fault := envelope_fault(rig.envelope, device)) is not None:
        raise file.error(fault[1], *fault[0])
    return rig


def _device_of(rig: RigConfig) -> DeviceType | None:
    """Return the device type that a rig's file states or implies; None if only a task does."""
    if rig.device is not None:
        return DEVICE_TYPES[rig.device]
    world = rig.world or rig.site or (None if rig.twin is None else rig.twin.world)
    return None if world is None else load_world(world).device


def _check_site(rig: RigConfig, file: YamlFile) -> None:
    assert rig.site is not None
    if rig.world is not None:
        raise file.error("a rig that simulates a world works in that world, remove it", "site")
    try:
        site = load_world(rig.site)
    except ConfigError as error:
        raise file.error(str(error), "site") from None
    if rig.device not in (None, site.device.name):
        raise file.error(f"is a place for a {site.device.name}, and the rig is a {rig.device}", "site")


def _check_twin(twin: TwinConfig, rig: RigConfig, file: YamlFile) -> None:
    try:
        world, fault = load_world(twin.world), twin_fault(twin)
    except ConfigError as error:
        raise file.error(str(error), "twin", "world") from None
    if fault is not None:
        raise file.error(fault[1], "twin", *fault[0])
    device = rig.device if rig.device is not None or rig.world is None else load_world(rig.world).device.name
    if device not in (None, world.device.name):
        raise file.error(f"is a world of a {world.device.name}, and the rig is a {device}", "twin", "world")


def _with_base(file: YamlFile) -> YamlFile:
    """Return the file laid over the rig that its `base` names."""
    base = file.data.get("base")
    if base is None:
        return file
    shipped = RIGS_FOLDER / f"{base}.yaml"
    if not isinstance(base, str) or not shipped.is_file():
        names = nearest([path.stem for path in RIGS_FOLDER.glob("*.yaml")])
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
    if driver.device is not None and rig.device not in (None, driver.device):
        raise file.error(f"driver {driver.name} is for a {driver.device}", "device")
    if fault := _link_fault(driver, rig.url):
        raise file.error(fault, "url")
    return rig.model_copy(update={"driver": str(path), "device": driver.device or rig.device})


def _link_fault(driver: DriverFile, url: str) -> str | None:
    links = {"mqtts": "mqtt", "socket": "serial", "rfc2217": "serial"}
    scheme = urlsplit(url).scheme
    if driver.link in ("pathrig", links.get(scheme, scheme)):
        return None
    example = "serial:///dev/ttyACM0" if driver.link == "serial" else "mqtt://HOST/TOPIC"
    return f"driver {driver.name} needs a URL like {example}, not {without_password(url)!r}"


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
    if parts.scheme == "sim":
        if parts.query:
            raise ConfigError(f"{url!r}: a simulator takes no options but truth=false")
        world = load_world(parts.path)
        return RigConfig(name=url, url=url, device=world.device.name, world=parts.path)
    shown = without_password(url)
    query = parse_qsl(parts.query)
    named = [value for key, value in query if key == "driver"]
    if not named:
        return RigConfig(name=shown, url=url)
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
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"{shown!r}: a rig's URL starts with mqtt://, mqtts://, serial:// or sim:")
    try:
        port = parts.port
    except ValueError:
        raise ConfigError(f"{shown!r}: the port must be a number from 1 to 65535") from None
    del port
    if parts.scheme in ("mqtt", "mqtts") and not parts.path.strip("/"):
        raise ConfigError(f"{shown!r}: the rig's name is missing, as in mqtt://localhost/my-rover")
    if parts.scheme in ("mqtt", "mqtts") and any(sign in parts.path for sign in "+#"):
        raise ConfigError(f"{shown!r}: a rig's name holds neither + nor #")
    if parts.scheme == "serial" and not parts.path.strip("/") and not parts.query and not spawned:
        raise ConfigError(f"{shown!r}: the port's path is missing, as in serial:///dev/ttyACM0?baud=115200")
    if parts.scheme in ("socket", "rfc2217") and (not parts.hostname or parts.port is None):
        raise ConfigError(f"{shown!r}: write {parts.scheme}://HOST:PORT")
    if parts.scheme == "sim" and known_world(parts.path) is None and not Path(parts.path).is_file():
        raise ConfigError(f"{shown!r}: no world {parts.path!r}")
