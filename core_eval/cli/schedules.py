"""Whether what a verb is given is the file of a schedule."""

from __future__ import annotations

from pathlib import Path

from configs.yaml_file import load_yaml
from core_eval.serve.serve_file import Schedule


def schedule_of(name: str) -> Schedule | None:
    """Return the schedule of a file of `pathrig serve`; None where the name is none of such a file.

    Raises:
        ConfigError: it is, and something in it is wrong.
    """
    path = Path(name)
    if path.suffix not in (".yaml", ".yml") or not path.is_file() or "schedule" not in load_yaml(path).data:
        return None
    return Schedule(path)
