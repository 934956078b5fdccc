"""The reader of tables: separators, encodings, packings, roles of columns."""
