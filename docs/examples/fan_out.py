"""Many tasks and a few workers: each task is under a lease while somebody works on it; one that fails goes back and is tried again, a hopeless one is blocked.

Run it as it stands: python docs/examples/fan_out.py.
"""

import asyncio

from redischat import AsyncClient
from redischat.errors.tasks import NothingReady

FILES = [f"src/part_{n}.py" for n in range(6)]
WORKERS = ["ann", "ben", "cleo"]
ATTEMPTS = 3


async def work(path: str, attempt: int) -> str:
    """Stands for your agent: part 3 fails the first time, part 5 always."""
    await asyncio.sleep(0.01)
    if (path == FILES[3] and attempt == 1) or path == FILES[5]:
        raise ValueError(f"{path} does not parse")
    return f"{path}: clean"


async def worker(chat: AsyncClient) -> None:
    """Take one task after the other, until none has come for a second."""
    while True:
        try:
            async with chat.claim_task("parts", ttl=30, wait=1) as task:  # renewed while the block runs
                try:
                    await task.done(await work(task.title, task.attempt))
                except ValueError as error:
                    if task.attempt < ATTEMPTS:
                        raise  # it goes back, with the error as its reason
                    await task.block(str(error))
        except ValueError:
            continue
        except NothingReady:
            return


async def main() -> None:
    """Put the tasks on the board, let the workers have them, and see what came of each."""
    async with AsyncClient(agent="lead") as chat:
        await chat.open("parts")
        try:
            for path in FILES:
                await chat.task_create("parts", path)
            async with asyncio.TaskGroup() as group:
                for name in WORKERS:
                    group.create_task(worker(chat.as_(name)))
            for task in await chat.task_list("parts"):
                print(f"{task.id} {task.status}: {task.result or task.reason}")
        finally:
            await chat.delete("parts", yes=True)


asyncio.run(main())
