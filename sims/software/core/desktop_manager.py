"""Applications on a desktop."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write

Application = Annotated[str, Field(min_length=1, description="the application's name")]


class Desktop(CoreState):
    """Applications: which are open, which were opened, and what was done in each."""

    open_applications: list[str] = Field(default=[])
    history: list[str] = Field(default=[], description="the applications that were opened, in order")
    actions: dict[str, list[str]] = Field(default={}, description="what was done, by application")


class DesktopManager(CoreWorld[Desktop]):
    """A desktop with applications."""

    name = "core:desktop_manager"

    @write(undone_by="close_application")
    def open_application(self, app_name: Application) -> None:
        """Open an application; one that is open stays so."""
        if app_name not in self.state.open_applications:
            self.state.open_applications.append(app_name)
            self.state.history.append(app_name)

    def check_open(self, app_name: str) -> None:
        """Refuse the call unless the application is open."""
        self.check(app_name in self.state.open_applications, "not_open", f"{app_name} is not open.")

    @write()
    def close_application(self, app_name: Application) -> None:
        """Close an application."""
        self.check_open(app_name)
        self.state.open_applications.remove(app_name)

    @write()
    def perform_action(
        self, app_name: Application, action: Annotated[str, Field(description="what to do")]
    ) -> None:
        """Do something in an application that is open."""
        self.check_open(app_name)
        self.state.actions.setdefault(app_name, []).append(action)

    @read
    def print_open_applications(self) -> JsonValue:
        """Tell the open applications."""
        return [*self.state.open_applications]

    @read
    def print_application_history(self) -> JsonValue:
        """Tell the applications that were opened, in order."""
        return [*self.state.history]

    @read
    def print_application_actions(self, app_name: Application) -> JsonValue:
        """Tell what was done in an application."""
        return [*self.state.actions.get(app_name, [])]


WORLD = core_world(DesktopManager, Desktop)
