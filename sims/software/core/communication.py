"""Messages between people."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import DatedState, DatedWorld, Timestamp, core_world, read, write
from sims.software.world import Part

Sender = Annotated[str, Field(description="who sent it")]
Recipient = Annotated[str, Field(description="who receives it")]
Content = Annotated[str, Field(description="its text")]
Priority = Annotated[str, Field(description="low, normal or high")]


class Message(Part):
    """One message."""

    sender: str
    recipient: str
    content: str
    priority: str = "normal"
    timestamp: str


class Messages(DatedState):
    """All messages, in the order in which they were sent."""

    messages: list[Message] = Field(default=[])


class Communication(DatedWorld[Messages]):
    """A message service."""

    name = "core:communication"

    @write()
    def send_message(
        self,
        sender: Sender,
        recipient: Recipient,
        content: Content,
        priority: Priority,
        timestamp: Timestamp = "",
    ) -> None:
        """Send a message."""
        self.add(sender, recipient, content, priority, self.stamp(timestamp))

    @write()
    def schedule_message(
        self,
        sender: Sender,
        recipient: Recipient,
        content: Content,
        send_time: Annotated[str, Field(description="ISO 8601 time when it is sent")],
        priority: Priority = "normal",
    ) -> None:
        """Schedule a message for a later time."""
        self.add(sender, recipient, content, priority, send_time)

    def add(self, sender: str, recipient: str, content: str, priority: str, timestamp: str) -> None:
        """Add a message."""
        self.state.messages.append(
            Message(
                sender=sender, recipient=recipient, content=content, priority=priority, timestamp=timestamp
            )
        )

    @write()
    def delete_message(self, sender: Sender, recipient: Recipient) -> JsonValue:
        """Delete all messages from the sender to the recipient; tell how many."""
        kept = [one for one in self.state.messages if (one.sender, one.recipient) != (sender, recipient)]
        deleted, self.state.messages = len(self.state.messages) - len(kept), kept
        return deleted

    @write()
    def forward_message(
        self,
        original_sender: Sender,
        new_recipient: Recipient,
        timestamp: Annotated[str, Field(description="the timestamp of the message")],
        forwarded_by: Annotated[str, Field(description="who forwards it")],
    ) -> None:
        """Send a copy of the message of that sender and time to somebody else."""
        of_then = [
            one for one in self.state.messages if (one.sender, one.timestamp) == (original_sender, timestamp)
        ]
        self.check(
            bool(of_then), "not_found", f"There is no message of {original_sender!r} at {timestamp!r}."
        )
        self.state.messages += [
            one.model_copy(update={"sender": forwarded_by, "recipient": new_recipient}) for one in of_then[:1]
        ]

    @read
    def print_messages(self, recipient: Recipient, priority: Priority) -> JsonValue:
        """Tell the messages to a recipient that have a priority."""
        found = [one for one in self.state.messages if (one.recipient, one.priority) == (recipient, priority)]
        return [one.model_dump() for one in found]


WORLD = core_world(Communication, Messages)
