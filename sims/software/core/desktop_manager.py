"""Applications on a desktop."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sims.software.core.base import CoreState, CoreWorld, Told, core_world, read, write

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
    def open_application(self, app_name: Application) -> Told:
        """Open an application; one that is open stays so."""
        if app_name not in self.state.open_applications:
            self.state.open_applications.append(app_name)
            self.state.history.append(app_name)
        return Told()

    def check_open(self, app_name: str) -> None:
        """Refuse the call unless the application is open."""
        self.check(app_name in self.state.open_applications, "not_open", f"{app_name} is not open.")

    @write()
    def close_application(self, app_name: Application) -> Told:
        """Close an application."""
        self.check_open(app_name)
        self.state.open_applications.remove(app_name)
        return Told()

    @write()
    def perform_action(
        self, app_name: Application, action: Annotated[str, Field(description="what to do")]
    ) -> Told:
        """Do something in an application that is open."""
        self.check_open(app_name)
        self.state.actions.setdefault(app_name, []).append(action)
        return Told()

    @read()
    def print_open_applications(self) -> Told:
        """Tell the open applications."""
        return Told(result=[*self.state.open_applications])

    @read()
    def print_application_history(self) -> Told:
        """Tell the applications that were opened, in order."""
        return Told(result=[*self.state.history])

    @read()
    def print_application_actions(self, app_name: Application) -> Told:
        """Tell what was done in an application."""
        return Told(result=[*self.state.actions.get(app_name, [])])


WORLD = core_world(DesktopManager, Desktop)
