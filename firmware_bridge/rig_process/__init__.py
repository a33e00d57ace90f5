"""The process that owns a rig's port and driver, and stops the rig when its host cannot."""
