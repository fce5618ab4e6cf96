"""Arrays written piece by piece, as safetensors reads them."""

import numpy as np
import pytest
from safetensors.numpy import load

from driftline.storage.tensors import pieces

ARRAYS = {
    "text": np.frombuffer(b"abc", dtype=np.uint8),
    "numbers": np.arange(6.0).reshape(2, 3),
    "short": np.arange(5, dtype=np.float32),
    "whole": np.arange(-3, 3),
    "flags": np.array([True, False]),
    "none": np.empty((0, 4)),
    "one": np.array(7.0),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "reversed": np.arange(3, dtype=">i4"),
}


@pytest.mark.parametrize("names", [list(ARRAYS), ["text"], []])
def test_safetensors_reads_the_same_arrays(names):
    arrays = {name: ARRAYS[name] for name in names}
    content = b"".join(pieces(arrays, {"format": "driftline", "é": '"'}))
    found = load(content)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert np.array_equal(found[name], array)
        assert found[name].shape == array.shape


def test_no_piece_is_a_copy():
    array = np.arange(1000.0)
    _, piece = pieces({"array": array}, {})
    assert np.shares_memory(np.asarray(piece), array)


def test_one_array_is_held_at_a_time():
    held = []

    class Counted(np.ndarray):
        def __array_finalize__(self, _):
            held.append(1)

        def __del__(self):
            held.pop()

    class Made(dict):
        def __getitem__(self, name):
            assert not held
            return np.arange(10.0).view(Counted)

    made = Made(a=None, b=None, c=None)
    assert sum(len(bytes(piece)) for piece in pieces(made, {})) > 3 * 80
