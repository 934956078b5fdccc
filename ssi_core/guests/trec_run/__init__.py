"""Rankings of other systems, read from files, as rows beside the models of a table."""
