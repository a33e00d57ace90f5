"""Drivers as data: how the tools of a device type become commands of other makes of hardware."""
