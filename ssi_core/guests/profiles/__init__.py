"""Profiles of users and of clusters: the tokens that tell most about them, over a log of clicks."""
