"""Kernels of these models."""
