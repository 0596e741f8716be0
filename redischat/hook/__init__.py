"""What an agent session is told, refused and woken for, at the events of its harness; no product in it."""
