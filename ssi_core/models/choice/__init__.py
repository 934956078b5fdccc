"""Models that validation chooses among others."""
