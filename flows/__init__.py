"""Workflows of ssi: the only package that knows Prefect and MLflow."""

from flows.isolation import install

install()
