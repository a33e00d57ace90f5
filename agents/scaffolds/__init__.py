"""Scaffolds: turn a model into an agent, by a prompt and the execution of its calls."""
