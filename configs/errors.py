"""What is wrong with a file that a person wrote, in one line."""

from __future__ import annotations

from pathlib import Path


class ConfigError(ValueError):
    """Bad configuration. The text is one line: file, line, key, what is wrong and what to do."""

    def __init__(
        self, message: str, *, file: str | Path | None = None, line: int | None = None, key: str = ""
    ) -> None:
        place = "" if file is None else f"{file}" if line is None else f"{file}:{line}"
        super().__init__(": ".join(part for part in (place, key, " ".join(message.split())) if part))
