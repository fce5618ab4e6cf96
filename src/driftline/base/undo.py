"""All or nothing: a verb that fails leaves no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftline.base.learner import Learner


class Undo:
    """Claims a learner for one thread, and leaves it as it was when the block raises."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def __enter__(self) -> None:
        claims = self.learner.__dict__
        if claims.setdefault("_claim", self) is not self:  # one step, which no other thread can interrupt
            name = type(self.learner).__name__
            raise RuntimeError(f"{name}: the model is in use by another thread; give each thread its own, or lock around it")
        try:
            if self.learner._core is not None:
                self.learner._core.claim()
            self.state = self.learner.__getstate__()
        except BaseException:
            self._release()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                self._put_back()
        finally:
            self._release()

    def _put_back(self) -> None:
        try:
            self.learner.__setstate__(self.state)
        except Exception as error:  # there is no memory, or a file had numbers that learning made worse
            self.learner._restore(None, None)  # which cannot fail: better no model than one of parts that do not agree
            name = type(self.learner).__name__
            raise RuntimeError(f"{name}: the state could not be put back, and is lost; load it again ({error})") from error

    def _release(self) -> None:
        try:
            if self.learner._core is not None:
                self.learner._core.release()
        finally:
            del self.learner.__dict__["_claim"]
