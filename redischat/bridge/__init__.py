"""Bridges: a channel carried to a service where people are, and back. slack.py is the only file that knows Slack's library."""
