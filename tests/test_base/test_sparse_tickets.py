"""Tickets of sparse rows: made before the first label arrives, serialized, and told."""

import numpy as np
import pytest
import scipy.sparse

import driftline as dl
from driftline.storage import codec


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("make", [dl.LMS, dl.NLMS, dl.SparseDFOP], ids=lambda make: make.__name__)
def test_a_sparse_row_that_waited_is_learned_like_one_that_did_not(make, index):
    X = scipy.sparse.random(6, 40, density=0.2, format="csr", random_state=1)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    first, second = make(), make()
    tickets = [first.ask(X[row]) for row in range(6)]  # the learner is untrained
    tickets[1] = dl.Ticket.from_bytes(tickets[1].to_bytes())
    tickets[2:4] = codec.unpack(codec.pack(tickets[2:4]))
    for row, ticket in enumerate(tickets):
        first.tell(ticket, float(row))
        second.learn_one(X[row], float(row))
    assert first.n_seen_ == 6
    assert np.array_equal(first.predict(X), second.predict(X))
