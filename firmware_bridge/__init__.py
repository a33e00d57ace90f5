"""The wire: messages, codecs, links, the host's client and the device's endpoint."""
