"""The wire: messages, codecs, links, the host's client and the device's endpoint."""

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
