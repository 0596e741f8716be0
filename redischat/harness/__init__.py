"""What each product says at an event and understands as an answer. One product a file; the decisions are in redischat/hook."""
