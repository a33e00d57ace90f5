"""A calculator that keeps what it computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, JsonValue

from sims.software.core.base import CoreState, CoreWorld, core_world, write
from sims.software.world import Part

A = Annotated[float, Field(description="the first number")]
B = Annotated[float, Field(description="the second number")]
Numbers = Annotated[list[float], Field(description="the numbers")]


class Computation(Part):
    """One computation; its result is null where there is none."""

    operation: str
    numbers: list[float]
    result: float | None


class Computed(CoreState):
    """What was computed, in order."""

    computed: list[Computation] = Field(default=[])


class Computations(CoreWorld[Computed]):
    """A calculator."""

    name = "core:computations"

    def compute(self, operation: str, numbers: list[float], formula: Callable[..., float]) -> JsonValue:
        """Compute and keep it; the result is null where there is no such number."""
        try:
            value = formula(*numbers)
            result = float(value) if abs(value) < float("inf") and not isinstance(value, complex) else None
        except ArithmeticError:
            result = None
        self.state.computed.append(Computation(operation=operation, numbers=numbers, result=result))
        return result

    @write()
    def add_numbers(self, a: A, b: B) -> JsonValue:
        """Add two numbers."""
        return self.compute("add", [a, b], lambda a, b: a + b)

    @write()
    def subtract_numbers(self, a: A, b: B) -> JsonValue:
        """Subtract the second number from the first."""
        return self.compute("subtract", [a, b], lambda a, b: a - b)

    @write()
    def multiply_numbers(self, a: A, b: B) -> JsonValue:
        """Multiply two numbers."""
        return self.compute("multiply", [a, b], lambda a, b: a * b)

    @write()
    def divide_numbers(self, a: A, b: B) -> JsonValue:
        """Divide the first number by the second; null where that is 0."""
        return self.compute("divide", [a, b], lambda a, b: a / b)

    @write()
    def power(
        self,
        base: Annotated[float, Field(description="the number that is raised")],
        exponent: Annotated[float, Field(description="the power to which it is raised")],
    ) -> JsonValue:
        """Raise a number to a power."""
        return self.compute("power", [base, exponent], lambda a, b: a**b)

    @write()
    def calculate_average(self, numbers: Numbers) -> JsonValue:
        """Calculate the mean of numbers; 0 of none."""
        return self.compute("average", numbers, lambda *all: sum(all) / len(all) if all else 0.0)


WORLD = core_world(Computations, Computed)
