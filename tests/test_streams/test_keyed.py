import numpy as np

from driftline.streams.keyed import CHUNK, COINS, HOLDOUT, ROWS, SHOCKS, TARGET, generator, uniforms
from tests.test_streams.statistics import assert_uniform


def test_no_two_keys_share_their_numbers():
    tails = ((), (0,), (1,), (0, 0), (1, 0), (0, 1))
    keys = [(tag, *tail) for tag in (ROWS, TARGET, HOLDOUT, COINS, SHOCKS) for tail in tails]
    firsts = {generator(seed, *key).integers(2**62) for seed in (0, 1, 2**32) for key in keys}
    assert len(firsts) == 3 * len(keys)


def test_uniforms_do_not_depend_on_how_they_are_cut():
    table = uniforms(5, (COINS, 2), 0, 3 * CHUNK + 7, 3)
    assert_uniform(table.ravel(), 0, 1)
    for start, stop in ((0, 0), (0, 1), (CHUNK - 1, CHUNK + 1), (10, 2 * CHUNK), (CHUNK, CHUNK), (2 * CHUNK, 3 * CHUNK + 7)):
        assert np.array_equal(uniforms(5, (COINS, 2), start, stop, 3), table[start:stop])
