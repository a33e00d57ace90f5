"""Serial ports and TCP sockets that stand for them, and their link."""
