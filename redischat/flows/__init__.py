"""Verbs of several steps, as generators: they yield Calls, lists of Calls (one round trip), Listens, Shows and Everywheres, and know no carrier."""
