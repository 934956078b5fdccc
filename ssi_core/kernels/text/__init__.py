"""Kernels that read texts and weigh words."""
