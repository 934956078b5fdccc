"""Scores of queries with documents: a class for each formula, and documents made ready for them."""
