"""Engines and formats that models are exported to: one file for each."""
