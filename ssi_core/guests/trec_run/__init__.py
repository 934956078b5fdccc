"""Rankings of other systems as rows beside the models of a table, and texts for them to rank."""
