"""What the tests of every chapter's pictures share."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg


@pytest.fixture
def titles_fit():
    """Return whether no panel's title runs out of its panel."""

    def fits(panel):
        canvas = FigureCanvasAgg(panel.figure)
        canvas.draw()  # which moves a square panel, and its title
        end = panel._left_title.get_window_extent(canvas.get_renderer()).x1
        return end <= panel.figure.bbox.x1

    return lambda picture: all(map(fits, picture._panels))


@pytest.fixture
def titles_of():
    """Return the titles of a picture's panels."""
    return lambda picture: [p.get_title(loc="left") for p in picture._panels]
