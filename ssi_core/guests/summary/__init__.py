"""Query-oriented summaries: sentences of texts that answer a query, with concepts of a wiki."""
