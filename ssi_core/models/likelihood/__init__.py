"""Models of the likelihood of a query, given a document."""
