"""Workflows of ssi: the only package that knows Prefect and MLflow."""

from flows.servers.isolation import install

install()
