"""Servers of a run under load: .venv-clients/bin/python tests/clients/load.py RUN [throughput overload ended fuzzed].

Clients and server share the machine. The texts are lines of the run's own test split.
"""

import asyncio
import contextlib
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
from conftest import BIN

SECONDS, CLIENTS, FUZZED = 20.0, 50, 10_000
chance = random.Random(1)
Outcome = tuple[int, int | str, float]  # lines, status or what failed, seconds


@contextlib.asynccontextmanager
async def serving(run: Path, *words: str) -> AsyncIterator[tuple[str, subprocess.Popen[str]]]:
    """The address and the process of a server, which ends with the block."""
    command = [BIN / "mt-serve", f"run_dir={run}", "port=0", "device=cpu", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while not (found := re.search(r"serving on (\S+)", process.stderr.readline())):
        assert process.poll() is None, process.stderr.read()
    drained = asyncio.create_task(asyncio.to_thread(process.communicate))
    yield found[1], process
    process.terminate()
    await drained


async def ask(client: httpx.AsyncClient, lines: list[str]) -> Outcome:
    """Have a line translated mostly, at times three, seldom a document of twenty."""
    count, start = chance.choices([1, 3, 20], [70, 25, 5])[0], time.monotonic()
    try:
        body = {"q": " ".join(chance.choices(lines, k=count)), "source": "en", "target": "de"}
        status = (await client.post("/translate", json=body)).status_code
    except httpx.TransportError as error:
        status = type(error).__name__
    return count, status, time.monotonic() - start


async def repeated(address: str, lines: list[str], clients: int, seconds: float) -> list[Outcome]:
    """The outcomes of clients that ask again as soon as they are answered."""
    found, end = [], time.monotonic() + seconds

    async def one(client: httpx.AsyncClient) -> None:
        while time.monotonic() < end:
            found.append(await ask(client, lines))

    async with httpx.AsyncClient(base_url=address, timeout=90, limits=httpx.Limits()) as client:
        await asyncio.gather(*(one(client) for _ in range(clients)))
    return found


def statuses(found: list[Outcome]) -> dict[int | str, int]:
    return dict(Counter(status for _, status, _ in found))


def processor_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(process: subprocess.Popen[str]) -> int:
    return (
        int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))[0]) // 1000
    )


async def throughput(run: Path, lines: list[str]) -> None:
    """Many clients against one."""
    async with serving(run) as (address, process):
        await repeated(address, lines, CLIENTS, 3)
        for count in (1, CLIENTS):
            before, start = processor_seconds(process), time.monotonic()
            found = await repeated(address, lines, count, SECONDS)
            busy, rate = processor_seconds(process) - before, len(found) / (time.monotonic() - start)
            short = statistics.quantiles([1000 * seconds for size, _, seconds in found if size == 1], n=20)
            figures = f"{rate:.1f} requests/s, {1000 * busy / len(found):.0f} ms of the server's processor for each"
            print(f"clients {count}: {figures}, a line p50 {short[9]:.0f}, p95 {short[18]:.0f} ms, {statuses(found)}")


async def overload(run: Path, lines: list[str]) -> None:
    """Ten times as many clients and a queue for fewer; then one request."""
    async with serving(run, "queue_tokens=1000") as (address, process):
        memory = [megabytes(process)]
        found = await repeated(address, lines, 10 * CLIENTS, SECONDS)
        memory, end, status = [*memory, megabytes(process)], time.monotonic(), None
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            while status != 200:
                _, status, _ = await ask(client, lines)
        recovery = time.monotonic() - end
    print(f"overload: {statuses(found)}, memory before and after {memory} MB, answered again after {recovery:.2f} s")


async def ended(run: Path, lines: list[str]) -> None:
    """SIGTERM while clients wait for what they asked: all must be answered."""
    async with serving(run) as (address, process):
        clients = [httpx.AsyncClient(base_url=address, timeout=90) for _ in range(4 * CLIENTS)]
        tasks = [asyncio.create_task(ask(client, lines)) for client in clients]
        async with httpx.AsyncClient(base_url=address, timeout=90) as client:
            while " 0.0" in (await client.get("/metrics")).text.split("mt_queue_tokens", 3)[3][:5]:
                await asyncio.sleep(0.01)
        unanswered = sum(not task.done() for task in tasks)
        process.terminate()
        found = await asyncio.gather(*tasks)
    print(f"SIGTERM while {unanswered} of {len(tasks)} requests were open: {statuses(found)}")


async def fuzzed(run: Path, _: list[str]) -> None:
    """Random bytes, and random values in the right fields, to all paths."""
    values = ["en", "de", "auto", "", None, 1, -1, 1e99, True, [], ["a", None], {}, "a" * 99, "<b>" * 50, "\0"]
    fields = ["q", "source", "target", "format", "alternatives", "details", "text", "target_lang", "tag_handling"]
    paths = ["translate", "detect", "languages", "translate_file", "v2/translate", "v2/document", "v2/usage", "x"]
    kinds = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "a/b"]
    found: Counter[int] = Counter()

    async def some(address: str, client: httpx.AsyncClient) -> None:
        for _ in range(FUZZED // CLIENTS):
            body = {name: chance.choice(values) for name in chance.sample(fields, k=chance.randint(0, 9))}
            sent = {"json": body} if chance.random() < 0.7 else {"content": chance.randbytes(99)}
            headers = {} if chance.random() < 0.7 else {"Content-Type": chance.choice(kinds)}
            method, address_of = chance.choice(["GET", "POST", "POST", "PUT"]), f"{address}/{chance.choice(paths)}"
            found[(await client.request(method, address_of, headers=headers, **sent)).status_code] += 1

    async with serving(run) as (address, process), httpx.AsyncClient(timeout=90) as client:
        await asyncio.gather(*(some(address, client) for _ in range(CLIENTS)))
        assert process.poll() is None
    print(f"{found.total():,} fuzzed requests: {dict(sorted(found.items()))}")


if __name__ == "__main__":
    texts = (Path(sys.argv[1]) / "data/test.source").read_text(encoding="utf-8").split("\n")[:-1]
    for name in sys.argv[2:] or ["throughput", "overload", "ended", "fuzzed"]:
        asyncio.run(globals()[name](Path(sys.argv[1]), texts))
