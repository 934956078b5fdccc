"""Estimates from a click log of how often the order of another model would be clicked."""
