"""Errors of exports."""

from __future__ import annotations


class ExportError(Exception):
    """The log cannot be exported; the text is one line with the remedy."""


def missing_library(format_name: str, error: ImportError, extra: str = "export") -> ExportError:
    """Return the error for a format whose library is not installed."""
    return ExportError(f"--format {format_name} needs {error.name}: pip install 'pathrig[{extra}]'")
