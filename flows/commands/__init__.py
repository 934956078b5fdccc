"""The verbs of the ``ssi`` command, one file per stage of the work."""
