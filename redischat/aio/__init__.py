"""The verbs on redis-py. aio/ is written, sync/ is made from it by tests/unasync.py."""
