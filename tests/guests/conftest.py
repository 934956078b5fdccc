"""Verbs of guests are typed as those of the core are."""

from tests.flows.conftest import (  # noqa: F401
    _pictures_are_blank,
    _trials_here,
    own_root,
    project,
    ssi,
)
