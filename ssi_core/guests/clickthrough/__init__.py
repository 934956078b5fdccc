"""Models of Gao, Toutanova and Yih (2011), learnt from queries and the titles that were clicked.

They are there to be compared with. Nothing in the core needs one.
"""
