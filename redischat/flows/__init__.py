"""Verbs of several steps, as generators: they yield Calls, lists of Calls (one round trip), Listens and Shows, and know no carrier."""
