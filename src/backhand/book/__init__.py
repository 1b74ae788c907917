"""What the notebooks show: pictures, explorers, tables. Needs the `notebook` extra.

Importing it gives the reports that cells end with their links to chapters.
"""

from .agreement import agreement
from .catalogue import catalogue
from .explorer import Explorer
from .picture import Picture
from .reports import show_links
from .table import Source, Table

__all__ = ["Explorer", "Picture", "Source", "Table", "agreement", "catalogue"]

show_links()
