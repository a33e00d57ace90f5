"""Programs, Python classes and secrets that a file names: none is used without consent.

Tasks, traces and logs are data. A rig, driver or model file may say what to run, or which environment
variable a server is sent: somebody else's file would then run programs on this machine. The command line
asks, or refuses; code that imports the kit has consented by calling it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from configs.errors import ConfigError
from configs.yaml_file import YamlFile

SHIPPED = Path(__file__).parent
KEY_ENDING = "_API_KEY"
"""How the name of an environment variable ends that a file may name."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use that a file makes of this machine.

    Attributes:
        file: the file that names it.
        key: its key there.
        what: what would be done, as a sentence without a subject.
    """

    file: Path
    key: str
    what: str


Consent = Callable[[Use], bool]


def always(_use: Use) -> bool:
    """Consent to whatever a file names."""
    return True


_consent: Consent = always


@contextmanager
def consent(given: Consent) -> Iterator[None]:
    """Ask `given` about each use that a file names, within the context."""
    global _consent
    before, _consent = _consent, given
    try:
        yield
    finally:
        _consent = before


def require(file: YamlFile, key: str, what: str) -> None:
    """Return if what a file names may be used.

    Raises:
        ConfigError: nobody consented.
    """
    if file.path.resolve().is_relative_to(SHIPPED) or _consent(Use(file.path, key, what)):
        return
    raise file.error(
        f"{what}; look at it, then give --allow-programs, or trust the file for good: pathrig rigs trust "
        f"{file.path}",
        key,
    )


def require_variable(file: YamlFile, key: str, variable: str, server: str) -> None:
    """Return if an environment variable that a file names may be sent to a server.

    Raises:
        ConfigError: its name is not that of a key, or nobody consented.
    """
    if not variable.endswith(KEY_ENDING):
        raise file.error(
            f"a file may name a variable ...{KEY_ENDING} only, not {variable!r}; name others on the command "
            "line",
            key,
        )
    require(file, key, f"sends the environment variable {variable} to {server}")


def user_file(name: str) -> Path:
    """Return the place of a file of this user's own settings: `$XDG_CONFIG_HOME/pathrig/NAME`."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return config / "pathrig" / name


class TrustedFiles:
    """The list of files that a user trusts: a line `SHA256  PATH` each. A changed file is another file."""

    def __init__(self, path: Path | None = None) -> None:
        """Use the list at `path`; default: `$XDG_CONFIG_HOME/pathrig/trusted`."""
        self.path = path or user_file("trusted")

    def __contains__(self, file: Path) -> bool:
        """Return whether a file with this content is trusted."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
            return any(line.partition(" ")[0] == _hash(file) for line in lines)
        except OSError:
            return False

    def add(self, files: Sequence[Path]) -> None:
        """Trust files as they are now.

        Raises:
            ConfigError: the list cannot be written.
        """
        new = [file for file in files if file not in self]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.path, "a", encoding="utf-8", opener=partial(os.open, mode=0o600)) as trusted:
                trusted.writelines(f"{_hash(file)}  {str(file.absolute())!r}\n" for file in new)
        except OSError as error:
            raise ConfigError(f"cannot be written: {error.strerror}", file=self.path) from None


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
