"""Entry point of the `pathrig` command: checks that its packages are not overwritten, then runs it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("firmware_bridge", "devices", "agents", "core_eval", "sims", "configs")
MARK = 'DISTRIBUTION = "pathrig"'
BAD_INPUT = 2


def main() -> int:
    """Run one verb, or print why a package of the kit cannot be used; see `core_eval.cli.main.main`."""
    reason = overwritten_package()
    if reason is not None:
        print(f"pathrig: {reason}", file=sys.stderr)
        return BAD_INPUT
    from core_eval.cli.main import main as run

    return run()


def overwritten_package() -> str | None:
    """Return why a package of the kit cannot be used, and what to do; None if all are its own.

    Nothing is imported, because another distribution's package may fail or have side effects.
    """
    for name in PACKAGES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            return f"its package {name!r} is missing: install pathrig again"
        if MARK not in Path(spec.origin).read_text(encoding="utf-8", errors="replace"):
            from importlib.metadata import packages_distributions

            others = sorted(set(packages_distributions().get(name, ())) - {"pathrig"})
            owner = " and ".join(others) or spec.origin
            return (
                f"{owner} has overwritten pathrig's package {name!r}: install pathrig into an environment "
                "of its own (python -m venv, or pipx install pathrig)"
            )
    return None


if __name__ == "__main__":
    sys.exit(main())
