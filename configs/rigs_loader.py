"""Rigs: by the name of a file in `configs/rigs/`, by a file's path, or by a URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from configs.drivers_loader import DRIVERS_FOLDER, driver_path, load_driver
from configs.errors import ConfigError
from configs.rig_config import RigConfig
from configs.rig_url import check_link, check_url, without_truth
from configs.yaml_file import YamlFile, load_yaml, nearest
from firmware_bridge.links import LINK_TYPES, link_type
from firmware_bridge.mqtt.address import without_password

RIGS_FOLDER = Path(__file__).parent / "rigs"


def list_rigs() -> list[RigConfig]:
    """Return the rigs that ship with the kit."""
    return [load_rig(str(path)) for path in sorted(RIGS_FOLDER.glob("*.yaml"))]


def load_rig(ref: str) -> RigConfig:
    """Return a rig by its shipped name, its YAML file or its URL.

    Raises:
        ConfigError: no such rig, or its file or URL is wrong.
    """
    if link_type(ref) is not None and not Path(ref).exists():
        address, truth = without_truth(ref)
        rig = _at_address(address)
        return rig if truth else rig.model_copy(update={"truth": False})
    path = Path(ref)
    if not path.is_file():
        path = RIGS_FOLDER / f"{ref}.yaml"
    if not path.is_file():
        names = nearest([shipped.stem for shipped in RIGS_FOLDER.glob("*.yaml")], ref)
        raise ConfigError(
            f"no rig {without_password(ref)!r}; the rigs are {names}, or give a file or a URL "
            "(mqtt://HOST/RIG, serial:///dev/..., sim:WORLD)"
        )
    return _with_implied(_with_base(load_yaml(path))).validate(RigConfig)


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


def _at_address(url: str) -> RigConfig:
    check_url(url, spawned=False)
    parts = urlsplit(url)
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
    check_link(driver, plain)
    if path.parent == DRIVERS_FOLDER and (RIGS_FOLDER / f"{path.stem}.yaml").is_file():
        # The rig that ships for this driver, at another address: it has the tables that the kit's tasks need.
        return load_rig(path.stem).model_copy(update={"name": shown, "url": plain})
    return RigConfig(name=shown, url=plain, driver=str(path), device=driver.device)
