"""A proxy that drops connections: before a request reaches the service, or before its answer reaches the client."""

import random
import socket
import threading


def message(connection):
    """Reads one whole request or answer; empty if the other side has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(2**16)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        part = connection.recv(2**16)
        if not part:
            return b""
        data, body = data + part, body + part
    return data


class Flaky:
    """Forwards to a port of the loopback address, and drops a share of the requests. It ends with the ``with`` block."""

    def __init__(self, port, seed, share):
        self.rng, self.share, self.service = random.Random(seed), share, port
        self.dropped = {"requests": 0, "answers": 0}
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _fate(self):
        with self.lock:
            fate = self.rng.choice(["requests", "answers"]) if self.rng.random() < self.share else ""
            if fate:
                self.dropped[fate] += 1
            return fate

    def _forward(self, client):
        with client, socket.create_connection(("127.0.0.1", self.service)) as service:
            self.open |= {client, service}
            try:
                while request := message(client):
                    fate = self._fate()
                    if fate == "requests":
                        return
                    service.sendall(request)
                    answer = message(service)
                    if fate == "answers" or not answer:
                        return
                    client.sendall(answer)
            except OSError:
                return
            finally:
                self.open -= {client, service}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for one in list(self.open):
            one.close()
