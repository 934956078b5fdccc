"""From source formats to tables: one file per source."""
