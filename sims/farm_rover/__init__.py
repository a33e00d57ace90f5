"""The farm rover's simulator."""
