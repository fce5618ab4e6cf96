import random

import pytest

from driftline.files import lines
from tests.test_cli import malformed
from tests.test_cli.calling import call

LIMIT = 1 << 16


def refuse(capsys, folder, name, data, words):
    """The run must exit with 1 and a line that names the file, and leave no file behind."""
    source = folder / name
    source.write_bytes(data)
    asked = ["--out", folder / "out.csv", "--state", folder / "state", "--report", folder / "report.html"]
    code, out, err = call(capsys, "run", source, "-t", "load", "-m", "rls", *asked)
    assert (code, out) == (1, ""), (name, code, out, err)
    assert err.startswith(f"driftline run: {source}"), (name, err)
    assert words in err, (name, err)
    assert "Traceback" not in err
    assert len(err) < 1000, name
    assert [path.name for path in folder.iterdir()] == [name]
    source.unlink()


@pytest.mark.parametrize("kind", malformed.KINDS, ids=lambda kind: kind.__name__)
def test_malformed_files_are_refused_with_their_place(capsys, tmp_path, kind):
    for name, data, words in kind():
        refuse(capsys, tmp_path, name, data, words)


def test_there_are_at_least_200_malformed_files():
    assert sum(len(list(kind())) for kind in malformed.KINDS) >= 200


def test_endless_lines_are_refused_before_memory_runs_out(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", LIMIT)
    monkeypatch.setattr(lines, "BLOCK", LIMIT // 4)
    monkeypatch.setattr(lines, "FIRST", LIMIT // 8)
    monkeypatch.setattr(lines, "LARGEST", LIMIT // 4)
    for name, data, words in malformed.huge_lines(LIMIT):
        refuse(capsys, tmp_path, name, data, words)


@pytest.mark.parametrize("write", [malformed.parquet, malformed.arrow, malformed.stream], ids=lambda write: write.__name__)
def test_a_flipped_byte_is_refused_or_harmless(capsys, tmp_path, write):
    """A format without a checksum cannot tell a damaged number from a good one; nothing may crash."""
    whole, rng = bytearray(write(malformed.TABLE)), random.Random(8)
    source = tmp_path / "source"
    for _ in range(40):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        source.write_bytes(data)
        code, _, err = call(capsys, "run", source, "-t", "load", "-m", "rls", "--quiet")
        assert code in (0, 1)
        assert code == 0 or err.startswith(f"driftline run: {source}")


def test_a_folder_is_refused_as_a_source(capsys, tmp_path):
    code, _, err = call(capsys, "run", tmp_path, "-t", "load")
    assert (code, err) == (1, f"driftline run: {tmp_path}: is a folder, not a file\n")
