"""Choices of the operations on recordings. Importing them costs nothing, so that command lines can list them."""

from typing import Literal

CompareMode = Literal["auto", "literal", "semantic"]
CompareStrategy = Literal["declared", "derived", "solax_heuristic"]
SnapshotMode = Literal["omit", "include"]
