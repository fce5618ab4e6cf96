"""Blocks of whole lines: nothing is lost, and each block knows the number of its first line."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftline.files import lines
from driftline.files.opening import open_source

values = st.sampled_from(["1", "2.5", '"x"', '"two\nlines"', '"a ""quoted"" word"', '"\n\n"'])
records = st.lists(st.lists(values, min_size=2, max_size=2).map(",".join), min_size=1, max_size=40)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of about 20 bytes, most of which would end inside quotes."""
    for name in ("FIRST", "BLOCK", "PEEK"):
        monkeypatch.setattr(lines, name, 20)
    monkeypatch.setattr(lines, "LEAST", 1)


@pytest.mark.usefixtures("small_blocks")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(header=st.sampled_from(["a,b", '"a\nb",c']), rows=records, ends=st.booleans())
def test_blocks_cut_the_file_only_between_records(tmp_path, header, rows, ends):
    text = "\n".join([header, *rows]) + "\n" * ends
    path = tmp_path / "a.csv"
    path.write_text(text)
    opened = open_source(path)
    try:
        reader = lines.LineBlocks(opened, quotes=True)
        assert reader.header().decode() == header
        start = len(header) + 1
        for block, first in reader:
            piece = block.decode()
            assert first == 1 + text.count("\n", 0, start)
            assert text.startswith(piece, start)
            assert piece.count('"') % 2 == 0
            start += len(piece)
            assert piece.endswith("\n") or start == len(text)
        assert start == len(text)
    finally:
        opened.close()
