import errno
import gzip
import subprocess
import sys

import pytest

from driftline import cli, reproduce
from driftline.reproduce import page


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def folders(path):
    return ["--out", str(path / "out"), "--data", str(path)]


def test_the_list_has_every_target(capsys):
    code, out, _ = call(capsys, "reproduce", "--list")
    assert code == 0
    for name in reproduce.names():
        assert name in out
        assert reproduce.find(name).source in out


def test_a_wrong_name_ends_with_2_and_the_closest_names(capsys):
    code, out, err = call(capsys, "reproduce", "lecture-bond")
    assert (code, out) == (2, "")
    assert err == "driftline reproduce: there is no target 'lecture-bond'. Did you mean lecture-bounds?\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["reproduce"],
        ["reproduce", "lecture-bounds", "--seed", "-1"],
        ["reproduce", "lecture-bounds", "--jobs", "0"],
        ["nothing"],
    ],
)
def test_wrong_usage_ends_with_2(capsys, arguments):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "Error" in err


def test_data_that_is_no_directory_ends_with_2(capsys, tmp_path):
    code, _, err = call(capsys, "reproduce", "lecture-bounds", "--quick", "--data", str(tmp_path / "none"))
    assert code == 2
    assert "data must be a directory" in err


def test_a_run_prints_its_checks_its_verdict_and_its_files(capsys, tmp_path):
    code, out, _ = call(capsys, "reproduce", "thesis-6-1", "--out", str(tmp_path), "--jobs", "1", "--seed", "3")
    assert code == 0
    assert "  does not hold: fading drift: V' is at most" in out
    assert "This run agrees in part with the source: 3 of 4 statements hold." in out
    assert "quick" not in out
    assert str(tmp_path / "thesis-6-1.png") in out
    assert '"seed": 3' in (tmp_path / "thesis-6-1.json").read_text()


def test_a_quick_run_is_marked_and_gives_no_verdict(capsys, tmp_path):
    code, out, _ = call(capsys, "reproduce", "lecture-bounds", "--quick", "--out", str(tmp_path), "--jobs", "1")
    assert code == 0
    assert "A quick run: it shows that the target works, on fewer rows" in out
    assert "A quick run decides nothing." in out
    assert "undecided: Theorem 1" in out
    assert "holds: " not in out
    assert "hold: " not in out
    assert "with the source" not in out
    assert str(tmp_path / "lecture-bounds.png") in out


def test_data_that_the_target_does_not_read_is_reported_as_unused(capsys, tmp_path):
    code, _, err = call(capsys, "reproduce", "thesis-6-1", "--quick", "--jobs", "1", *folders(tmp_path))
    assert (code, err) == (0, "driftline reproduce: thesis-6-1 reads no file, --data is not used\n")


def test_data_that_the_target_reads_gives_no_remark(capsys, tmp_path):
    code, _, err = call(capsys, "reproduce", "dfop-fig7", "--quick", *folders(tmp_path))
    assert (code, err) == (0, "")


def test_a_truncated_file_ends_with_2_and_its_name(capsys, tmp_path):
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(1000)))
    (tmp_path / "usenet1.csv.gz").write_bytes(whole[: len(whole) // 2])
    code, out, err = call(capsys, "reproduce", "dfop-fig7", "--quick", *folders(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith(f"driftline reproduce: {tmp_path / 'usenet1.csv.gz'} must hold ")


def test_an_output_folder_that_cannot_be_made_ends_with_2_before_any_work(capsys, tmp_path):
    (tmp_path / "file").write_text("mine")
    code, _, err = call(capsys, "reproduce", "laser-fig7-1", "--out", str(tmp_path / "file" / "inside"))
    assert code == 2
    assert "out cannot be created" in err


def test_a_disk_that_is_full_at_the_end_ends_with_1_and_a_line(capsys, monkeypatch, tmp_path):
    def write_all(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "thesis-6-1.png")

    monkeypatch.setattr(page, "write_all", write_all)
    code, out, err = call(capsys, "reproduce", "thesis-6-1", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert (code, out) == (1, "")
    assert err == f"driftline reproduce: [Errno {errno.ENOSPC}] No space left on device: 'thesis-6-1.png'\n"


def test_files_are_written_together_or_not_at_all(capsys, monkeypatch, tmp_path):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "thesis-6-1.json").write_text("old")
    monkeypatch.setattr(page, "page", fail)  # the last of the four
    code, _, err = call(capsys, "reproduce", "thesis-6-1", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert (code, "No space left on device" in err) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis-6-1.json"]
    assert (tmp_path / "thesis-6-1.json").read_text() == "old"


def test_the_module_is_the_same_command():
    done = subprocess.run([sys.executable, "-m", "driftline.reproduce", "lecture-bond"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Did you mean lecture-bounds?" in done.stderr


def test_the_version_matches_the_package(capsys):
    import driftline

    assert call(capsys, "--version")[:2] == (0, f"driftline {driftline.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    heavy = "{'matplotlib', 'numpy', 'pyarrow', 'scipy', 'driftline.evaluate', 'driftline.reproduce.runner'}"
    code = f"""
import sys
from driftline.cli import main
try:
    main({arguments})
except SystemExit as ended:
    assert ended.code == 0
assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_a_missing_package_is_named_with_the_command_to_install_it(package):
    code = f"import sys; sys.modules[{package!r}] = None; from driftline.cli import main; main(['models'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    way = 'The extra "cli" installs it: pip install "driftline[cli]"'
    assert done.stderr == f"driftline: the command line needs {package}. {way}\n"
