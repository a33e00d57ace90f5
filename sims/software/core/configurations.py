"""Settings by key."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import DatedState, DatedWorld, Timestamp, core_world, read, write
from sims.software.world import Part

Key = Annotated[str, Field(min_length=1, description="the setting's key")]
Category = Annotated[str, Field(description="its category")]


class Setting(Part):
    """One setting."""

    value: JsonValue
    category: str = "general"
    timestamp: str = ""


class Settings(DatedState):
    """The settings, by key."""

    settings: dict[str, Setting] = Field(default={})


class Configurations(DatedWorld[Settings]):
    """A store of settings."""

    name = "core:configurations"

    @write(undone_by="delete_config")
    def set_config(
        self,
        key: Key,
        value: Annotated[JsonValue, Field(description="its value")],
        category: Category = "general",
        timestamp: Timestamp = "",
    ) -> None:
        """Set a setting, new or not."""
        self.state.settings[key] = Setting(value=value, category=category, timestamp=self.stamp(timestamp))

    @write()
    def update_config(
        self,
        key: Key,
        new_value: Annotated[JsonValue, Field(description="its new value")],
        category: Annotated[str, Field(description="its category; left out: the same as before")] = "",
        timestamp: Timestamp = "",
    ) -> None:
        """Change a setting that is there."""
        setting = self.found(self.state.settings, key, "setting")
        setting.value, setting.timestamp = new_value, self.stamp(timestamp)
        setting.category = category or setting.category

    @write()
    def delete_config(self, key: Key) -> None:
        """Delete a setting."""
        self.found(self.state.settings, key, "setting")
        del self.state.settings[key]

    @read
    def print_config(self, key: Key) -> JsonValue:
        """Tell value, category and timestamp of a setting; null where there is none."""
        setting = self.state.settings.get(key)
        return None if setting is None else setting.model_dump()


WORLD = core_world(Configurations, Settings)
