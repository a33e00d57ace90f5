"""The prior of a twin over the faults of its rig: how likely each kind is in an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from configs.errors import ConfigError, at
from devices.faults import COMMON_FAULTS, LINK_FAULTS, OUT_OF_ORDER, RESET, FaultKind
from devices.models import FrozenModel

LOGGED_KINDS = frozenset({*LINK_FAULTS, OUT_OF_ORDER, RESET})
"""Kinds that the log itself shows: lost and rejected calls."""
MOST = 0.5


class FaultPrior(FrozenModel):
    """How likely a kind of fault is in an episode, and how strong it then is."""

    probability: float = Field(gt=0.0, lt=MOST, description="that an episode has it")
    strength: tuple[Annotated[float, Field(ge=0.0)], Annotated[float, Field(ge=0.0)]] = Field(
        default=(1.0, 1.0), description="least and greatest, uniformly distributed"
    )

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.strength[0] > self.strength[1]:
            raise ValueError("strength is the least, then the greatest")
        return self


FaultPriors = Mapping[str, FaultPrior]
"""By kind."""


def check_priors(priors: FaultPriors, own: Sequence[FaultKind]) -> None:
    """Check the priors of a world.

    Args:
        priors: by kind.
        own: the kinds of the world, beside those of every rig.

    Raises:
        ConfigError: one is wrong; at the key `fault_priors`.
    """
    kinds = [kind.name for kind in (*COMMON_FAULTS, *own) if kind.name not in LOGGED_KINDS]
    total = sum(prior.probability for prior in priors.values())
    with at("fault_priors"):
        for kind in priors:
            if kind in LOGGED_KINDS:
                raise ConfigError(f"{kind} needs no prior: the log shows it")
            if kind not in kinds:
                raise ConfigError(f"there is no fault {kind!r}; there are {', '.join(kinds)}")
        if total >= MOST:
            raise ConfigError(f"the probabilities add up to {total:g}, and must to less than {MOST:g}")
