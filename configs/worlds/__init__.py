"""The worlds that ship with the kit: for each its default initial state, and what it registers."""
