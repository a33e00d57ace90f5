"""Who acts: scaffolds over backends, and the model that ships with the kit."""

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
