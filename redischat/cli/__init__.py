"""The command: parse, one verb, show. One file a noun."""
