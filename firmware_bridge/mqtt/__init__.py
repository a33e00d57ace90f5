"""MQTT: addresses, permissions, leases, the connection and the link."""
