"""Kernels of this guest, as `ssi_core.kernels` has those of the core."""
