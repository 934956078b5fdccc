"""Queries with judgements, in the formats in which they come."""
