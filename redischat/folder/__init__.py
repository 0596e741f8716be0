"""agent-chat's folder of a channel: one markdown file a message, so that a transcript can be read, kept in git and handed to agent-chat as it is.

::

    dock/_meta.json                {"channel", "members": [], "topic", "created"}, then what agent-chat has no word for: "broadcast", "briefing"
    dock/0017-amy-the-pier.md      message 17: front matter between two lines of ---, then the body
    dock/_audit.jsonl              audits, one record a line; agent-chat does not look at it
    dock/_events.jsonl             events, the same way
    dock/tasks/T-1.json ...        the board: see board.py

Front matter: ``seq from to reply_to? channel ts status title`` as agent-chat writes them, then keys that it passes over: ``ts_utc`` (to the millisecond),
``kind``, ``wakes`` (all, none or named), ``thread``, and ``exact``: one JSON object with whatever those lines cannot hold as it was: a title or status that
nobody gave, names and titles with line breaks or blanks at their ends, and ``ending``, the blanks that the body ended in (agent-chat cuts them off).
Bodies are written right-stripped plus a newline, as agent-chat does, so an editor or git that trims blanks changes nothing.
"""
