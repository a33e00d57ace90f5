"""URLs to links: a URL's scheme names the kind of link, which any package may register."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from core_eval.text.streams import STREAMS
from devices.registry import Registry
from firmware_bridge.link import Link, LinkError
from firmware_bridge.mqtt.address import without_password

__all__ = ["LINK_TYPES", "Link", "LinkError", "LinkType", "RigAddress", "link_type", "open_link"]


@dataclass(frozen=True)
class RigAddress:
    """What a link may need of a rig's file.

    Attributes:
        url: where the rig is.
        name: what the log calls it.
        world: the world that it simulates.
        truth: whether a simulator reports ground truth.
        driver: how its hardware is spoken to, with its options and tables.
        deadman: the serial port of a relay that cuts its supply without a heartbeat.
    """

    url: str
    name: str = "local"
    world: str | None = None
    truth: bool = True
    driver: str | None = None
    driver_options: Mapping[str, Any] = field(default_factory=dict)
    driver_tables: Mapping[str, Any] = field(default_factory=dict)
    deadman: str | None = None

    @classmethod
    def of(cls, rig: Any) -> RigAddress:
        """Return what a rig's file says, which has attributes of these names."""
        return cls(**{one.name: getattr(rig, one.name) for one in fields(cls)})


@dataclass(frozen=True)
class LinkType:
    """A kind of link. A package registers it under the entry-point group `pathrig.links`, by URL scheme.

    Attributes:
        family: its name in the `link` of a driver file; several schemes may share one.
        example: a URL, for messages.
        open: opens the link to a rig, or raises LinkError; imports its modules when it is called.
        fault: returns what is wrong with the parts of a rig's URL, in a few words, or None; the second
            argument is whether the rig is spawned, so that the URL needs no place.
        spawn: the link of a simulator that is started for a rig; None: none can be started.
        may_publish: returns whether a URL's broker accepts a payload on a channel of the rig, or None if it
            does not answer; None for links without a broker.
        implied: returns what a URL states of its rig, as keys of a rig's file, which the file's own precede;
            raises ValueError (one line) for a URL that cannot be used.
        program: returns the program that opening a URL starts; None where it starts none.
        streams: returns the latest version of the random streams with which a rig at a URL can begin
            episodes; a recording can only begin those that were recorded.
        in_process: whether the device is a simulator in this process.
    """

    family: str
    example: str
    open: Callable[[RigAddress], Link]
    fault: Callable[[SplitResult, bool], str | None] = lambda parts, spawned: None
    spawn: Literal["broker", "pty"] | None = None
    may_publish: Callable[[str, str, bytes], bool | None] | None = None
    implied: Callable[[str], Mapping[str, Any]] = lambda url: {}
    program: Callable[[str], str | None] = lambda url: None
    streams: Callable[[str], int] = lambda url: STREAMS
    in_process: bool = False


LINK_TYPES: Registry[LinkType] = Registry("pathrig.links", LinkType)
"""All registered kinds of links, by URL scheme."""


def link_type(url: str) -> LinkType | None:
    """Return the kind of link of a URL; None if its scheme is not registered."""
    return LINK_TYPES.get(urlsplit(url).scheme)


def open_link(rig: str | RigAddress) -> Link:
    """Open the link to a rig, or a URL, of any registered kind.

    Raises:
        LinkError: it cannot be opened; one line with the reason and the remedy.
    """
    address = RigAddress(rig) if isinstance(rig, str) else rig
    kind, url = link_type(address.url), address.url
    if kind is None:
        examples = ", ".join(dict.fromkeys(known.example for known in LINK_TYPES.values()))
        raise LinkError(f"no link for {without_password(url)!r}; there are {examples}")
    return kind.open(address)
