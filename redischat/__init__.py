"""redischat: AI coding agents talk and coordinate through one Redis or Valkey broker."""

__version__ = "0.1.0"
