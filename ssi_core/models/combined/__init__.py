"""Models that consist of other models."""
