"""The softmax chapter's frames say what the operation does."""

import numpy as np
import pytest

from backhand.book.pictures import softmax as pictures
from backhand.ops import softmax


@pytest.mark.parametrize("scale", pictures.SCALES)
def test_saturation_tells_the_norm_of_the_jacobian(scale, titles_fit):
    picture = pictures.saturation(scale)
    norm = np.linalg.norm(softmax.jacobian(scale * pictures.SCORES))
    assert f"norm of the Jacobian {norm:.1e}." in picture.caption
    assert titles_fit(picture)


@pytest.mark.parametrize("top", pictures.TOP_SCORES)
def test_overflow_sets_in_where_the_format_ends(top, titles_fit):
    picture = pictures.overflow(top)
    assert titles_fit(picture)
    caption = picture.caption
    for dtype in (np.float32, np.float64):
        over = top > np.log(np.finfo(dtype).max)
        assert (f"exp(z), {dtype.__name__}" in caption) == over
    assert "shifted" not in caption
    assert ("all three agree" in caption) == (top <= 88)
