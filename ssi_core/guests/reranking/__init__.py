"""Learning to rank: features of (query, document) pairs, rankers of them, LETOR's measures."""
