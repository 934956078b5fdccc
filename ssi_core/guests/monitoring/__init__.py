"""Monitoring: drift of data and clicks, co-occurrence, the test of a promotion."""
