"""A watchdog: when a worker dies its lease runs out, and nobody else may take its work in silence; this recovers it and puts it back for the next one.

Run it as it stands: python docs/examples/watchdog.py. In your program the watchdog runs by itself, and keeps the position that it has seen.
"""

import asyncio

from redischat import AsyncClient

TASK = "Fix the parser"


async def watchdog(chat: AsyncClient) -> None:
    """Put each task back whose holder is gone, and say so to the others."""
    async for happening in chat.events("board"):
        if happening.kind != "lease.lapsed" or happening.subject is None:
            continue
        lease = await chat.task_recover("board", happening.subject, f"{happening.agent} is gone")
        await chat.task_release("board", lease.id, token=lease.token, reason=f"{happening.agent} began it")
        print(f"watchdog: {happening.text}; {lease.id} can be taken again")
        return  # a real one goes on


async def dies(chat: AsyncClient) -> None:
    """Takes a task, and is never heard of again: no block, so nothing renews the lease."""
    lease = await chat.task_next("board", claim=True, ttl=0.5)
    print(f"{chat.agent} works on {lease.id}")


async def lives(chat: AsyncClient) -> None:
    """Waits for a task and does it."""
    async with chat.claim_task("board", wait=30) as task:
        print(f"{chat.agent} works on {task.id} again")


async def main() -> None:
    """One worker dies, and its task is done all the same."""
    async with AsyncClient(agent="watchdog") as chat:
        await chat.open("board")
        try:
            await chat.task_create("board", TASK)
            watching = asyncio.create_task(watchdog(chat))
            await dies(chat.as_("ann"))
            await watching
            await lives(chat.as_("ben"))
            print((await chat.task_list("board"))[0].finished_by, "finished it")
        finally:
            await chat.delete("board", yes=True)


asyncio.run(main())
