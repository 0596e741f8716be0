"""The embedded broker: find a server binary, start it once whoever comes first, stop it, say how it is."""
