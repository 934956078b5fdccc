"""Rows of a table: their cost, their training on workers, and what a retraining checks first."""
