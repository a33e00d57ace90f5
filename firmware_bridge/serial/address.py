"""Serial URLs: a port by path, by the descriptors of its USB adapter, or behind a network."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from firmware_bridge.link import LinkError
from firmware_bridge.serial.ports import Selector, list_ports

DEFAULT_BAUD = 115_200
BOOT_SECONDS = 3.0
NETWORK_SCHEMES = ("socket", "rfc2217")
QUERY_KEYS = ("baud", "boot", "dtr", "serial", "vid", "pid")
FORMS = (
    "write serial:///dev/ttyACM0?baud=115200, serial://?serial=NUMBER, serial://?vid=2341&pid=0042, "
    "socket://HOST:PORT or rfc2217://HOST:PORT"
)


@dataclass(frozen=True)
class SerialAddress:
    """A serial line, and how to open it.

    Attributes:
        target: a path, or a URL for pyserial; empty if `selector` finds the port.
        selector: the USB descriptors of the port's adapter.
        baud: baud.
        boot: time in which a board that was reset by opening its port answers `hello`, s.
        dtr: whether DTR is raised; many boards reset when it is.
    """

    target: str
    selector: Selector | None
    baud: int = DEFAULT_BAUD
    boot: float = BOOT_SECONDS
    dtr: bool = True

    @property
    def networked(self) -> bool:
        """Whether the port belongs to another machine."""
        return "://" in self.target

    def resolve(self) -> str:
        """Return the path or pyserial URL to open; a replugged port may have another path.

        Raises:
            LinkError: no port matches, or more than one.
        """
        return self.target if self.selector is None else self.selector.find(list_ports()).path


def parse_serial_url(url: str, baud: int = DEFAULT_BAUD) -> SerialAddress:
    """Parse a serial URL; `baud` is that of one that states none.

    Raises:
        LinkError: it has none of the known forms.
    """
    try:
        parts = urlsplit(url)
        port = parts.port if parts.scheme in NETWORK_SCHEMES else None
    except ValueError:
        raise LinkError(f"bad serial URL {url!r}; {FORMS}") from None
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    selector = _selector(url, options)
    if parts.scheme in NETWORK_SCHEMES:
        if not parts.hostname or port is None or parts.path.strip("/") or selector is not None:
            raise LinkError(f"bad serial URL {url!r}; {FORMS}")
        target = f"{parts.scheme}://{parts.netloc}"
    else:
        target = unquote(parts.netloc + parts.path)
        if parts.scheme != "serial" or bool(target) == (selector is not None):
            raise LinkError(f"bad serial URL {url!r}; {FORMS}")
    unknown = [key for key in options if key not in QUERY_KEYS]
    if unknown:
        raise LinkError(
            f"bad serial URL {url!r}: no option {unknown[0]!r}; there are {', '.join(QUERY_KEYS)}"
        )
    stated = options.get("baud", str(baud))
    if not stated.isdecimal() or int(stated) == 0:
        raise LinkError(f"bad serial URL {url!r}: baud must be a number; {FORMS}")
    if options.get("dtr", "1") not in ("0", "1"):
        raise LinkError(f"bad serial URL {url!r}: dtr is 0 (leave it low) or 1")
    try:
        boot = float(options.get("boot", BOOT_SECONDS))
    except ValueError:
        boot = -1.0
    if not 0 <= boot <= 120:
        raise LinkError(f"bad serial URL {url!r}: boot is how many seconds a reset board needs, 0 to 120")
    return SerialAddress(target, selector, int(stated), boot, options.get("dtr") != "0")


def _selector(url: str, options: dict[str, str]) -> Selector | None:
    if not options.keys() & {"serial", "vid", "pid"}:
        return None
    numbers: list[int | None] = []
    for key in ("vid", "pid"):
        text = options.get(key)
        try:
            numbers.append(None if text is None else int(text, 16))
        except ValueError:
            raise LinkError(
                f"bad serial URL {url!r}: {key} is four hexadecimal digits, as in vid=2341"
            ) from None
    return Selector(options.get("serial"), numbers[0], numbers[1])
