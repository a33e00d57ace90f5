"""A bench: models on one exam, the bundle of its results, and what a model takes."""
