"""Stand-ins for other people's hardware, as faithful as their public protocols allow."""
