"""Breaks of the MCP server, each with the test that must notice it (tests/mutants.py plants them)."""

from __future__ import annotations

DELIVERY, SERVER = "redischat/mcp_server/delivery.py", "redischat/mcp_server/server.py"
TESTS = "tests/test_mcp_delivery.py::"

TOOLS = [
    (
        "a tool's answer is acked before it has left", DELIVERY, "            await self._stream.send(item)\n            came =", "            await held.left()\n            await self._stream.send(item)\n            came =",
        TESTS + "test_what_a_silent_client_did_not_take_comes_again_marked",
    ),
    (
        "a tool's answer is acked although the client did not take it", DELIVERY, "await finished(held.left() if came else held.lost())", "await finished(held.left())",
        TESTS + "test_what_a_client_leaves_in_the_pipe_comes_again_marked",
    ),
    (
        "what had no room in an answer is acked", DELIVERY, "self._errand.go(self._shown)", "self._errand.go(1 << 20)",
        TESTS + "test_mcp_04_a_reply_stays_below_the_limit_says_what_is_left_and_marks_only_what_it_holds",
    ),
    ("a wait is as long as it is asked for", "redischat/mcp_server/reading.py", "seconds = min(max(0.0, timeout), place.longest)", "seconds = max(0.0, timeout)", TESTS + "test_mcp_03_one_wait_is_shorter_than_the_patience_of_clients"),
    (
        "a refusal looks like success", "redischat/mcp_server/answers.py", "        is_error=True,\n", "        is_error=False,\n",
        "tests/test_mcp.py::test_a_refusal_is_an_error_with_its_code_and_a_remedy_never_text",
    ),
    (
        "any token opens the door", "redischat/mcp_server/http.py", "return not self.token or (len(given) == 1 and", "return not self.token or (len(given) == 1 or",
        "tests/test_mcp_http.py::test_with_a_token_only_who_brings_it_comes_in",
    ),
    (
        "settings are read once", "redischat/mcp_server/seat.py", "        return AsyncClient(settings=self.settings())", '        self.kept = getattr(self, "kept", None) or self.settings()\n        return AsyncClient(settings=self.kept)',
        "tests/test_mcp_stdio.py::test_ident_03_a_name_that_changes_while_it_runs_is_followed_at_once",
    ),
]  # fmt: skip
