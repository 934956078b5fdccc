"""Measures, their standard errors, and paired tests."""
