"""The Python interface: what `import ssi_core as ssi` offers, a file for each noun.

It adds no computation: each function calls what the command calls, with the same settings, and so
finds what the command has made, and the other way round.
"""
