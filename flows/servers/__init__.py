"""Servers of Prefect and MLflow, their databases, and the worker that runs what is deployed."""
