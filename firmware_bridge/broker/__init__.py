"""A Mosquitto broker for rigs: its process, files, accounts and certificates."""
