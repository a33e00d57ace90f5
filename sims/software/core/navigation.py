"""A player on a grid of 5 x 5 fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write

SIZE = 5
Steps = Annotated[int, Field(ge=1, description="number of fields")]


class Player(CoreState):
    """Where the player is, in fields from the upper left corner."""

    x: int = Field(default=0, ge=0, lt=SIZE)
    y: int = Field(default=0, ge=0, lt=SIZE, description="grows downwards")


def within(x: int, y: int) -> bool:
    """Whether a field is on the grid."""
    return 0 <= x < SIZE and 0 <= y < SIZE


class Navigation(CoreWorld[Player]):
    """A player on a grid of 5 x 5 fields; (0, 0) is the upper left one."""

    name = "core:navigation"

    def move(self, right: int, down: int) -> JsonValue:
        """Move by so many fields, if the player stays on the grid; tell the position."""
        x, y = self.state.x + right, self.state.y + down
        self.check(within(x, y), "out_of_bounds", f"({x}, {y}) is beyond the border.")
        self.state.x, self.state.y = x, y
        return [x, y]

    @write(undone_by="move_down")
    def move_up(self, steps: Steps = 1) -> JsonValue:
        """Move up; tell the position."""
        return self.move(0, -steps)

    @write(undone_by="move_up")
    def move_down(self, steps: Steps = 1) -> JsonValue:
        """Move down; tell the position."""
        return self.move(0, steps)

    @write(undone_by="move_right")
    def move_left(self, steps: Steps = 1) -> JsonValue:
        """Move left; tell the position."""
        return self.move(-steps, 0)

    @write(undone_by="move_left")
    def move_right(self, steps: Steps = 1) -> JsonValue:
        """Move right; tell the position."""
        return self.move(steps, 0)

    @write()
    def reset_position(self) -> JsonValue:
        """Return to (0, 0)."""
        return self.move(-self.state.x, -self.state.y)

    @read
    def get_player_position(self) -> JsonValue:
        """Tell the position, x and y."""
        return [self.state.x, self.state.y]

    @read
    def is_within_bounds(
        self, position: Annotated[list[int] | dict[str, int], Field(description="x and y, such as [2, 3]")]
    ) -> JsonValue:
        """Tell whether a position is on the grid."""
        place = [*position.values()] if isinstance(position, dict) else position
        return len(place) == 2 and within(*place)


WORLD = core_world(Navigation, Player)
