"""Worlds of software: a bank, a file system and the like, at the other end of the same wire as the rigs."""
