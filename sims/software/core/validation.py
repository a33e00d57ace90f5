"""Checks of what a user enters."""

from __future__ import annotations

import hashlib
import re
from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", re.ASCII)
USERNAME = re.compile(r"\w{3,16}", re.ASCII)
DIGITS = "1234567890"
Password = Annotated[str, Field(description="the password")]


class Nothing(CoreState):
    """No state."""


def sha256(password: str) -> str:
    """The SHA-256 of a password, hexadecimal."""
    return hashlib.sha256(password.encode()).hexdigest()


class Validation(CoreWorld[Nothing]):
    """A desk that checks what users enter."""

    name = "core:validation"

    @read
    def validate_email(self, email: Annotated[str, Field(description="the email address")]) -> JsonValue:
        """Tell whether it is an email address."""
        return bool(EMAIL.fullmatch(email))

    @read
    def validate_username(self, username: Annotated[str, Field(description="the user name")]) -> JsonValue:
        """Tell whether it is a user name: 3 to 16 letters, digits and underscores."""
        return bool(USERNAME.fullmatch(username))

    @read
    def hash_password(self, password: Password) -> JsonValue:
        """Tell the SHA-256 of a password, hexadecimal."""
        return sha256(password)

    @read
    def check_password_hash(
        self, password: Password, hashed_password: Annotated[str, Field(description="its hash")]
    ) -> JsonValue:
        """Tell whether a hash is that of a password."""
        return sha256(password) == hashed_password

    @read
    def generate_otp(
        self, length: Annotated[int, Field(ge=1, le=len(DIGITS), description="number of digits")] = 6
    ) -> JsonValue:
        """Tell a one-time password."""
        return DIGITS[:length]

    @read
    def verify_otp(
        self,
        input_otp: Annotated[str | int, Field(description="what was entered")],
        correct_otp: Annotated[str | int, Field(description="what it should be")],
    ) -> JsonValue:
        """Tell whether a one-time password is the right one."""
        return str(input_otp) == str(correct_otp)


WORLD = core_world(Validation, Nothing)
