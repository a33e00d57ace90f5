"""Tables of scores for people and for programs."""
