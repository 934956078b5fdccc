"""Models that learn nothing from pairs, or only a few numbers."""
