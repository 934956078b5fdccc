"""Choice among candidates by validation: grids, stars of settings, rounds of trials, halves."""
