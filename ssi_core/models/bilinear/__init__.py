"""Models of the form ``sum_i diag_i q_i d_i + phi(q)' W phi(d)``, learnt by triples."""
