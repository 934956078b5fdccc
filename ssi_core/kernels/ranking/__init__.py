"""Kernels that score and rank documents, and measure rankings."""
