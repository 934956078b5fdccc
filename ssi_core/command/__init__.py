"""The ``ssi`` command: what every verb shares, and the verbs that need no workflow."""
