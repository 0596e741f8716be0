"""Two agents and one file: the author writes under a lock and asks for a review, the reviewer answers what is addressed to it.

Run it as it stands: python docs/examples/review_pair.py. In your program each of the two is a model with tools; here they say what they were told to.
"""

import asyncio

from redischat import AsyncClient

REPO = "example.org/team/parser"  # leave it out where your program runs inside the repository


async def author(chat: AsyncClient) -> None:
    """Change the parser, and go on only when somebody has looked at it."""
    room = chat.channel("review")
    async with chat.lock("review", "src/parser.py", ttl=60, reason="NaN", repo=REPO) as lock:
        print(f"author holds {lock.paths[0].path} under token {lock.token}")
        verdict = await room.ask("reviewer", "NaN is refused now, in src/parser.py. May I merge?", timeout=60)
        print(f"reviewer says: {verdict.body}")
    await room.post("Merged.", to="none")


async def reviewer(chat: AsyncClient) -> None:
    """Answer what is addressed to the reviewer, until the channel is closed."""
    room = chat.channel("review")
    async for message in room.listen(as_="reviewer"):
        if message.for_me and message.reply_to is None and message.kind == "message":
            await room.as_("reviewer").post("Yes: the tests cover it.", reply_to=message.seq, to=[message.sender])


async def main() -> None:
    """Seat both in one program, on one pool of connections."""
    async with AsyncClient(agent="author") as chat:
        await chat.open("review", members=["reviewer"])
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(reviewer(chat))
                await author(chat)
                await chat.close("review", "merged")  # ends the reviewer's listening
        finally:
            await chat.delete("review", yes=True)


asyncio.run(main())
