"""URLs to links: a URL's scheme names the kind of link, which any package may register."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from devices.registry import Registry
from firmware_bridge.link import Link, LinkError
from firmware_bridge.mqtt.address import without_password

__all__ = ["LINK_TYPES", "Link", "LinkError", "LinkType", "link_type", "open_link"]


@dataclass(frozen=True)
class LinkType:
    """A kind of link. A package registers it under the entry-point group `pathrig.links`, by URL scheme.

    Attributes:
        family: what it carries, as the `link` of a driver file names it; several schemes may share one.
        example: a URL of it, for messages.
        open: opens a URL of it, or raises LinkError; imports what it needs when it is called.
        fault: what is wrong with the parts of a rig's URL, in a few words, and None where nothing is; also
            takes whether the rig is spawned, so that the URL need not say where it is.
        spawn: what a simulator that is started for a rig is reached through; None: it cannot be.
        may_publish: whether the broker of a URL lets us publish a payload on a channel of the rig, None where
            it does not tell; None where there is no broker in between.
    """

    family: str
    example: str
    open: Callable[[str], Link]
    fault: Callable[[SplitResult, bool], str | None] = lambda parts, spawned: None
    spawn: Literal["broker", "pty"] | None = None
    may_publish: Callable[[str, str, bytes], bool | None] | None = None


LINK_TYPES: Registry[LinkType] = Registry("pathrig.links", LinkType)
"""Every kind of link that an installed package registers, by the scheme of its URLs."""


def link_type(url: str) -> LinkType | None:
    """The kind of link of a URL; None where no package registers its scheme."""
    return LINK_TYPES.get(urlsplit(url).scheme)


def open_link(url: str) -> Link:
    """Open a URL of any registered kind.

    Raises:
        LinkError: it cannot be opened; one line that says why and what to do.
    """
    kind = link_type(url)
    if kind is None:
        examples = ", ".join(dict.fromkeys(known.example for known in LINK_TYPES.values()))
        raise LinkError(f"no link for {without_password(url)!r}; there are {examples}")
    return kind.open(url)
