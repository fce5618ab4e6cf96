"""Hosts on one machine: network namespaces, each with a link to a database and a link to clients, which can be cut."""

import os
import subprocess


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Host:
    """A namespace. ``address`` is for clients; ``enter`` is what a command begins with to run in it."""

    def __init__(self, network, number):
        self.name = f"dl{os.getpid() % 100_000}-{number}"
        self.enter = ["ip", "netns", "exec", self.name]
        self.links = {"database": f"dld{os.getpid() % 100_000}-{number}", "clients": f"dlc{os.getpid() % 100_000}-{number}"}
        self.address = f"{network.prefix}.2.{number}"
        _ip("netns", "add", self.name)
        _ip("-n", self.name, "link", "set", "lo", "up")
        for third, (kind, link) in enumerate(self.links.items(), 1):
            _ip("link", "add", link, "type", "veth", "peer", "name", kind, "netns", self.name)
            _ip("-n", self.name, "addr", "add", f"{network.prefix}.{third}.{number}/24", "dev", kind)
            _ip("-n", self.name, "link", "set", kind, "up")
            _ip("link", "set", link, "master", network.bridges[kind], "up")

    def cut(self, *links):
        """Drops all packets of some links: to the ``database``, to the ``clients``, or both."""
        for link in links or self.links:
            _ip("link", "set", self.links[link], "down")

    def heal(self):
        """Ends all cuts."""
        for link in self.links.values():
            _ip("link", "set", link, "up")


class Network:
    """Two bridges, one for the database at ``database``, one for clients."""

    def __init__(self):
        number = os.getpid() % 100_000
        self.prefix = f"10.{1 + number % 250}"
        self.bridges = {"database": f"dlbd{number}", "clients": f"dlbc{number}"}
        self.database = f"{self.prefix}.1.250"
        self.hosts = []
        for third, bridge in enumerate(self.bridges.values(), 1):
            _ip("link", "add", bridge, "type", "bridge")
            _ip("addr", "add", f"{self.prefix}.{third}.250/24", "dev", bridge)
            _ip("link", "set", bridge, "up")

    def host(self):
        """A new host."""
        self.hosts.append(Host(self, len(self.hosts) + 1))
        return self.hosts[-1]

    def close(self):
        for host in self.hosts:
            _ip("netns", "delete", host.name)  # its links go with it
        for bridge in self.bridges.values():
            _ip("link", "delete", bridge)
