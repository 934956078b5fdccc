"""A ranking by the sum of the reciprocal ranks of several models, which no index has."""
