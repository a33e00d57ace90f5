"""What a rig is: its tools, interlocks, coarse sensors and harm rules."""

from pkgutil import extend_path

# A project's own folder of this name without an `__init__.py` stays importable beside it.
__path__ = extend_path(__path__, __name__)

DISTRIBUTION = "pathrig"
"""The distribution of this package: another one may install a package of the same name over it."""
