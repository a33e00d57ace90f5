"""The bench's compiled MuJoCo model: the parts that never change in an episode, and copies of the others.

Compiling a model and letting its objects settle costs milliseconds; copying a settled one into a spare costs
microseconds. So benches are cached by their MJCF text, and unused models and data are kept as spares for the
next copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco

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


class Engine:
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

    def __deepcopy__(self, memo: object) -> Engine:
        return self.copy()

    def __del__(self) -> None:
        if len(self._spares) < MOST_SPARES:
            self._spares.append((self.model, self.data))


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
