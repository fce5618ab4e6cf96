"""A reader of the documentation, who types what stands there."""

import subprocess
import sys

from tests.test_cli.calling import call
from tests.test_docs.pages import PAGES, blocks, commands

DRIFTLINE = [sys.executable, "-c", "from driftline.cli import main; main()"]


class Reader:
    """Runs blocks in order in the current folder; what cannot run here is noted in ``skipped``."""

    def __init__(self, page, capsys, not_here=(), **names):
        self.page, self.capsys, self.not_here, self.names, self.skipped = page, capsys, not_here, names, []

    def follow(self):
        for kind, text in blocks(PAGES[self.page]):
            if kind == "python":
                exec(compile(text, self.page, "exec"), self.names)
                continue
            for command in commands(text):
                if command.startswith(tuple(self.not_here)):
                    self.skipped.append(command)
                else:
                    self.type(command)

    def type(self, command):
        program, *arguments = command.split()
        if program == "driftline" and "|" not in arguments and "$(" not in command:
            code, _, err = call(self.capsys, *arguments)
            assert code == 0, f"{self.page}: {command}: {err}"
            return
        shell = command.replace("python ", f"{sys.executable} ").replace("driftline run", '"$@" run')
        subprocess.run(["sh", "-c", shell, "sh", *DRIFTLINE], check=True, capture_output=True)
