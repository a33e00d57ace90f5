"""A calendar: events and their times."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue

from devices.outcome import Refusal
from sims.software.core.base import DatedState, DatedWorld, core_world, read, write


def iso_8601(time: str) -> str:
    """The time, where it is one; raises ValueError."""
    datetime.fromisoformat(time)
    return time


Name = Annotated[str, Field(min_length=1, description="the event's name")]
Time = Annotated[str, Field(description="ISO 8601 time, such as 2025-01-02T10:00:00")]


class Calendar(DatedState):
    """The ISO 8601 time of each event, by name."""

    events: dict[str, Annotated[str, AfterValidator(iso_8601)]] = Field(default={})


class EventsScheduler(DatedWorld[Calendar]):
    """A calendar."""

    name = "core:events_scheduler"

    def put(self, event_name: str, event_time: str) -> JsonValue:
        """Give an event its time."""
        try:
            self.state.events[event_name] = iso_8601(event_time)
        except ValueError:
            raise Refusal("bad_time", f"{event_time!r} is no ISO 8601 time.") from None
        return event_time

    @write(undone_by="cancel_event")
    def schedule_event(self, event_name: Name, event_time: Time) -> JsonValue:
        """Schedule an event."""
        return self.put(event_name, event_time)

    @write(undone_by="cancel_event")
    def schedule_recurring_event(
        self,
        event_name: Name,
        interval_minutes: Annotated[
            float, Field(gt=0.0, le=5e8, description="from one time to the next, min")
        ],
    ) -> JsonValue:
        """Schedule an event that recurs, first after one interval; tell that time."""
        return self.put(event_name, (self.date() + timedelta(minutes=interval_minutes)).isoformat())

    @write()
    def cancel_event(self, event_name: Name) -> None:
        """Cancel an event."""
        self.found(self.state.events, event_name, "event")
        del self.state.events[event_name]

    @write()
    def reschedule_event(self, event_name: Name, new_time: Time) -> JsonValue:
        """Give an event another time."""
        self.found(self.state.events, event_name, "event")
        return self.put(event_name, new_time)

    @read
    def list_events(self) -> JsonValue:
        """Tell all events with their times."""
        return {**self.state.events}

    @read
    def get_event_time(self, event_name: Name) -> JsonValue:
        """Tell the time of an event; null where there is none."""
        return self.state.events.get(event_name)

    @read
    def time_until_event(self, event_name: Name) -> JsonValue:
        """Tell the minutes from now to an event; null where there is none."""
        if event_name not in self.state.events:
            return None
        time, now = datetime.fromisoformat(self.state.events[event_name]), self.date()
        # A calendar without a time zone has that of whoever writes into it.
        return (time.replace(tzinfo=None) - now.replace(tzinfo=None)) / timedelta(minutes=1)


WORLD = core_world(EventsScheduler, Calendar)
