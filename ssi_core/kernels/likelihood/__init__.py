"""Kernels of topics, translations and clicks, by expectation maximisation."""
