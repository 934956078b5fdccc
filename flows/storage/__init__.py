"""Backups of a root, what moves when it lies elsewhere, and what its store still needs."""
