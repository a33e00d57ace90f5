"""A table of users."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import DatedState, DatedWorld, core_world, read, write
from sims.software.world import Part

UserId = Annotated[str, Field(description="the user's id, such as Alice_id")]
Email = Annotated[str, Field(description="the user's email address")]


class User(Part):
    """One user."""

    name: str
    age: float
    email: str = ""


class Users(DatedState):
    """The users, by id."""

    users: dict[str, User] = Field(default={})


class Crud(DatedWorld[Users]):
    """A table of users."""

    name = "core:crud"

    @write()
    def add_user(
        self,
        name: Annotated[str, Field(min_length=1, description="the user's name")],
        age: Annotated[float, Field(description="the user's age, years")],
        email: Email = "",
    ) -> JsonValue:
        """Add a user, whose id is the name with _id; tell the id."""
        user_id = f"{name}_id"
        self.check(user_id not in self.state.users, "exists", f"There is a user {user_id!r} already.")
        self.state.users[user_id] = User(name=name, age=age, email=email)
        return user_id

    @write()
    def update_user_email(self, user_id: UserId, email: Email) -> None:
        """Change a user's email address."""
        self.found(self.state.users, user_id, "user").email = email

    @write()
    def delete_user(self, user_id: UserId) -> None:
        """Delete a user."""
        self.found(self.state.users, user_id, "user")
        del self.state.users[user_id]

    @read
    def list_users(self) -> JsonValue:
        """Tell all users, by id."""
        return {name: user.model_dump() for name, user in self.state.users.items()}

    @read
    def verify_user_field(
        self,
        user_id: UserId,
        field: Annotated[str, Field(description="name, age or email")],
        expected_value: Annotated[str | float, Field(description="the value that it should have")],
    ) -> JsonValue:
        """Tell whether a field of a user has a value; an age is compared as a number."""
        user = self.state.users.get(user_id)
        value = None if user is None else user.model_dump().get(field)
        if field == "age":
            with suppress(ValueError):
                expected_value = float(expected_value)
        return value is not None and value == expected_value

    @read
    def generate_timestamp(self) -> JsonValue:
        """Tell date and time now, as ISO 8601."""
        return self.stamp()


WORLD = core_world(Crud, Users)
