"""Files in CORE's JSON, as users name them."""

from __future__ import annotations

from pathlib import Path

from configs.errors import ConfigError
from core_eval.path import AutomatonError, CoreFile, parse_core_json
from core_eval.path.core_json import Translate
from core_eval.text.foreign_text import ForeignTextError, read_text


def is_core_text(text: str) -> bool:
    """Return whether a task file's text is CORE's JSON, an array; this project's own YAML is a mapping."""
    return text.lstrip().startswith("[")


def load_core_file(path: Path, text: str | None = None, translate: Translate | None = None) -> CoreFile:
    """Return the tasks of a file, and one line for each fault in those that are malformed.

    Args:
        path: the file; `-` is standard input.
        text: what it holds, where it has been read already.
        translate: what its symbols are here.

    Raises:
        ConfigError: it cannot be read, or is no JSON array.
    """
    try:
        return parse_core_json(read_text(path) if text is None else text, str(path), translate)
    except ForeignTextError as error:
        raise ConfigError(f"cannot be read ({error}); give a CORE JSON file", file=path) from None
    except AutomatonError as error:
        raise ConfigError(str(error)) from None
