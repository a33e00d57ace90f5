"""A run: plan, start, episode and its environment."""
