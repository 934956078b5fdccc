"""Texts of two languages on one subject."""
