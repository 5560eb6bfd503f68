"""Servers of a run under load: .venv-clients/bin/python tests/clients/load.py RUN [throughput overload ended fuzzed].

Clients and server share the machine. The texts are lines of the run's own test split. With ADDRESS= and PID= of any
server in LibreTranslate's form, `load.py RUN other` puts that under the load of `throughput`.
"""

import asyncio
import contextlib
import json
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
ONE_BY_ONE = """
import json, sys, time
from mt.api import Translator
from mt.documents.document import passage

translator, texts = Translator.from_run(sys.argv[1], device="cpu"), json.load(sys.stdin)
found = [sentence for text in texts for sentence in passage(text, None, "en").sentences]
translator.translate(found[:1])
start, busy = time.perf_counter(), time.process_time()
for sentence in found:
    translator.translate([sentence])
print(time.perf_counter() - start, time.process_time() - busy)
"""


class Client:
    """A connection that takes little of the machine that it shares with the server: a tenth of what httpx takes."""

    def __init__(self, address: str) -> None:
        self._host, self._port = address.removeprefix("http://").split(":")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, body: dict[str, str]) -> int:
        """The status of the answer. Raises OSError and EOFError."""
        reader, writer = self._streams or await asyncio.open_connection(self._host, int(self._port))
        self._streams = None  # of a connection that failed, none
        data = json.dumps(body).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.findall(rb"(?i)content-length: *(\d+)", answer)[0]))
        self._streams = reader, writer
        return int(answer.split(maxsplit=2)[1])


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


def asked(lines: list[str]) -> tuple[int, str]:
    """The number of lines and the text: mostly a line, at times three, seldom a document of twenty."""
    count = chance.choices([1, 3, 20], [70, 25, 5])[0]
    return count, " ".join(chance.choices(lines, k=count))


async def ask(client: Client, lines: list[str]) -> Outcome:
    """Have a text translated."""
    (count, text), start = asked(lines), time.monotonic()
    try:
        status = await client.post({"q": text, "source": "en", "target": "de"})
    except (OSError, EOFError) as error:
        status = type(error).__name__
    return count, status, time.monotonic() - start


async def repeated(address: str, lines: list[str], clients: int, seconds: float) -> list[Outcome]:
    """The outcomes of clients that ask again as soon as they are answered."""
    found, end = [], time.monotonic() + seconds

    async def one(client: Client) -> None:
        while time.monotonic() < end:
            found.append(await ask(client, lines))

    await asyncio.gather(*(one(Client(address)) for _ in range(clients)))
    return found


def statuses(found: list[Outcome]) -> dict[int | str, int]:
    return dict(Counter(status for _, status, _ in found))


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(process: subprocess.Popen[str]) -> int:
    return (
        int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8"))[0]) // 1000
    )


async def measured(address: str, pid: int, lines: list[str]) -> list[float]:
    """Many clients against one: the requests/s of both."""
    rates, slowest = [], []
    await repeated(address, lines, CLIENTS, 3)
    for count in (1, CLIENTS):
        before, start = processor_seconds(pid), time.monotonic()
        found = await repeated(address, lines, count, SECONDS)
        busy, rate = processor_seconds(pid) - before, len(found) / (time.monotonic() - start)
        figures = f"{rate:.1f} requests/s, {1000 * busy / len(found):.1f} ms of the server's processor for each"
        print(f"clients {count}: {figures}, {statuses(found)}")
        waits = {}
        for size in sorted({size for size, *_ in found}):
            waits[size] = statistics.quantiles([1000 * seconds for one, _, seconds in found if one == size], n=20)
            print(f"  lines {size}: p50 {waits[size][9]:.0f}, p95 {waits[size][18]:.0f} ms")
        rates, slowest = [*rates, rate], [*slowest, waits[1][18]]
    print(f"{CLIENTS} clients: {rates[1] / rates[0]:.1f} x the rate of one, {slowest[1] / slowest[0]:.1f} x its p95")
    return rates


async def throughput(run: Path, lines: list[str]) -> None:
    """Many clients against one, and against the same mix translated in one process, a sentence at a time."""
    texts = json.dumps([asked(lines)[1] for _ in range(200)])
    command = [BIN / "python", "-c", ONE_BY_ONE, run]
    seconds, busy = map(float, subprocess.check_output(command, input=texts, text=True).split())
    print(f"one by one in process: {200 / seconds:.1f} requests/s, {1000 * busy / 200:.1f} ms of processor for each")
    async with serving(run) as (address, process):
        rates = await measured(address, process.pid, lines)
    print(f"{CLIENTS} clients: {rates[1] * seconds / 200:.1f} x the rate of one by one in process")


async def other(_: Path, lines: list[str]) -> None:
    """Do the same to a server that is running."""
    await measured(os.environ["ADDRESS"], int(os.environ["PID"]), lines)


async def overload(run: Path, lines: list[str]) -> None:
    """Ten times as many clients and a queue for fewer; then one request."""
    async with serving(run, "queue_tokens=1000") as (address, process):
        memory = [megabytes(process)]
        found = await repeated(address, lines, 10 * CLIENTS, SECONDS)
        memory, end, status = [*memory, megabytes(process)], time.monotonic(), None
        while status != 200:
            _, status, _ = await ask(Client(address), lines)
        recovery = time.monotonic() - end
    print(f"overload: {statuses(found)}, memory before and after {memory} MB, answered again after {recovery:.2f} s")


async def ended(run: Path, lines: list[str]) -> None:
    """SIGTERM while clients wait for what they asked: all must be answered."""
    async with serving(run) as (address, process):
        tasks = [asyncio.create_task(ask(Client(address), lines)) for _ in range(4 * CLIENTS)]
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
