"""Why a world cannot be drawn."""


class PictureError(Exception):
    """No picture can be made; the text is one line that says why, and what to do."""


class CannotDrawError(PictureError):
    """No picture of any world of that kind can be made on this machine."""
