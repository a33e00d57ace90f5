"""What can go wrong with an agent, each as one clear line."""

from __future__ import annotations


class AgentSpecError(ValueError):
    """An agent's specification names nothing that can act: a bad form, or a file that is not right."""


class BackendError(RuntimeError):
    """A model cannot be loaded, reached or run."""
