"""A firm's legal documents, and a private record of what was decided on them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write

Document = Annotated[str, Field(description="{documents}")]
Issue = Annotated[str, Field(description="what is wrong")]
Statement = Annotated[str, Field(description="the statement")]


class Desk(CoreState):
    """The documents by name, and the record."""

    documents: dict[str, str] = Field(
        default={
            "privacy_policy": "We collect no data without consent. Personal data is deleted on request.",
            "terms_of_service": "Users must be 18 years old. Accounts may be closed for abuse.",
            "gdpr_compliance": "Data is encrypted at rest. A breach is reported within 72 hours.",
        }
    )
    record: list[list[str]] = Field(default=[], description="each decision: its tool and its texts")


class LegalCompliance(CoreWorld[Desk]):
    """A legal desk."""

    name = "core:legal_compliance"

    def state_dict(self) -> dict[str, Any]:
        """The documents; the record is private, which no check of the end state reads."""
        state = super().state_dict()
        return {"documents": state["documents"], "_record": state["record"]}

    def note(self, *texts: str) -> None:
        """Write a decision into the record."""
        self.state.record.append([*texts])

    @read
    def check_compliance(self, doc_name: Document, statement: Statement) -> JsonValue:
        """Tell whether a statement stands in a document."""
        return statement.casefold() in self.state.documents.get(doc_name, "").casefold()

    @read
    def generate_audit_report(self, doc_name: Document) -> JsonValue:
        """Tell the text of a document, null where there is none, and what is on record."""
        record = [" ".join(entry) for entry in self.state.record]
        return {"text": self.state.documents.get(doc_name), "record": [*record]}

    @write()
    def flag_violation(self, issue: Issue) -> None:
        """Flag a violation."""
        self.note("flag_violation", issue)

    @write()
    def approve_policy(self, statement: Statement) -> None:
        """Approve a policy."""
        self.note("approve_policy", statement)

    @write()
    def request_consent(
        self,
        user_id: Annotated[str | int, Field(description="the user's id")],
        reason: Annotated[str, Field(description="what the consent is for")],
    ) -> None:
        """Ask a user for consent."""
        self.note("request_consent", str(user_id), reason)

    @write()
    def enforce_compliance(self, doc_name: Document, issue: Issue) -> None:
        """Enforce a document against an issue."""
        self.found(self.state.documents, doc_name, "document")
        self.note("enforce_compliance", doc_name, issue)


WORLD = core_world(LegalCompliance, Desk)
