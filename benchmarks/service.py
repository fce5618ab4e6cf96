"""The cost of a durable call: ``python -m benchmarks.service``. Needs the extra ``serve``.

Two servers run on the loopback address, each in its own process: ``driftline serve``, and Starlette with one empty route
under the same uvicorn. This process sends the same requests to both in turn. CPU time is that of the server's process, as
the kernel counts it; the ratio is the median over the rounds. Calls/s and latencies depend on the disk, because each call
is written to disk before it is answered, and on the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Cell, Table

EMPTY = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def empty(request):
    await request.body()
    return Response(b'{"learned": 1, "known": 0}', media_type="application/json")
app = Starlette(routes=[Route("/v1/models/{name}/learn", empty, methods=["POST"])])
sock = socket.socket()
sock.bind(("127.0.0.1", 0))
sock.listen(1024)
print('{"port": %d}' % sock.getsockname()[1], file=sys.stderr, flush=True)
config = uvicorn.Config(app, http="httptools", log_config=None, access_log=False, server_header=False)
uvicorn.Server(config).run(sockets=[sock])
"""
SERVE = """
import sys
from pathlib import Path
from driftline.serve.limits import Limits
from driftline.serve.server import serve
serve(Path(sys.argv[1]), "127.0.0.1", 0, None, None, Limits())
"""
FEATURES = 5


@dataclass
class Load:
    """The time of a round of calls."""

    processor: float  # CPU seconds of the server per call
    rate: float
    latencies: list[float]


class Server:
    """A server in its own process, which stops at the end of the ``with`` block."""

    def __init__(self, code: str, *arguments: str) -> None:
        command = [sys.executable, "-c", code, *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if '"port"' in line:
                self.port = json.loads(line)["port"]
                return
        raise RuntimeError("the server did not start")

    def processor(self) -> float:
        """CPU seconds of all threads, to the nanosecond, because the ticks of /proc/PID/stat are too coarse."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)
        if self.process.stderr is not None:
            self.process.stderr.close()


async def client(port: int, request: bytes | Iterator[bytes], count: int, latencies: list[float]) -> None:
    """Sends a request repeatedly, or the next one of many, each time after the previous answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        sent = request if isinstance(request, bytes) else next(request)
        start = time.perf_counter()
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        body = await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        if b" 200" not in head[:15] and b" 201" not in head[:15]:
            raise RuntimeError(f"{head!r} {body!r}")
        latencies.append(time.perf_counter() - start)
    writer.close()
    await writer.wait_closed()


def request(method: str, path: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(data)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


def run(server: Server, sent: bytes | Iterator[bytes], connections: int, count: int) -> Load:
    async def all_clients() -> list[float]:
        latencies: list[float] = []
        each = max(count // connections, 1)
        await asyncio.gather(*(client(server.port, sent, each, latencies) for _ in range(connections)))
        return latencies

    before, start = server.processor(), time.perf_counter()
    latencies = asyncio.run(all_clients())
    seconds = time.perf_counter() - start
    return Load((server.processor() - before) / len(latencies), len(latencies) / seconds, sorted(latencies))


def measure(connections: list[int], calls: int, rounds: int, learner: str) -> list[list[Cell]]:
    """A line for each kind of call and number of connections."""
    single = {"x": {f"f{number}": 0.5 + number for number in range(FEATURES)}, "y": 1.0}
    path, lines = "/v1/models/m/learn", []
    new = (f"r{number}" for number in itertools.count())

    def with_ids(rows: int) -> Iterator[bytes]:
        while True:
            body = [{"id": next(new), **single} for _ in range(rows)]
            yield request("POST", path, body[0] if rows == 1 else {"rows": body})

    kinds: dict[str, tuple[bytes | Iterator[bytes], int]] = {
        "one row": (request("POST", path, single), calls),
        "one row with id": (with_ids(1), calls),
        "100 rows": (request("POST", path, {"rows": [single] * 100}), calls // 10),
        "100 rows with ids": (with_ids(100), calls // 10),
    }
    with tempfile.TemporaryDirectory() as folder, Server(EMPTY) as empty, Server(SERVE, folder) as service:
        asyncio.run(client(service.port, request("PUT", "/v1/models/m", {"learner": learner}), 1, []))
        for kind, (sent, total) in kinds.items():
            for count in connections:
                pairs = [(run(empty, sent, count, total), run(service, sent, count, total)) for _ in range(rounds)]
                durable = [mine for _, mine in pairs]
                latencies = sorted(latency for load in durable for latency in load.latencies)
                cells: list[Cell] = [
                    kind,
                    count,
                    1e6 * statistics.median(other.processor for other, _ in pairs),
                    1e6 * statistics.median(load.processor for load in durable),
                    statistics.median(mine.processor / other.processor for other, mine in pairs if other.processor),
                    statistics.median(load.rate for load in durable),
                    1e3 * latencies[len(latencies) // 2],
                    1e3 * latencies[int(len(latencies) * 0.99)],
                ]
                lines.append(cells)
    return lines


def resident(service: Server) -> int:
    """Resident memory of the server, in bytes."""
    return int(Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory_of_keys(count: int, learner: str) -> list[list[Cell]]:
    """The memory of a service's keys, after five learned rows each."""

    async def taken_by_all(service: Server) -> int:
        await client(service.port, request("PUT", "/v1/models/m", {"learner": learner, "keyed": True}), 1, [])
        before = resident(service)
        for start in range(0, count, 500):
            x = {f"x{j}": 0.1 * j for j in range(FEATURES)}
            rows = [{"key": f"k{key}", "x": x, "y": 1.0} for key in range(start, min(start + 500, count))]
            for _ in range(5):
                await client(service.port, request("POST", "/v1/models/m/learn", {"rows": rows}), 1, [])
        return resident(service) - before

    with tempfile.TemporaryDirectory() as folder, Server(SERVE, folder) as service:
        taken = asyncio.run(taken_by_all(service))
    return [[f"{count:,} keys", taken / 1e6, taken / 1e3 / count]]


def soak(rows: int, streams: int) -> list[list[Cell]]:
    """Memory and open files of a service over many rows with ids, while event streams connect and disconnect."""
    lines: list[list[Cell]] = []

    async def listeners(port: int) -> list[asyncio.StreamWriter]:
        opened = []
        for _ in range(streams):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /v1/models/m/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await reader.readuntil(b"\n\n")
            opened.append(writer)
        return opened

    async def tenth(port: int, number: int) -> None:
        batches = range(number * rows // 10, (number + 1) * rows // 10, 500)
        for start in batches:
            x = [
                {"id": f"r{row}", "x": {"a": row % 7 / 7, "b": row % 5 / 5}, "y": row % 3 / 3}
                for row in range(start, start + 500)
            ]
            await client(port, request("POST", "/v1/models/m/learn", {"rows": x}), 1, [])

    async def all_of_it(service: Server) -> None:
        await client(service.port, request("PUT", "/v1/models/m", {"learner": "rls"}), 1, [])
        opened = await listeners(service.port)
        for number in range(10):
            await tenth(service.port, number)
            lines.append([f"{(number + 1) * rows // 10:,} rows", *state(service)])
        for writer in opened:
            writer.close()
        await asyncio.sleep(20)  # streams notice a disconnect at their next keep-alive
        lines.append(["streams closed", *state(service)])

    def state(service: Server) -> tuple[float, int]:
        return resident(service) / 2**20, len(os.listdir(f"/proc/{service.process.pid}/fd"))

    with tempfile.TemporaryDirectory() as folder, Server(SERVE, folder) as service:
        asyncio.run(all_of_it(service))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 64, 256])
    parser.add_argument(
        "--calls", type=int, default=4000, help="calls with a single row in a round; a tenth as many have batches"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--learner", default="rls")
    parser.add_argument("--soak", type=int, metavar="ROWS", help="measure memory and open files over this many rows instead")
    parser.add_argument("--streams", type=int, default=1000, help="event streams open during the soak")
    parser.add_argument("--keys", type=int, help="measure the memory of this many keys instead")
    options = parser.parse_args()
    if options.keys:
        print(Table("Memory of keys", ("after", "MB", "kB a key"), memory_of_keys(options.keys, options.learner)).text())
        return
    if options.soak:
        print(Table("A soak", ("after", "resident, MiB", "open files"), soak(options.soak, options.streams)).text())
        return
    lines = measure(options.connections, options.calls, options.rounds, options.learner)
    header = ("call", "connections", "empty route, us", "durable, us", "ratio", "calls/s", "p50, ms", "p99, ms")
    print(Table(f"A durable call and an empty route ({options.learner}, {FEATURES} features)", header, lines).text())


if __name__ == "__main__":
    main()
