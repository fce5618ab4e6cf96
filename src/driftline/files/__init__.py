"""Reads files and pipes as rows of numbers, in bounded memory: CSV, JSON lines, Parquet, Arrow. Needs pyarrow."""

from driftline.errors import missing_extra

try:
    import pyarrow  # noqa: F401
except ImportError as error:
    raise missing_extra("files are read by", "pyarrow", "files") from error

from driftline.files.errors import DataError
from driftline.files.follower import Follower, follow
from driftline.files.options import Options
from driftline.files.raw import Block
from driftline.files.rows import Rows, open_rows

__all__ = ["Block", "DataError", "Follower", "Options", "Rows", "follow", "open_rows"]
