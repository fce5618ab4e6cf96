"""The rows of a reader as numbers, as a model that learns every labelled row encodes them."""

import numpy as np

from driftline.tables.encoder import Columns


def encoded(blocks, missing="mean"):
    """The rows of all blocks with the features known in the end, their labels, and the features."""
    columns, parts, labels = Columns(missing), [], []
    for block in blocks:
        learned = np.ones(len(block), dtype=bool) if block.y is None else ~np.isnan(block.y)
        parts.append(columns.table(block.X.values, "", learned)[0])
        labels.append(block.y)
    X = np.concatenate([np.pad(part, ((0, 0), (0, len(columns.names) - part.shape[1]))) for part in parts])
    return X, None if labels[0] is None else np.concatenate(labels), list(columns.names)
