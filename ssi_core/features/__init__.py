"""From tables to sparse matrices on disk."""
