"""The bench's compiled MuJoCo model: the parts that never change in an episode, and copies of the others.

Compiling a model and letting its objects settle costs milliseconds; copying a settled one into a spare costs
microseconds. So benches are cached by their MJCF text, and unused models and data are kept as spares for the
next copy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mujoco
import numpy as np

from sims.snapshots import Alike

MOST_SPARES = 4
SETTLING_STEPS = 50
CHANGING = (
    "actuator_forcerange",
    "eq_data",
    "geom_condim",
    "geom_contype",
    "geom_conaffinity",
    "geom_solimp",
    "geom_solref",
    "jnt_actfrcrange",
)
"""Arrays of the model that grips, weak fingers and counterfactuals change."""


CONTACTS = ("geom", "efc_address", "dist", "pos", "frame")
"""What is read of contacts."""
SCRATCH = ("efc_", "iefc_", "island_", "map_", "iacc", "ifrc_")
"""Arrays of the solver, parts of which are not set where they are not needed."""


class Engine(Alike):
    """A model with data of its own. A copy continues bit for bit as the original."""

    def __init__(self, model: Any, data: Any, spares: list[tuple[Any, Any]]) -> None:
        self.model, self.data, self._spares = model, data, spares

    def copy(self) -> Engine:
        """Return the same state in a model and data of its own."""
        try:
            model, data = self._spares.pop()
        except IndexError:
            model = self.model.__copy__()
            data = mujoco.MjData(model)
        for name in CHANGING:
            getattr(model, name)[:] = getattr(self.model, name)
        mujoco.mj_copyData(data, model, self.data)
        return Engine(model, data, self._spares)

    def is_as(self, other: Engine) -> bool:
        """Return whether both are in the same state to the last bit; MuJoCo's timers are none."""
        return self._spares is other._spares and all(
            np.array_equal(getattr(one, name), getattr(two, name))
            for one, two, names in (
                (self.data, other.data, _state()),
                (self.data.contact, other.data.contact, CONTACTS),
                (self.model, other.model, CHANGING),
            )
            for name in names
        )

    def __deepcopy__(self, memo: object) -> Engine:
        return self.copy()

    def __del__(self) -> None:
        if len(self._spares) < MOST_SPARES:
            self._spares.append((self.model, self.data))


@cache
def _state() -> tuple[str, ...]:
    """Return the arrays of MuJoCo's data, without what the solver leaves in its work space."""
    data = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    arrays = (name for name in dir(data) if isinstance(getattr(data, name), np.ndarray))
    return ("time", *(name for name in arrays if name == "efc_force" or not name.startswith(SCRATCH)))


class BenchModel:
    """One bench's model and its state at device time 0, with the ids of its parts.

    Args:
        xml: the MJCF text.
        begin: sets positions and commands of fresh data.
        rests: whether all of it rests.
        most: before device time 0 all settles for `SETTLING_STEPS`, again until it rests, at most so often.
    """

    def __init__(
        self, xml: str, begin: Callable[[Any], None], rests: Callable[[Any], bool], most: int
    ) -> None:
        model = mujoco.MjModel.from_xml_string(xml)
        data = mujoco.MjData(model)
        begin(data)
        for _ in range(most):
            mujoco.mj_step(model, data, SETTLING_STEPS)
            if rests(data):
                break
        data.time = 0.0
        self._settled = Engine(model, data, [])
        self.geoms: tuple[str, ...] = tuple(model.geom(g).name for g in range(model.ngeom))
        self.geom = {name: g for g, name in enumerate(self.geoms)}
        self.body: dict[str, int] = {model.body(b).name: b for b in range(model.nbody)}
        self.equality: dict[str, int] = {model.equality(e).name: e for e in range(model.neq)}
        self.qpos: dict[str, int] = {
            model.joint(j).name: int(model.jnt_qposadr[j]) for j in range(model.njnt)
        }
        self.qvel: dict[str, int] = {model.joint(j).name: int(model.jnt_dofadr[j]) for j in range(model.njnt)}
        self.fingertips = int(model.site("fingertips").id)
        self.contype, self.conaffinity = model.geom_contype.copy(), model.geom_conaffinity.copy()
        self.condim = model.geom_condim.copy()
        self.solimp, self.solref = model.geom_solimp[0].copy(), model.geom_solref[0].copy()

    def engine(self) -> Engine:
        """Return a new engine at device time 0."""
        return self._settled.copy()
