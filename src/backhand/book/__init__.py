"""What the notebooks show: pictures, explorers, tables. Needs the `notebook` extra."""

from .agreement import agreement
from .catalogue import catalogue
from .explorer import Explorer
from .picture import Picture
from .table import Source, Table

__all__ = ["Explorer", "Picture", "Source", "Table", "agreement", "catalogue"]
