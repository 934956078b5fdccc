"""Places in the ``totals`` of a sweep."""

TRIPLES, HINGE, VIOLATED, SKIPPED = range(4)
"""Triples drawn, sum of first hinges, those that violate, triples without a d-."""
