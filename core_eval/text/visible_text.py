"""Text from outside (models, devices, files, logs) as it may be shown: nothing in it acts on its reader."""

from __future__ import annotations

import unicodedata

LINE_AND_TAB = "\n\t"


def visible(text: str, keep: str = "") -> str:
    r"""Return the text with every invisible character replaced by its escape: `\x1b`, `\u202e`.

    Those are control characters (C0, DEL, C1), formatting ones (bidirectional controls, zero widths, the
    byte order mark), line and paragraph separators, surrogates, private and unassigned code points. Raw they
    would drive a terminal, turn words round, or break XML. What can stand in JSON gets JSON's own escape, so
    that JSON stays the same JSON. What is escaped already stays as it is.

    Args:
        text: any text.
        keep: characters that are left alone, such as `LINE_AND_TAB` where text has lines.
    """
    if text.isprintable():
        return text
    plain = text
    for sign in keep:
        plain = plain.replace(sign, " ")
    if plain.isprintable():
        return text
    return "".join(sign if sign in keep or _has_a_shape(sign) else _escape(sign) for sign in text)


def _has_a_shape(sign: str) -> bool:
    # Spaces other than U+0020 are not printable for Python; on a terminal they are spaces.
    return sign.isprintable() or unicodedata.category(sign) == "Zs"


def _escape(sign: str) -> str:
    if sign < " ":
        return sign.encode("unicode_escape").decode("ascii")
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def seconds_text(seconds: float) -> str:
    """Return a duration in words: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
