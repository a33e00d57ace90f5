"""What is wrong with a file that a person wrote, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class ConfigError(ValueError):
    """Bad configuration. The text is one line: file, line, key, what is wrong and what to do.

    Attributes:
        file: where it stands, if that is known.
        message: the text without the keys `at`.
        at: keys in a file that only the caller knows.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        key: str = "",
        at: Sequence[str | int] = (),
    ) -> None:
        place = "" if file is None else f"{file}" if line is None else f"{file}:{line}"
        self.file = file
        self.at = tuple(at)
        self.message = ": ".join(part for part in (place, key, " ".join(message.split())) if part)
        super().__init__(": ".join(part for part in (".".join(map(str, at)), self.message) if part))


@contextmanager
def at(*keys: str | int) -> Iterator[None]:
    """Within the context, an error is one at these keys of a file that the caller knows."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.message, at=(*keys, *error.at)) from None
