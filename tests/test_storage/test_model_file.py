"""Saved models are restored bit for bit, or refused with a clear error; no code in a file is ever run."""

import contextlib
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

import driftline as dl
from driftline.base import registry
from driftline.checks.tools import same
from driftline.storage import model_file
from tests.cases import for_each


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.driftline"


@pytest.fixture
def model(rows):
    model = dl.RLS(forgetting=0.95)
    model.run(*rows)
    return model


def parts(path):
    """The arrays, the metadata, and the model's class and parameters with its state, in a file."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    meta = json.loads(data[8 : 8 + size])["__metadata__"]
    model = json.loads(meta["model"])["model"]
    state = model.pop("state")
    return dict(from_bytes(data)), meta, {"model": model, **state}


def forge(path, arrays, head, **meta):
    """Writes a file with a valid checksum, as an attacker would."""
    text = head
    if not isinstance(head, str):
        model, state = head["model"], {name: value for name, value in head.items() if name != "model"}
        text = json.dumps({"model": {**model, "state": state} if isinstance(model, dict) else model})
    whole = {
        "format": "driftline",
        "version": str(model_file.VERSION),
        "model": text,
        "sha256": model_file._digest(arrays, text),
        **meta,
    }
    path.write_bytes(to_bytes(arrays, metadata=whole))


def refuse(path, words="."):
    with pytest.raises(dl.ModelFileError, match=words) as error:
        dl.load(path)
    assert str(path) in str(error.value)


def test_every_variant_is_restored_bit_for_bit(variant, rows, path):
    X, y = rows
    variant.run(X[:100], y[:100])
    if any(callable(value) or "object at" in repr(value) for value in variant.get_params().values()):
        with pytest.raises(
            ValueError, match=rf"^{type(variant).__name__}\.save: (loss|schedule|forgetting|kernel) is a.*cannot be saved"
        ):
            variant.save(path)
        assert not path.exists()
        return
    variant.save(path)
    twin = dl.load(path)
    assert type(twin) is type(variant)
    assert same(twin.__getstate__()["core"], variant.__getstate__()["core"])
    assert repr(twin) == repr(variant)
    assert np.array_equal(twin.run(X[100:], y[100:]).predictions, variant.run(X[100:], y[100:]).predictions)


@for_each("learner", [make() for make in registry.regressors().values()])
def test_a_learner_that_has_learned_nothing_can_be_saved(learner, path):
    learner.save(path)
    assert repr(dl.load(path)) == repr(learner)
    assert dl.load(path).n_seen_ == 0


def test_objects_among_the_parameters_are_restored(path):
    for model in (
        dl.SecondOrder(time=dl.Divide([0.5, 0.9]), reset=dl.Below([0.5, 0.25]), radius=float("inf")),
        dl.SecondOrder(time=dl.Add(0.25), reset=dl.Every(7)),
        dl.GD(loss=dl.losses.Huber(0.25)),
        dl.EG(loss=dl.losses.Pinball(0.75), norm=np.float32(2.5)),
        dl.CRRLS(period=float("inf")),
        dl.ARCOR(schedule=np.array([0.5, 0.25])),
        dl.RLS(forgetting=(0.5, 0.75)),
    ):
        model.save(path)
        twin = dl.load(path)
        assert (
            twin.run(np.ones((3, 2)), np.ones(3)).predictions.tolist()
            == model.run(np.ones((3, 2)), np.ones(3)).predictions.tolist()
        )


@pytest.mark.parametrize("inside", [lambda t: 0.9, dl.Divide(lambda t: 0.9)])
def test_a_function_is_refused_by_the_parameters_name(inside, path):
    model = dl.SecondOrder(time=inside) if isinstance(inside, dl.Divide) else dl.RLS(forgetting=inside)
    with pytest.raises(ValueError, match=r"\.save: (forgetting|time__forgetting) is a function, which cannot be saved"):
        model.save(path)
    assert list(path.parent.iterdir()) == []


def test_names_must_be_text(path):
    model = dl.RLS()
    model.learn_one({("a", 1): 1.0}, 1.0)
    with pytest.raises(ValueError, match=r"RLS\.save: the feature name \('a', 1\) is not text"):
        model.save(path)


def test_feature_names_of_any_text_are_restored(path):
    model = dl.RLS()
    names = ["", "ä", "日本", 'quote"', "new\nline", "\x00", "\U0001f600"]
    model.learn_one(dict.fromkeys(names, 1.0), 1.0)
    model.save(path)
    assert dl.load(path).feature_names_in_.tolist() == names


def test_any_kind_of_path_is_accepted(model, path):
    for form in (path, str(path)):
        model.save(form)
        assert np.array_equal(dl.load(form).coef_, model.coef_)
    with pytest.raises(TypeError):
        dl.load(None)
    with pytest.raises(TypeError):
        dl.load(3.5)
    with pytest.raises(TypeError):
        model.save(None)


def test_a_missing_file_raises_an_os_error(path):
    with pytest.raises(FileNotFoundError):
        dl.load(path)
    with pytest.raises(FileNotFoundError, match=rf"{path.parent}: not a regular file$"):
        dl.load(path.parent)
    with pytest.raises(FileNotFoundError, match=r"nowhere: no such folder$"):
        dl.RLS().save(path.parent / "nowhere" / "model")


def test_a_truncated_file_is_refused_at_every_length(model, path):
    model.save(path)
    data = path.read_bytes()
    for length in [*range(0, len(data), 7), len(data) - 1]:
        path.write_bytes(data[:length])
        refuse(path)


def test_a_flipped_bit_is_detected_anywhere(model, path):
    """Either the file is refused, or its content is unchanged, for example if the bit is in a space of its header."""
    model.save(path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for spot in range(0, len(data), 3):
        altered = bytearray(data)
        altered[spot] ^= 1 << int(rng.integers(8))
        path.write_bytes(altered)
        try:
            assert same(dl.load(path).__getstate__(), model.__getstate__())
        except dl.ModelFileError:
            refused += 1
    assert refused > 0.9 * len(range(0, len(data), 3))


def test_a_changed_number_is_detected_by_the_checksum(model, path):
    model.save(path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    refuse(path, "altered since it was saved: the checksum does not match")


def test_foreign_files_are_refused(path):
    np.save(path.with_suffix(".npy"), np.ones(3))
    path.write_bytes(path.with_suffix(".npy").read_bytes())
    refuse(path, "truncated, or not a driftline model")
    path.write_bytes(b"")
    refuse(path)
    path.write_text('{"model": "rls"}')
    refuse(path)
    path.write_bytes(to_bytes({"weights": np.ones(3)}))
    refuse(path, "not a driftline model")
    path.write_bytes(to_bytes({"weights": np.ones(3)}, metadata={"format": "pt"}))
    refuse(path, "not a driftline model")


@pytest.mark.parametrize(("version", "age"), [(model_file.VERSION + 1, "a newer"), (model_file.OLDEST - 1, "an older")])
def test_another_version_is_named(model, path, version, age):
    model.save(path)
    arrays, _, head = parts(path)
    forge(path, arrays, head, version=str(version))
    refuse(path, f"written in {age} format, version '{version}'; this driftline reads version {model_file.VERSION}")


def test_an_unknown_learner_is_named(model, path):
    model.save(path)
    arrays, _, head = parts(path)
    forge(path, arrays, {**head, "model": {"object": "oracle", "fields": {}}})
    refuse(path, "holds a class that this driftline does not know: 'oracle'")


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_a_pickle_is_never_opened(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps(Bomb()))
    refuse(path)
    assert not (tmp_path / "exploded").exists()


@for_each(
    "change",
    [
        {"model": {"object": "rls", "fields": {"forgetting": 2.0}}},
        {"model": {"object": "rls", "fields": {"forgetting": {"object": "Divide", "fields": {"forgetting": 0.5}}}}},
        {"model": {"object": "rls", "fields": {"forgetting": {"object": "system", "fields": {"command": "true"}}}}},
        {"model": {"object": "rls", "fields": {"forgetting": {"object": "__import__", "fields": {"name": "os"}}}}},
        {"model": {"object": "rls", "fields": {"_core": 3}}},
        {"model": {"object": "rls", "fields": {"no_such_parameter": 3}}},
        {"model": {"object": "rls", "fields": []}},
        {"model": {"object": "rls", "fields": None}},
        {"names": ["a"]},
        {"names": ["a", "b", "c", "d"]},
        {"names": ["a", "a", "b"]},
        {"names": ["a", "b", 3]},
        {"names": "abc"},
        {"names": 7},
        {"skipped": -5},
        {"skipped": 0.5},
        {"skipped": True},
        {"skipped": "many"},
        {"skipped": None},
        {"model": "rls"},
        {"model": ["rls"]},
        {"model": {"object": "rls"}},
        {"model": {"object": ["rls"], "fields": {}}},
        {"model": {"object": "Huber", "fields": {}}},
        {"model": None},
        {"ridge_": [3.0], "model": {"object": "wemm", "fields": {}}},
        {"ridge_": -1.0, "model": {"object": "wemm", "fields": {}}},
        {"ridge_": "x", "model": {"object": "wemm", "fields": {}}},
        {"model": {"object": "arcor", "fields": {}}},
        {"model": {"object": "lms", "fields": {"rate": None}}},
        {"model": {"object": "rls", "fields": {"dtype": "float32"}}},
    ],
)
def test_a_forged_head_is_refused(model, path, change):
    model.save(path)
    arrays, _, head = parts(path)
    forge(path, arrays, {**head, **change})
    refuse(path)


@pytest.mark.parametrize("text", ["", "null", "[]", "3", '"x"', "{", "{}", "[" * 100_000, '{"learner": ' + "1" * 5000 + "}"])
def test_an_invalid_head_is_refused(model, path, text):
    model.save(path)
    forge(path, parts(path)[0], text)
    refuse(path)


def test_a_file_without_its_head_is_refused(model, path):
    model.save(path)
    arrays, meta, _ = parts(path)
    for name in meta:
        path.write_bytes(to_bytes(arrays, metadata={key: value for key, value in meta.items() if key != name}))
        refuse(path)


def test_many_weights_take_no_memory_before_their_matrix_is_checked(path):
    """100,000 weights take 800 kB in the file; their matrix would take 40 GB."""
    dl.Kalman().fit(np.ones((2, 2)), [1.0, 2.0]).save(path)
    arrays, _, head = parts(path)
    forge(path, {**arrays, "core.weights": np.zeros(100_000)}, head)
    refuse(path, "the state's matrix is too small for its weights")


def test_headers_that_claim_huge_sizes_are_refused(model, path):
    model.save(path)
    data = path.read_bytes()
    for size in (2**62, 2**64 - 1, 2**40, len(data), 0, 1):
        path.write_bytes(struct.pack("<Q", size) + data[8:])
        refuse(path)
    header = {"weights": {"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8 * 10**12]}}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(64))
    refuse(path)


def test_a_failed_save_leaves_the_old_file_and_no_other(model, path, monkeypatch):
    model.save(path)
    before = path.read_bytes()
    model.learn_one([0.1, 0.2, 0.3], 1.0)

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(model_file.os, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        model.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_reader_never_sees_a_partial_file(model, path):
    """Two versions of a model overwrite each other while the file is read."""
    other = dl.RLS(forgetting=0.5)
    other.run(np.random.default_rng(1).normal(size=(50, 40)), np.ones(50))
    model.save(path)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            other.save(path)
            model.save(path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        widths = {dl.load(path).n_features_in_ for _ in range(100)}
    finally:
        stop.set()
        writer.join()
    assert widths <= {3, 40}


def test_a_saved_file_has_the_permissions_of_a_new_file(model, path):
    (path.parent / "plain").touch()
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "plain").stat().st_mode)


def test_a_saved_model_resumes_in_another_process(model, path, rows):
    model.save(path)
    code = "import sys, driftline as dl; print(repr(dl.load(sys.argv[1]).predict_one([0.1, 0.2, 0.3])))"
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    assert float(out) == model.predict_one([0.1, 0.2, 0.3])


def test_a_learner_that_is_not_registered_cannot_be_saved(path):
    class Own(dl.RLS):
        pass

    with pytest.raises(ValueError, match="Own is not registered: decorate it"):
        Own().save(path)


IMPOSSIBLE = {
    "sums": [(0, 0.5), (0, -1.0), (0, 1e16), (1, -1e300), (2, -1.0)],
    "coverage": [
        (0, -1.0),
        (20, 1e305),
        (40, -31.0),
        (40, 201.0),
        (56, 0.5),
        (56, 1e6),
        (176, 1e300),
        (200, -1.0),
        (201, 0.5),
        (184, -1.0),
        (185, 0.5),
        (185, 1e5),
        (186, -1.0),
        (188, 1e9),
        (192, 1e9),
        (193, 7.0),
        (194, 0.5),
    ],
}


@pytest.mark.parametrize("make", [dl.RLS, dl.NLMS])
@for_each("name, place, value", [(name, *one) for name, ones in IMPOSSIBLE.items() for one in ones])
def test_impossible_numbers_in_a_state_are_refused(make, name, place, value, path, rows):
    make().fit(*rows).save(path)
    arrays, _, head = parts(path)
    arrays[f"core.{name}"] = arrays[f"core.{name}"].copy()
    arrays[f"core.{name}"][place] = value
    forge(path, arrays, head)
    refuse(path, f"{name} (are|is) out of range")


@pytest.mark.parametrize("seed", range(8))
def test_a_diverging_model_comes_back(seed, path):
    """Its errors leave every bin of scores, and its intervals grow with each row."""
    rng = np.random.default_rng(seed)
    model = dl.LMS(rate=1.0)
    with contextlib.suppress(dl.DivergenceError):
        for x, y in zip(10 * rng.standard_normal((300, 3)), rng.standard_normal(300), strict=True):
            model.learn_one(x, y)
            assert dl.from_bytes(model.to_bytes()).predict_one(x) == model.predict_one(x)
    assert model.n_seen_ > 100
