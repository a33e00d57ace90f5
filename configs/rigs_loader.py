"""Rigs: where a device is found, by the name of a file in `configs/rigs/`, by a file's path, or by a URL."""

from __future__ import annotations

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from configs.errors import ConfigError
from configs.worlds_loader import known_world, load_world
from configs.yaml_file import load_yaml, nearest
from devices.catalog import DEVICE_TYPES

RIGS_FOLDER = Path(__file__).parent / "rigs"
SCHEMES = ("mqtt", "mqtts", "serial", "sim")


class RigConfig(BaseModel):
    """One rig."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="what the log calls the rig")
    url: str = Field(
        description="mqtt://[user:pass@]host[:port]/RIG, mqtts://..., serial:///dev/ttyACM0?baud=115200, "
        "sim:WORLD"
    )
    device: str | None = Field(default=None, description="the device type; left out, the task's own is taken")
    world: str | None = Field(
        default=None, description="the world that it simulates; left out for a physical rig"
    )
    spawn: bool = Field(
        default=False,
        description="start the simulator (and for MQTT an embedded broker) as processes, and end them again",
    )
    guard: Literal["observe", "block", "estop"] | None = Field(
        default=None, description="left out: observe on simulators, block on physical rigs"
    )


def list_rigs() -> list[RigConfig]:
    """The rigs that ship with the kit."""
    return [load_rig(str(path)) for path in sorted(RIGS_FOLDER.glob("*.yaml"))]


def load_rig(ref: str) -> RigConfig:
    """A rig by its shipped name, its YAML file or its URL.

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
            f"no rig {ref!r}; the rigs are {names}, or give a file or a URL (mqtt://HOST/RIG, "
            "serial:///dev/..., sim:WORLD)"
        )
    file = load_yaml(path)
    rig = file.validate(RigConfig)
    if rig.device is not None and rig.device not in DEVICE_TYPES:
        raise file.error(f"no device type {rig.device!r}; there are {nearest(list(DEVICE_TYPES))}", "device")
    try:
        _check_url(rig.url, spawned=rig.spawn)
        if rig.world is not None:
            load_world(rig.world)
    except ConfigError as error:
        raise file.error(str(error), "url" if rig.world is None else "world") from None
    if rig.spawn and rig.world is None:
        raise file.error("a rig that is spawned needs the world that it simulates", "world")
    return rig


def _from_url(url: str) -> RigConfig:
    _check_url(url, spawned=False)
    parts = urlsplit(url)
    if parts.scheme == "sim":
        world = load_world(parts.path)
        return RigConfig(name=url, url=url, device=world.device.name, world=parts.path)
    shown = url if parts.password is None else url.replace(f":{parts.password}@", ":***@")
    return RigConfig(name=shown, url=url)


def _check_url(url: str, *, spawned: bool) -> None:
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"{url!r}: a rig's URL starts with mqtt://, mqtts://, serial:// or sim:")
    try:
        port = parts.port
    except ValueError:
        raise ConfigError(f"{url!r}: the port must be a number from 1 to 65535") from None
    del port
    if parts.scheme in ("mqtt", "mqtts") and not parts.path.strip("/"):
        raise ConfigError(f"{url!r}: the rig's name is missing, as in mqtt://localhost/my-rover")
    if parts.scheme in ("mqtt", "mqtts") and any(sign in parts.path for sign in "+#"):
        raise ConfigError(f"{url!r}: a rig's name holds neither + nor #")
    if parts.scheme == "serial" and not parts.path.strip("/") and not spawned:
        raise ConfigError(f"{url!r}: the port's path is missing, as in serial:///dev/ttyACM0?baud=115200")
    if parts.scheme == "sim" and known_world(parts.path) is None and not Path(parts.path).is_file():
        raise ConfigError(f"{url!r}: no world {parts.path!r}")
