"""User Behavior Insights: queries and events of a search engine, as OpenSearch keeps them."""
