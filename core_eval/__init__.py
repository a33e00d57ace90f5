"""What a path is worth: automata, metrics, harm, the log, and the `pathrig` command."""

from pkgutil import extend_path

# A project's own folder of this name without an `__init__.py` stays importable beside it.
__path__ = extend_path(__path__, __name__)

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
