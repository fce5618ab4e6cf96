"""Random and hostile model files: ``python -m tests.fuzz.files 10000 0`` reads 10,000 files with seed 0.

``load`` must refuse a file with ModelFileError, or return a learner that works. Some files are damaged at random, others
forged by an attacker who knows the format and corrects the checksum.
"""

import collections
import copy
import faulthandler
import hashlib
import json
import struct
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

import driftline as dl
from driftline.base import registry
from driftline.checks.tools import same
from driftline.errors import DriftlineWarning
from driftline.storage import model_file

from .calls import require_finite

JSON = (
    *(None, True, False, 0, 1, -1, 2.5, 1e308, -1e308, 1e-320, 10**30, "", "rls", "float32", "skip", "\0", "NaN", [], {}),
    *(
        [1.0],
        [0.5, 0.25],
        ["a", "b", "c"],
        ["a", "a", "a"],
        {"number": "nan"},
        {"number": "inf"},
        {"number": "x"},
        {"number": [1]},
    ),
    *({"object": name, "fields": {}} for name in ("Add", "eval", "__class__", "Squared", "Logistic")),
    *({"object": "Divide", "fields": {"forgetting": value}} for value in (0.5, [0.5, 0.9], -1, None)),
    *({"object": "Below", "fields": {"schedule": value}} for value in (2.0, [0.5, 0.1], 0.5, "x")),
    *({"object": "Every", "fields": {"period": 2}}, {"object": "Huber", "fields": {"threshold": -1}}),
    *({"object": ["Add"], "fields": []}, {"object": "Add"}, {"object": "Add", "fields": {"drift": {"number": "inf"}}}),
)


def saved(rng):
    """The bytes of a model file written by ``save``."""
    classes = list(registry.learners().values())
    model = classes[rng.integers(len(classes))](
        dtype=("float64", "float32")[rng.integers(2)], intercept=bool(rng.integers(2))
    )
    pick = rng.integers(3)
    if pick == 1:
        labels = rng.normal(size=9) if type(model) in registry.regressors().values() else rng.integers(4, size=9)
        model.run(rng.uniform(-0.5, 0.5, size=(9, 3)), labels)
    if pick == 2:
        model.learn_one({"a": 0.1, "b": 0.2}, 1.0)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return with_sorted_header((Path(folder) / "model").read_bytes())


def with_sorted_header(data):
    """Sorts the header: safetensors writes its keys in a random order, so byte offsets would vary."""
    size = struct.unpack("<Q", data[:8])[0]
    text = json.dumps(json.loads(data[8 : 8 + size]), sort_keys=True).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def altered(rng, data):
    """Damages a file at random: cuts, overwrites or lengthens it, or changes the length in its header."""
    out, pick = bytearray(data), rng.integers(7)
    if pick == 0:
        return bytes(out[: rng.integers(len(out))])
    if pick == 1:
        for spot in rng.integers(len(out), size=rng.integers(1, 9)):
            out[spot] = rng.integers(256)
    if pick == 2:
        out += rng.bytes(rng.integers(1, 100))
    if pick == 3:
        sizes = [0, 1, 7, 8, len(out), len(out) - 8, 2**31, 2**40, 2**63 - 1, 2**64 - 1, int(rng.integers(len(out)))]
        out[:8] = struct.pack("<Q", sizes[rng.integers(len(sizes))])
    if pick == 4:
        start, stop = sorted(rng.integers(len(out), size=2))
        del out[start:stop]
    if pick == 5:
        return rng.bytes(rng.integers(300))
    if pick == 6:
        out = with_altered_header(rng, out)
    return bytes(out)


def with_altered_header(rng, data):
    """Replaces the header by one with wrong types, shapes or offsets, or by one that is not sensible JSON."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    pick = rng.integers(4)
    if pick == 0:
        text = (b"[" * 100_000, b'{"a":' * 50_000, b"{}", b"null", b"\xff\xfe", b'{"__metadata__": 3}')[rng.integers(6)]
        return struct.pack("<Q", len(text)) + text + data[8 + size :]
    name = list(header)[rng.integers(len(header))]
    if pick == 1 and name != "__metadata__":
        claims = ([2**62], [10**12, 10**12], [-1], [], [0], ["x"], [2**64])
        header[name]["shape"] = claims[rng.integers(len(claims))]
    elif pick == 2 and name != "__metadata__":
        header[name]["data_offsets"] = [[0, 2**62], [8, 0], [-8, 8], [0, 0], "x"][rng.integers(5)]
    elif name != "__metadata__":
        header[name]["dtype"] = ("F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "X")[rng.integers(10)]
    else:
        header[name] = JSON[rng.integers(len(JSON))]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def forged(rng, data):
    """An attacker's file: a changed model with a matching checksum."""
    arrays = dict(sorted(from_bytes(data).items()))
    size = struct.unpack("<Q", data[:8])[0]
    whole = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["model"])
    head = whole["model"]
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.5:
            part = (whole, head, head["fields"], head["state"])[rng.integers(4)]
            if isinstance(part, dict) and part:
                part[list(part)[rng.integers(len(part))]] = copy.deepcopy(JSON[rng.integers(len(JSON))])
            if not isinstance(whole.get("model"), dict) or not isinstance(head.get("fields"), dict):
                break
            if not isinstance(head.get("state"), dict):
                break
        elif arrays:
            name = list(arrays)[rng.integers(len(arrays))]
            arrays[name] = forged_array(rng, arrays[name])
    text = json.dumps(whole)
    digest = model_file._digest(arrays, text)
    meta = {"format": "driftline", "version": str(model_file.VERSION), "model": text, "sha256": digest}
    return to_bytes(arrays, metadata=meta)


def forged_array(rng, array):
    pick = rng.integers(7)
    out = np.array(array)
    if pick == 0:
        return np.zeros(int(rng.integers(20_000)), dtype=out.dtype)
    if pick == 1:
        return out.astype(("f4", "f8", "i8", "u1", "f2")[rng.integers(5)])
    if pick == 2:
        return out.reshape(1, -1)
    if pick == 3:
        return np.zeros(0, dtype=out.dtype)
    if out.size and out.dtype.kind == "f":
        values = (np.nan, np.inf, -1.0, 0.0, 1e30, -1e30, 1e308, 1e-300)
        with np.errstate(all="ignore"):
            out.flat[rng.integers(out.size, size=rng.integers(1, 4))] = values[rng.integers(len(values))]
    return out


def judge(rng, path, original):
    """Loads a file. It must be refused clearly or give a working learner: the original one if the file was only altered."""
    try:
        model = dl.load(path)
    except dl.ModelFileError as error:
        if str(path) not in str(error):
            raise AssertionError("the message does not name the file") from error
        return "refused"
    require_finite(model)
    if original is not None:
        path.with_suffix(".original").write_bytes(original)
        assert same(model.__getstate__(), dl.load(path.with_suffix(".original")).__getstate__()), (
            "an altered model was taken"
        )
    width = model.n_features_in_ if model.__sklearn_is_fitted__() else 3
    for _ in range(3 if width else 0):
        row = rng.uniform(-0.5, 0.5, size=width)
        try:
            prediction = model.predict_one(row)
            known = (
                np.isfinite(prediction)
                if model._estimator_type == "regressor"
                else prediction in (None, *model._labels.known)
            )
            assert known
            model.learn_one(row, float(rng.normal()))
        except ValueError:  # with forged numbers, even this row may be refused
            pass
        require_finite(model)
    return "taken"


def main(files, seed):
    faulthandler.enable()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", DriftlineWarning)
    warnings.filterwarnings("ignore", ".*in cast", module=__name__)
    rng = np.random.default_rng(seed)
    counts, digest = collections.Counter(), hashlib.sha256()
    originals = [saved(rng) for _ in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        for i in range(files):
            path = Path(folder) / f"{i}"  # a new path each time: some file systems flush an overwritten file
            good, how = originals[rng.integers(len(originals))], ("altered", "forged")[rng.integers(2)]
            data = altered(rng, good) if how == "altered" else with_sorted_header(forged(rng, good))
            path.write_bytes(data)
            digest.update(data)
            try:
                counts[how, judge(rng, path, good if how == "altered" else None)] += 1
            except BaseException as error:
                error.add_note(f"file {i} of seed {seed}, {how}")
                raise
            path.unlink()
    for (how, what), count in sorted(counts.items()):
        print(f"{how:12} {what:8} {count:8,}")
    print(f"all of it    {digest.hexdigest()}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
