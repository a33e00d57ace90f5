"""The farm rover: drives a field, waters, sprays, harvests."""
