"""Serial ports and TCP sockets that stand for them, the link, and the stop keeper."""
