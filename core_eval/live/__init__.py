"""The live page: a run as it happens in a browser, with a person's answers and a stop."""
