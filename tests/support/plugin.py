"""A package of a user's own as an installed one looks: modules and entry points in a folder on the path."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paths import ROOT
from warm_pathrig import warm_pathrig

from core_eval.cli.main import main
from devices.registry import Registry


class Plugin:
    """A package in `folder`.

    Args:
        name: the distribution's name.
        group: the entry-point group.
        points: entry point to `module:attribute`.
        files: file to text.
    """

    def __init__(
        self, folder: Path, name: str, group: str, points: Mapping[str, str], files: Mapping[str, str]
    ) -> None:
        self.folder = folder
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(textwrap.dedent(text), encoding="utf-8")
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "".join(f"{point} = {value}\n" for point, value in points.items())
        (info / "entry_points.txt").write_text(f"[{group}]\n{lines}")

    def main(self, registry: Registry[Any], *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb in the folder, as `pathrig` does, but in this process."""
        out, err = io.StringIO(), io.StringIO()
        with self._installed(registry), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(arguments))
        return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())

    @contextlib.contextmanager
    def _installed(self, registry: Registry[Any]) -> Iterator[None]:
        modules = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        forget(registry)
        try:
            with contextlib.chdir(self.folder):
                yield
        finally:
            sys.path.remove(str(self.folder))
            forget(registry)
            for name in set(sys.modules) - modules:
                if str(getattr(sys.modules[name], "__file__", None)).startswith(str(self.folder)):
                    del sys.modules[name]

    def pathrig(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb in the folder, with the package installed."""
        path = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", ""), str(ROOT)])
        return subprocess.run(
            [*warm_pathrig(), *arguments],
            env={**os.environ, "PYTHONPATH": path},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def forget(registry: Registry[Any]) -> None:
    """Let a registry look for its plug-ins anew."""
    registry.__dict__.pop("_found", None)
    registry._loaded.clear()
