"""The verbs as tools of an MCP server: the way to talk for a harness whose shell may open no socket, and for clients that have no shell."""
