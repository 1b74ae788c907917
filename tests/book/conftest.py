"""What the tests of every chapter's pictures share."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg


@pytest.fixture
def titles_fit():
    """Return whether no panel's title runs out of its panel."""

    def fits(panel):
        renderer = FigureCanvasAgg(panel.figure).get_renderer()
        return panel._left_title.get_window_extent(renderer).x1 <= panel.figure.bbox.x1

    return lambda picture: all(map(fits, picture._panels))
