"""Drawings that leave their page: SVG files with their own colours, and PNG files that are made of them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from sims.png import CannotDrawError

STYLES = Path(__file__).parent
"""Holds `palette.css`, the colours by name, light and dark, and `pictures.css`, which names them."""

FONTS = ("DejaVu Sans", "Liberation Sans", "Noto Sans", "Arial", "Helvetica", "FreeSans")


def standalone(svg: str, size: tuple[float, float]) -> str:
    """Return a drawing as an SVG file of `size` (width, height), in the light colours of the pages.

    It keeps its ratio of sides; what room is left is at the right, or below.
    """
    width, height = size
    place = f'width="{width:.0f}" height="{height:.0f}" preserveAspectRatio="xMinYMin"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {place} '
    opened, _, rest = svg.replace("<svg ", head, 1).partition(">")
    paper = '<rect class="paper" width="1000%" height="1000%"/>'
    return f"{opened}><style>{_light_styles()}</style>{paper}{rest}\n"


def png(svg: str, size: tuple[int, int]) -> bytes:
    """Return a drawing as a PNG file of `size` (width, height) pixels.

    Raises:
        CannotDrawError: the converter or a font is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise CannotDrawError("pictures need resvg: pip install 'pathrig[pictures]'") from None
    return bytes(svg_to_bytes(svg_string=standalone(svg, size), sans_serif_family=_font()))


@cache
def _font() -> str:
    """Return the first of the usual fonts that this machine has: without one, words are left out silently."""
    from resvg_py import svg_to_bytes

    head = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
    nothing = bytes(svg_to_bytes(svg_string=f"{head}</svg>"))
    letter = f'{head}<text y="15" font-family="sans-serif">x</text></svg>'
    for family in FONTS:
        if bytes(svg_to_bytes(svg_string=letter, sans_serif_family=family)) != nothing:
            return family
    raise CannotDrawError(
        f"pictures need a font, one of {', '.join(FONTS)}: install Debian's fonts-dejavu-core"
    )


@cache
def _light_styles() -> str:
    """Return the styles with colours in place of their names, which converters do not know."""
    palette = (STYLES / "palette.css").read_text(encoding="utf-8").partition("@media")[0]
    colours = dict(re.findall(r"--([\w-]+): ([^;]+);", palette))
    styles = (STYLES / "pictures.css").read_text(encoding="utf-8").partition("@media")[0]
    return re.sub(r"var\(--([\w-]+)\)", lambda name: colours[name[1]], styles)
