"""Exports of a log in the formats of other tools, a module per format."""

from core_eval.export.common import ExportError
from core_eval.export.formats import FORMATS, ExportFormat, export

__all__ = ["FORMATS", "ExportError", "ExportFormat", "export"]
