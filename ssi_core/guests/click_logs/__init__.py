"""Logs of clicks: their rows checked, joined and weighed, as pairs of queries and documents."""
