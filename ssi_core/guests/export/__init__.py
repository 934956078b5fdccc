"""Export: a model's ranking in other engines, and the encoder of its queries."""
