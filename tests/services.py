"""The servers and the browser that some tests need; ``python -m tests.services`` installs those that are missing.

A test says what it needs with ``@pytest.mark.services("nginx")``, or by a fixture that ``FIXTURES`` names. Where the program
is missing, the test is skipped, with the reason; under ``pytest --services`` it fails.
"""

import glob
import os
import pwd
import shutil
import subprocess
import sys

PROGRAMS = {  # the names of a program, and Debian's package
    "chromium": (("chromium", "chromium-browser", "google-chrome", "chrome"), "chromium"),
    "ip": (("ip",), "iproute2"),
    "mosquitto": (("mosquitto",), "mosquitto"),
    "mosquitto_pub": (("mosquitto_pub",), "mosquitto-clients"),
    "nginx": (("nginx",), "nginx"),
    "openssl": (("openssl",), "openssl"),
    "postgresql": (("initdb",), "postgresql"),
    "prometheus": (("prometheus",), "prometheus"),
    "promtool": (("promtool",), "prometheus"),
    "redis-server": (("redis-server",), "redis-server"),
}
FIXTURES = {
    "browser": "chromium",
    "mosquitto": "mosquitto",
    "network": "ip",
    "postgresql": "postgresql",
    "redis": "redis-server",
}
FOLDERS = [os.environ.get("PATH", ""), "/usr/sbin", *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]


def find(program):
    """The path of a program, or None."""
    names, _ = PROGRAMS[program]
    return next(filter(None, (shutil.which(name, path=os.pathsep.join(FOLDERS)) for name in names)), None)


def lacking(program):
    """Why the tests with this program cannot run; empty if they can."""
    if find(program) is None:
        return f"no {program}: make test-services installs it as root on Debian, or apt-get install {PROGRAMS[program][1]}"
    if program == "postgresql" and os.geteuid() == 0 and all(user.pw_name != "postgres" for user in pwd.getpwall()):
        return "PostgreSQL does not run as root, and there is no user postgres"
    if program == "ip" and os.geteuid() != 0:
        return "network namespaces need root"
    return ""


def install():
    """Installs what is missing if this process may; tells what is still missing."""
    packages = sorted({package for program, (_, package) in PROGRAMS.items() if find(program) is None})
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {', '.join(packages)}", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": environment}
        for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            subprocess.run(["apt-get", "--quiet", *command], **quiet)
    for program in PROGRAMS:
        if reason := lacking(program):
            print(reason, file=sys.stderr)


if __name__ == "__main__":
    install()
