"""The address at which a page is served, as an option gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core_eval.cli.output import UsageError

if TYPE_CHECKING:
    from core_eval.live.serving import Address


def page_address(text: str, option: str) -> Address:
    """Return the address.

    Raises:
        UsageError: it is none; the line begins with the option.
    """
    from core_eval.live.serving import Address

    try:
        return Address.parse(text)
    except ValueError as error:
        raise UsageError(f"{option} {error}") from None
