"""Compilation of kernels, and the machine code that is kept on disk."""
