"""A browser on the pages of a task."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write


class Browser(CoreState):
    """The pages, the current one, and those before it."""

    pages: dict[str, str] = Field(
        default={}, description="source of each page, by file name; without any, each name is an empty page"
    )
    current: str | None = None
    history: list[str] = Field(default=[], description="the pages before the current one")


class WebBrowsing(CoreWorld[Browser]):
    """A web browser."""

    name = "core:web_browsing"

    @write()
    def move_to_url(
        self, file_name: Annotated[str, Field(min_length=1, description="the page's file name")]
    ) -> None:
        """Open a page."""
        if self.state.pages:
            self.found(self.state.pages, file_name, "page")
        if self.state.current is not None:
            self.state.history.append(self.state.current)
        self.state.current = file_name

    @write()
    def go_back(self) -> JsonValue:
        """Return to the page before, or to no page where there is none; tell which."""
        self.state.current = self.state.history.pop() if self.state.history else None
        return self.state.current

    def source(self) -> str | None:
        """The source of the current page."""
        return None if self.state.current is None else self.state.pages.get(self.state.current, "")

    @read
    def get_page_source(self) -> JsonValue:
        """Tell the source of the current page; null without one."""
        return self.source()

    @read
    def find_text_in_page(self, text: Annotated[str, Field(description="the text to look for")]) -> JsonValue:
        """Tell whether a text stands in the current page."""
        return text in (self.source() or "")

    @read
    def get_current_url(self) -> JsonValue:
        """Tell the file name of the current page; null without one."""
        return self.state.current

    @read
    def view_browsing_history(self) -> JsonValue:
        """Tell the pages before the current one, in order."""
        return [*self.state.history]


WORLD = core_world(WebBrowsing, Browser)
