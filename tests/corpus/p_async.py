# Generators and coroutines that give way between two operations.
import asyncio

import torch
import torch.nn.functional as F


def decode(x):
    cache = []
    while True:
        cache.append(x)
        keys = torch.stack(cache)
        x = F.softmax(keys @ x / 2, dim=0) @ keys
        got = yield x
        if got is not None:
            x = x + got


async def attend(name, q):
    scores = q @ q.transpose(-2, -1)
    await asyncio.sleep(0)
    print(name, "scores", scores.sum().item())
    weights = F.softmax(scores, dim=-1)
    await asyncio.sleep(0)
    return weights @ q


async def main():
    torch.manual_seed(1)
    a, b = await asyncio.gather(attend("a", torch.randn(2, 3)), attend("b", torch.randn(3, 2)))
    print(a, b)
    results = await asyncio.gather(attend("c", torch.randn(1, 2, 3)), asyncio.to_thread(torch.ones, 2))
    print(results)
    task = asyncio.create_task(attend("d", torch.randn(2, 2, 2, 2)))
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled")

    async def stream():
        for step in range(2):
            yield torch.full((2,), step)

    print([item async for item in stream()])


torch.manual_seed(0)
steps = decode(torch.randn(4))
print(next(steps), next(steps))
print(steps.send(torch.ones(4)))
steps.close()
print(list(F.relu(torch.randn(2)).sum().item() for _ in range(3)))
asyncio.run(main())
