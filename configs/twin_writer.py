"""Writing calibrated parameters into a rig's YAML file; its comments, its order and its other keys stay."""

from __future__ import annotations

import io
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configs.errors import ConfigError
from configs.rigs_loader import RIGS_FOLDER
from configs.twin_config import TwinParameter

SPREAD_DIGITS = 2


def rig_file(ref: str) -> Path:
    """The YAML file behind a rig's name or path.

    Raises:
        ConfigError: there is none, since the rig is a URL or unknown.
    """
    for path in (Path(ref), RIGS_FOLDER / f"{ref}.yaml"):
        if path.is_file():
            return path
    raise ConfigError(
        f"no rig file {ref!r}: calibration is written into a rig's YAML file, so give its name or path"
    )


def rounded(parameter: TwinParameter) -> TwinParameter:
    """The spread to two significant digits, and the value to as many decimals."""
    decimals = SPREAD_DIGITS - 1 - math.floor(math.log10(parameter.spread))
    return TwinParameter(value=round(parameter.value, decimals), spread=round(parameter.spread, decimals))


def with_parameters(text: str, world: str, parameters: Mapping[str, TwinParameter]) -> str:
    """The text of a rig file with these parameters in its `twin`; those of before are replaced.

    Args:
        text: the file, which the loader has found to be right.
        world: the twin's world, where the file names none.
        parameters: by name.

    Raises:
        ImportError: ruamel.yaml is not there.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    data: Any = yaml.load(text)
    if data.get("twin") is None:
        data["twin"] = CommentedMap()
    twin = data["twin"]
    twin.setdefault("world", world)
    if twin.get("parameters") is None:
        twin["parameters"] = CommentedMap()
    into = twin["parameters"]
    for name in [name for name in into if name not in parameters]:
        del into[name]
    for name, parameter in parameters.items():
        entry = CommentedMap(value=parameter.value, spread=parameter.spread)
        entry.fa.set_flow_style()
        into[name] = entry
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()


def write_parameters(path: Path, world: str, parameters: Mapping[str, TwinParameter]) -> None:
    """Write them into the file, which is either the old or the new one at any moment.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        text = with_parameters(path.read_text(encoding="utf-8"), world, parameters)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode)
        Path(name).replace(path)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None
