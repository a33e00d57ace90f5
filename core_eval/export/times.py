"""Times as MCAP and OTLP have them."""

from __future__ import annotations

from fractions import Fraction

from core_eval.export.errors import ExportError

LIMIT = 2**64


def nanoseconds(seconds: float | Fraction) -> int:
    """Return a time in s since 1970 as whole ns, at least 0.

    Raises:
        ExportError: it does not fit into 64 bits, as in a log edited by hand.
    """
    found = max(0, round(Fraction(seconds) * 10**9))
    if found >= LIMIT:
        raise ExportError(f"the time {float(seconds):g} s in the log is beyond what the format holds")
    return found
