"""The resident process of a user on a host: it rings idle sessions, and says of all of them that they are there. Its failure delays, it loses nothing."""
