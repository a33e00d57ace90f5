"""The link between host and simulator in one process."""
