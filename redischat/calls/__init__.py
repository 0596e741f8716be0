"""One file a noun: pure functions that build a Call and read its reply."""
