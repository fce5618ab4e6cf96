"""Rewrites what earlier versions wrote, in the format of this one."""

from __future__ import annotations

from pathlib import Path

from driftline.errors import ModelFileError
from driftline.serve.problems import StoreError
from driftline.serve.store import Snapshot, Store
from driftline.storage import atomic, model_file


def migrate(folder: Path, store: Store | None) -> tuple[int, dict[str, str]]:
    """Rewrites the snapshots of a store, and the model files in a folder and below it.

    Returns how many were in an older format, and what is wrong with those that cannot be read, by their names.
    """
    older, wrong = (0, {}) if store is None else _migrate_store(store)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if model_file.head_of(path) is not None:
            try:
                data = path.read_bytes()
                if (new := model_file.to_bytes(*model_file.from_bytes_with_extra(data))) != data:
                    atomic.write(path, [new])
                    older += 1
            except ModelFileError as error:
                wrong[str(path)] = _reason(error)
    return older, wrong


def _migrate_store(store: Store) -> tuple[int, dict[str, str]]:
    if not store.lead():
        raise StoreError(f"{store.where}: a service uses it; stop it first")
    older, wrong, cut = 0, dict[str, str](), store.cut()
    names = {number: name for number, name, *_ in store.models()}
    for place in store.snapshot_places():
        snapshot = store.snapshot(*place)
        try:
            new = model_file.to_bytes(*model_file.from_bytes_with_extra(snapshot.data))
        except ModelFileError as error:
            name = f"the model {names[snapshot.model]}" + (f", key {snapshot.key}" if snapshot.key else "")
            wrong[name] = _reason(error)
            continue
        if new != snapshot.data:
            store.save([Snapshot(*place, snapshot.place, new)], [], cut)
            older += 1
    return older, wrong


def _reason(error: ModelFileError) -> str:
    return str(error).removeprefix("from_bytes: ")
