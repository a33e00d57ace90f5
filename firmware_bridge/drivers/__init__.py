"""The engine of driver files: a device that speaks a raw serial line or raw MQTT topics."""
