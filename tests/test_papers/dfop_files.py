"""Data files like those of a user."""

import gzip


def write(path, X, y):
    lines = [",".join(f"x{i}" for i in range(X.shape[1] + 1))]
    lines += [",".join(map(repr, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        with gzip.open(path, "wt") as file:
            file.write(text)
    else:
        path.write_text(text)
