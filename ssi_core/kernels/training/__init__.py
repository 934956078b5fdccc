"""Kernels that take the steps of a training."""
