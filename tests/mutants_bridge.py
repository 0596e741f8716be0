"""Breaks of the bridge to Slack, each with the test that must notice it (tests/mutants.py plants them)."""

from __future__ import annotations

IN, OUT = "redischat/bridge/inward.py", "redischat/bridge/outward.py"
TESTS = "tests/test_bridge.py::"
FAKE = "[fake]"

BRIDGE = [
    ("the bridge's own posts come back", IN, " and not bridged and not own", " and not bridged", f"{TESTS}test_bridge_01_its_own_posts_never_come_back_and_another_bots_do_once{FAKE}"),
    ("two bridges play ping-pong", IN, " and not bridged and not own", " and not own", f"{TESTS}test_bridge_01_two_bridges_on_one_slack_channel_do_not_play_ping_pong{FAKE}"),
    ("a bot in Slack wakes agents", IN, 'hung.owner if hung else "") if person else "none"', 'hung.owner if hung else "")', f"{TESTS}test_bridge_01_what_a_bot_writes_wakes_nobody{FAKE}"),
    ("what Slack gives again is said again", IN, "reply_to=answers or None, idem=key)", "reply_to=answers or None)", f"{TESTS}test_bridge_05_what_slack_gives_again_is_said_once_also_over_restarts_and_with_its_memory_lost{FAKE}"),
    ("a message counts as read before Slack has it", OUT, "                        await self.carry(one)\n                        await one.ack()", "                        await one.ack()\n                        await self.carry(one)", f"{TESTS}test_k02_what_slack_refuses_is_told_stays_unread_and_comes_later_in_order{FAKE}"),
    ("a post whose answer was lost is sent again unseen", OUT, "unsure = unsure or trouble.unsure", "unsure = False", f"{TESTS}test_bridge_07_limits_errors_and_cut_connections_lose_nothing_and_double_nothing{FAKE}"),
    ("a bridge does not look what the one before it has posted", OUT, "unsure = one.repeat", "unsure = False", f"{TESTS}test_bridge_07_a_bridge_that_ends_before_the_answer_does_not_post_it_again{FAKE}"),
    ("what is posted of a long message is forgotten", OUT, 'if memory.sending.get("key") != key:', "if True:", f"{TESTS}test_bridge_07_a_bridge_that_ends_in_the_middle_of_a_long_message_goes_on_there[fake-False]"),
    ("text of agents is not escaped", "redischat/bridge/markup.py", '.replace("<", "&lt;")', "", f"{TESTS}test_bridge_03_nothing_in_a_text_acts_and_all_of_it_is_there{FAKE}"),
]  # fmt: skip
