"""Files in CORE's JSON, as users name them."""

from __future__ import annotations

from pathlib import Path

from configs.errors import ConfigError
from core_eval.path import AutomatonError, CoreFile, parse_core_json


def load_core_file(path: Path) -> CoreFile:
    """The tasks of a file, and one line for each fault in those that are malformed.

    Raises:
        ConfigError: it cannot be read, or is no JSON array.
    """
    try:
        return parse_core_json(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror}); give a CORE JSON file", file=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text; give a CORE JSON file", file=path) from None
    except AutomatonError as error:
        raise ConfigError(str(error)) from None
