"""A kind of world, as plug-ins provide it: all facts that the generic rooms need, in one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from devices.accepted import EXACTLY, Accepts
from devices.device_type import DeviceType
from devices.faults import FaultKind
from devices.harm import LEAVE_OUT, HarmRule
from devices.known_state import KnownState
from devices.registry import Registry
from sims.intervention import Interventions
from sims.overrides import WorldError

if TYPE_CHECKING:
    from sims.simulator import Simulator


@dataclass(frozen=True)
class WorldType:
    """A kind of world. A package registers it under the entry-point group `pathrig.worlds`, by its name.

    Attributes:
        name: as in `pathrig sim NAME` and a task's `world`.
        device: the device type that acts in it.
        state: the model of its initial state. A part `faults` (`devices.faults.Faults`) and a part `hidden`
            (fields made by `devices.hidden.hidden`) are optional.
        defaults: the YAML file with the initial state that `state` reads.
        simulator: makes the simulator of a state with a seed; imports its dependencies when called.
        harm_rules: the predicates over the true state that raise harm events.
        interventions: the remedies of the rules, by name.
        known_state: makes the host's knowledge of the rig, from an initial state (None if not known) and
            whether the rig was just put into it; None where the host knows no interlocks.
        faults: kinds of faults of its rigs, beside those of every rig.
        aliases: other names of it.
        place_keys: keys of the initial state that hold places by name, for `at: NAME` in a plan.
        ways: how many other ways of a task `tasks verify` tries in it, by what a run of its simulator costs;
            0: none, for a world with physics whose tasks were not written for it.
        accepts: what its rig accepts of a call and a goal allows: the tolerances of a plan that states none.
        tasks: the folder of its task files.
        probing: a script of calls (JSON lines) that identifies hidden parameters, for calibration.
        version: of the world, which logs keep; raised when its state loses a key or gains one without a
            default, or when the replay of an episode gives other answers.
        removed: dotted keys that the state had in earlier versions.
        picture: draws a simulator's present state as a PNG file of a size, (width, height) in pixels; imports
            its dependencies when called, and raises `sims.png.PictureError` where it cannot.
    """

    name: str
    device: DeviceType
    state: type[BaseModel]
    defaults: Path
    simulator: Callable[[Any, int], Simulator[Any]]
    harm_rules: tuple[HarmRule, ...] = ()
    interventions: Interventions = field(default_factory=dict, hash=False)
    known_state: Callable[[Any, bool], KnownState] | None = None
    faults: tuple[FaultKind, ...] = ()
    aliases: tuple[str, ...] = ()
    place_keys: tuple[str, ...] = ()
    ways: int = 0
    accepts: Accepts = EXACTLY
    tasks: Path | None = None
    probing: Path | None = None
    version: int = 1
    removed: tuple[str, ...] = ()
    picture: Callable[[Any, tuple[int, int]], bytes] | None = None

    def __post_init__(self) -> None:
        """Check that every rule's remedy exists.

        Raises:
            ValueError: a rule names none of the world's interventions.
        """
        for rule in self.harm_rules:
            if rule.remedy != LEAVE_OUT and rule.remedy not in self.interventions:
                known = ", ".join([*self.interventions, LEAVE_OUT])
                raise ValueError(
                    f"world {self.name}: harm rule {rule.kind} has the remedy {rule.remedy!r}, which "
                    f"is none of its interventions ({known}): add it to `interventions`"
                )


def made_by(simulator: str, needs: str = "") -> Callable[[Any, int], Simulator[Any]]:
    """Return what makes a simulator, which is imported when one is made: a physics engine takes long to load.

    Args:
        simulator: its class, as `module:name`.
        needs: the world, and the extra that has its libraries: `"the bench: arm"`.

    Raises:
        WorldError: when it is called, one of them is not installed.
    """

    def make(state: Any, seed: int) -> Simulator[Any]:
        try:
            return cast("Simulator[Any]", resolve_name(simulator)(state, seed))
        except ModuleNotFoundError as error:
            if not needs:
                raise
            what, _, extra = needs.partition(": ")
            raise WorldError(f"{what} needs {error.name}: pip install 'pathrig[{extra}]'") from None

    return make


WORLD_TYPES: Registry[WorldType] = Registry("pathrig.worlds", WorldType)
"""Every world that an installed package registers, by name."""


def world_of_device(device: str) -> WorldType | None:
    """Return the first world of that device type; None where no package registers one."""
    named = WORLD_TYPES.get(device)
    if named is not None and named.device.name == device:
        return named
    return next((world for world in WORLD_TYPES.values() if world.device.name == device), None)


def rule_of(device: str, kind: str) -> HarmRule | None:
    """Return the harm rule of that name in the world of a device type; None where there is none."""
    world = world_of_device(device)
    return None if world is None else next((rule for rule in world.harm_rules if rule.kind == kind), None)


def unit_of(device: str, kind: str) -> str:
    """Return the unit of a harm rule's severity; empty where it has none."""
    rule = rule_of(device, kind)
    return "" if rule is None else rule.unit
