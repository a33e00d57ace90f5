"""Accounts of a bank."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, read, write
from sims.software.world import Part

AccountId = Annotated[str, Field(min_length=1, description="the account's id")]
Amount = Annotated[float, Field(description="the amount")]


class Entry(Part):
    """One change of a balance."""

    kind: str
    amount: float


class Account(Part):
    """One account."""

    balance: float = 0.0
    history: list[Entry] = Field(default=[])


class Bank(CoreState):
    """The accounts, by id."""

    accounts: dict[str, Account] = Field(default={})


class Transactions(CoreWorld[Bank]):
    """A bank."""

    name = "core:transactions"

    def book(self, account_id: str, kind: str, amount: float, *, covered: bool = False) -> JsonValue:
        """Add an amount to a balance, which must cover it where that is asked for; tell the balance."""
        account = self.found(self.state.accounts, account_id, "account")
        balance = account.balance + amount
        self.check(balance >= 0.0 or not covered, "no_cover", f"{account_id} has only {account.balance:g}.")
        self.check(isfinite(balance), "too_large", "There is not so much money.")
        account.balance = balance
        account.history.append(Entry(kind=kind, amount=amount))
        return balance

    @write(undone_by="close_account")
    def create_account(self, account_id: AccountId) -> None:
        """Create an account with a balance of 0."""
        free = account_id not in self.state.accounts
        self.check(free, "exists", f"There is an account {account_id!r} already.")
        self.state.accounts[account_id] = Account()

    @write()
    def close_account(self, account_id: AccountId) -> None:
        """Close an account."""
        self.found(self.state.accounts, account_id, "account")
        del self.state.accounts[account_id]

    @write(undone_by="withdraw")
    def deposit(self, account_id: AccountId, amount: Amount) -> JsonValue:
        """Pay money in; tell the balance."""
        return self.book(account_id, "deposit", amount)

    @write(undone_by="deposit")
    def withdraw(self, account_id: AccountId, amount: Amount) -> JsonValue:
        """Take money out, if there is enough; tell the balance."""
        return self.book(account_id, "withdraw", -amount, covered=True)

    @write()
    def transfer(
        self,
        sender_id: Annotated[str, Field(description="the account that pays")],
        receiver_id: Annotated[str, Field(description="the account that gets it")],
        amount: Amount,
    ) -> JsonValue:
        """Move money between two accounts, if there is enough; tell the sender's balance."""
        self.found(self.state.accounts, receiver_id, "account")
        told = self.book(sender_id, "transfer", -amount, covered=True)
        self.book(receiver_id, "transfer", amount)
        return told

    @write()
    def apply_interest(
        self,
        account_id: AccountId,
        rate: Annotated[float, Field(description="the rate as a fraction: 0.05 is 5 per cent")],
    ) -> JsonValue:
        """Add interest; tell the balance."""
        account = self.found(self.state.accounts, account_id, "account")
        return self.book(account_id, "interest", account.balance * rate)

    @write(undone_by="refund")
    def charge_fee(self, account_id: AccountId, amount: Amount) -> JsonValue:
        """Charge a fee; tell the balance."""
        return self.book(account_id, "fee", -amount)

    @write()
    def refund(self, account_id: AccountId, amount: Amount) -> JsonValue:
        """Pay money back to an account; tell the balance."""
        return self.book(account_id, "refund", amount)

    @read
    def check_balance(self, account_id: AccountId) -> JsonValue:
        """Tell the balance of an account; 0 where there is none."""
        return self.state.accounts.get(account_id, Account()).balance

    @read
    def get_transaction_history(self, account_id: AccountId) -> JsonValue:
        """Tell what changed the balance of an account, in order."""
        account = self.state.accounts.get(account_id, Account())
        return [entry.model_dump() for entry in account.history]


WORLD = core_world(Transactions, Bank)
