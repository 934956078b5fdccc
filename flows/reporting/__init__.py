"""Comparisons of rows: tables, tests, claims, pictures, result files."""
