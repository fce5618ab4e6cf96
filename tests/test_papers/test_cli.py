import errno
import gzip
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import papers
from papers import page
from papers.__main__ import app


def call(*arguments):
    """The exit code of a command, its standard output and its standard error."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.exit_code, done.stdout, done.stderr


def folders(path):
    return ["--out", str(path / "out"), "--data", str(path)]


def test_the_list_has_every_target():
    code, out, _ = call("--list")
    assert code == 0
    for name in papers.names():
        assert name in out
        assert papers.find(name).source in out


def test_a_wrong_name_ends_with_2_and_the_closest_names():
    code, out, err = call("lecture-bond")
    assert (code, out) == (2, "")
    assert err == "papers: there is no target 'lecture-bond'. Did you mean lecture-bounds?\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["lecture-bounds", "--seed", "-1"],
        ["lecture-bounds", "--jobs", "0"],
        ["lecture-bounds", "--nothing"],
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert "Error" in err


def test_data_that_is_no_directory_ends_with_2(tmp_path):
    code, _, err = call("lecture-bounds", "--quick", "--data", str(tmp_path / "none"))
    assert code == 2
    assert "data must be a directory" in err


def test_a_run_prints_its_checks_its_verdict_and_its_files(tmp_path):
    code, out, _ = call("thesis-6-1", "--out", str(tmp_path), "--jobs", "1", "--seed", "3")
    assert code == 0
    assert "  does not hold: fading drift: V' is at most" in out
    assert "This run agrees in part with the source: 3 of 4 statements hold." in out
    assert "quick" not in out
    assert str(tmp_path / "thesis-6-1.png") in out
    assert '"seed": 3' in (tmp_path / "thesis-6-1.json").read_text()


def test_a_quick_run_is_marked_and_gives_no_verdict(tmp_path):
    code, out, _ = call("lecture-bounds", "--quick", "--out", str(tmp_path), "--jobs", "1")
    assert code == 0
    assert "A quick run: it shows that the target works, on fewer rows" in out
    assert "A quick run decides nothing." in out
    assert "undecided: Theorem 1" in out
    assert "holds: " not in out
    assert "hold: " not in out
    assert "with the source" not in out
    assert str(tmp_path / "lecture-bounds.png") in out


def test_data_that_the_target_does_not_read_is_reported_as_unused(tmp_path):
    code, _, err = call("thesis-6-1", "--quick", "--jobs", "1", *folders(tmp_path))
    assert (code, err) == (0, "papers: thesis-6-1 reads no file, --data is not used\n")


def test_data_that_the_target_reads_gives_no_remark(tmp_path):
    code, _, err = call("dfop-fig7", "--quick", *folders(tmp_path))
    assert (code, err) == (0, "")


def test_a_truncated_file_ends_with_2_and_its_name(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(1000)))
    (tmp_path / "usenet1.csv.gz").write_bytes(whole[: len(whole) // 2])
    code, out, err = call("dfop-fig7", "--quick", *folders(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith(f"papers: {tmp_path / 'usenet1.csv.gz'} must hold ")


def test_an_output_folder_that_cannot_be_made_ends_with_2_before_any_work(tmp_path):
    (tmp_path / "file").write_text("mine")
    code, _, err = call("laser-fig7-1", "--out", str(tmp_path / "file" / "inside"))
    assert code == 2
    assert "out cannot be created" in err


def test_a_disk_that_is_full_at_the_end_ends_with_1_and_a_line(monkeypatch, tmp_path):
    def write_all(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "thesis-6-1.png")

    monkeypatch.setattr(page, "write_all", write_all)
    code, out, err = call("thesis-6-1", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert (code, out) == (1, "")
    assert err == f"papers: [Errno {errno.ENOSPC}] No space left on device: 'thesis-6-1.png'\n"


def test_files_are_written_together_or_not_at_all(monkeypatch, tmp_path):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "thesis-6-1.json").write_text("old")
    monkeypatch.setattr(page, "page", fail)  # the last of the four
    code, _, err = call("thesis-6-1", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert (code, "No space left on device" in err) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis-6-1.json"]
    assert (tmp_path / "thesis-6-1.json").read_text() == "old"


def test_the_module_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "papers", "lecture-bond"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Did you mean lecture-bounds?" in done.stderr
