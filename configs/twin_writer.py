"""Writing calibrated parameters into a rig's YAML file; everything else in it stays, letter by letter."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from configs.errors import ConfigError
from configs.rigs_loader import RIGS_FOLDER
from configs.twin_config import TwinParameter
from configs.yaml_text import YamlError, parse_yaml, text_end

SPREAD_DIGITS = 2
BY_HAND = (
    "its `twin` cannot be changed where it stands (an anchor, an alias or a merge key?): write it out, or "
    "put this into it yourself: parameters: "
)


@dataclass(frozen=True)
class _Edit:
    """New text in place of what stands from `start` to `end`."""

    start: int
    end: int
    text: str


def rig_file(ref: str) -> Path:
    """Return the YAML file behind a rig's name or path.

    Raises:
        ConfigError: there is none, since the rig is a URL or unknown.
    """
    for path in (Path(ref), RIGS_FOLDER / f"{ref}.yaml"):
        if path.is_file():
            return path
    raise ConfigError(
        f"no rig file {ref!r}: calibration is written into a rig's YAML file, so give its name or path"
    )


def is_shipped(path: Path) -> bool:
    """Return whether a rig's file is part of the kit: the same for everybody, and gone with an update."""
    return path.resolve().parent == RIGS_FOLDER.resolve()


def rig_of_ones_own(shipped: Path, world: str, parameters: Mapping[str, TwinParameter]) -> str:
    """Return the text of a rig file that starts from a shipped rig and adds these parameters."""
    return with_parameters(f"base: {shipped.stem}\n", world, parameters)


def rounded(parameter: TwinParameter) -> TwinParameter:
    """Return the spread to two significant digits, and the value to as many decimals."""
    decimals = SPREAD_DIGITS - 1 - math.floor(math.log10(parameter.spread))
    return TwinParameter(value=round(parameter.value, decimals), spread=round(parameter.spread, decimals))


def with_parameters(text: str, world: str, parameters: Mapping[str, TwinParameter]) -> str:
    """Return the text of a rig file with these parameters in its `twin`; previous ones are replaced.

    Args:
        text: the file, which the loader has found to be right.
        world: the twin's world, where the file names none.
        parameters: by name.

    Raises:
        ConfigError: its `twin` is written in a way that cannot be edited.
    """
    old = parse_yaml(text)
    assert isinstance(old.root, yaml.MappingNode), "the loader makes sure"
    changed = text
    for edit in sorted(_edits(text, old.root, world, parameters), key=lambda edit: -edit.start):
        changed = changed[: edit.start] + edit.text + changed[edit.end :]
    wanted = {name: parameter.model_dump() for name, parameter in parameters.items()}
    twin = {"world": world, **(old.value.get("twin") or {}), "parameters": wanted}
    try:
        right = parse_yaml(changed).value == {**old.value, "twin": twin}
    except YamlError:
        right = False
    if not right:
        raise ConfigError(BY_HAND + _flow(parameters))
    return changed


def _edits(
    text: str, root: yaml.MappingNode, world: str, parameters: Mapping[str, TwinParameter]
) -> Iterator[_Edit]:
    newline = "\r\n" if "\r\n" in text else "\n"
    twin = _value(root, "twin")
    if not isinstance(twin, yaml.MappingNode) or not twin.value:
        if twin is not None:
            # `twin:` with nothing behind it, or nothing in it.
            flow = f" {{world: {_word(world)}, parameters: {_flow(parameters)}}}"
            yield _Edit(twin.start_mark.index, twin.end_mark.index, flow)
        elif root.flow_style:
            yield _into_flow(text, root, f"twin: {{world: {_word(world)}, parameters: {_flow(parameters)}}}")
        else:
            lines = ["twin:", f"  world: {_word(world)}", "  parameters:", *_block(parameters, 4)]
            gap = "" if not text or text.endswith("\n") else newline
            yield _Edit(len(text), len(text), gap + newline.join(lines) + newline)
        return
    if _value(twin, "world") is None:
        between = ", " if twin.flow_style else newline + " " * twin.start_mark.column
        at = twin.start_mark.index + (1 if twin.flow_style else 0)
        yield _Edit(at, at, f"world: {_word(world)}{between}")
    there = _value(twin, "parameters")
    if there is None and twin.flow_style:
        yield _into_flow(text, twin, f"parameters: {_flow(parameters)}")
    elif there is None:
        indent = twin.start_mark.column
        lines = [" " * indent + "parameters:", *_block(parameters, indent + 2)]
        end = _line_end(text, text_end(twin))
        yield _Edit(end, end, newline + newline.join(lines))
    elif isinstance(there, yaml.MappingNode) and not there.flow_style and parameters:
        lines = list(_block(parameters, there.start_mark.column))
        end = _line_end(text, text_end(there))
        yield _Edit(there.start_mark.index, end, newline.join(lines).lstrip())
    else:
        gap = "" if text[there.start_mark.index - 1].isspace() else " "
        yield _Edit(there.start_mark.index, text_end(there), gap + _flow(parameters))


def _value(node: yaml.MappingNode, name: str) -> yaml.Node | None:
    return next((value for key, value in node.value if key.value == name), None)


def _line_end(text: str, at: int) -> int:
    """Return the end of the line, after a comment on it."""
    found = re.compile(r"[ \t]*(#[^\r\n]*)?").match(text, at)
    return found.end() if found else at


def _into_flow(text: str, node: yaml.MappingNode, entry: str) -> _Edit:
    at = int(node.end_mark.index) - 1
    comma = "" if text[:at].rstrip().endswith(("{", ",")) else ", "
    return _Edit(at, at, comma + entry)


def _block(parameters: Mapping[str, TwinParameter], indent: int) -> Iterator[str]:
    for name, parameter in parameters.items():
        yield f"{' ' * indent}{name}: {_entry(parameter)}"


def _flow(parameters: Mapping[str, TwinParameter]) -> str:
    return "{" + ", ".join(f"{name}: {_entry(one)}" for name, one in parameters.items()) + "}"


def _entry(parameter: TwinParameter) -> str:
    return f"{{value: {_number(parameter.value)}, spread: {_number(parameter.spread)}}}"


def _number(value: float) -> str:
    """Format a number for YAML, which needs a point before an exponent."""
    digits, exponent, power = repr(value).partition("e")
    return f"{digits if '.' in digits or not exponent else digits + '.0'}{exponent}{power}"


def _word(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][\w./-]*", text) else json.dumps(text)


def write_parameters(path: Path, world: str, parameters: Mapping[str, TwinParameter]) -> None:
    """Write the parameters into the file, atomically.

    Raises:
        ConfigError: it cannot be written, or its `twin` cannot be edited.
    """
    try:
        # As bytes, so that its line ends stay.
        text = path.read_bytes().decode("utf-8")
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        changed = mark + with_parameters(text.removeprefix(mark), world, parameters)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(changed.encode("utf-8"))
        Path(name).chmod(path.stat().st_mode)
        Path(name).replace(path)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None
    except ConfigError as error:
        raise ConfigError(str(error), file=path) from None
