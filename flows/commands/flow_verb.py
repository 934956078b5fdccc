"""Verbs that run a flow in this process: they load Prefect beside all else."""

from __future__ import annotations

from ssi_core.command.verb import Verb


class FlowVerb(Verb):
    """A verb that runs a flow."""

    addresses = 2400
