"""The `transformer-map` directive: the model as one drawing, each block a link.

Values flow down the left of each connection in the forward colour, gradients up the
right in the backward colour; token ids get none. A block whose chapter is not in the
book yet has a dashed outline and the word "soon" on it, one that has a chapter an arrow.
"""

from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

MIDDLE = 180  # every block sits on this line; the drawing is 360 wide

# (top, middle, words, chapter, width) of each block; its height is HEIGHT.
HEIGHT = 34
BLOCKS = [
    (46, MIDDLE, "Embedding", "embedding", 150),
    (128, MIDDLE, "RMSNorm", "normalization", 150),
    (216, 112, "Projections", "multi-head-attention", 90),
    (216, 187, "RoPE", "rope", 50),
    (216, 254, "Attention", "attention", 76),
    (316, MIDDLE, "RMSNorm", "normalization", 150),
    (374, MIDDLE, "SwiGLU", "swiglu", 150),
    (484, MIDDLE, "RMSNorm", "normalization", 150),
    (542, MIDDLE, "Unembedding", "linear", 150),
    (600, MIDDLE, "Softmax", "softmax", 150),
    (658, MIDDLE, "Cross-entropy", "cross-entropy", 150),
]
ATTENTION = (186, 78)  # top and height of the frame around attention's parts
ADDERS = [288, 432]  # the residual sums
STACK = (104, 350)  # the frame around what is repeated
SKIPS = [(118, 288), (306, 432)]  # where each residual path leaves and joins
# From where to where the main stream runs between blocks.
TOKENS = (24, 46)  # integers: values flow from them, no gradient flows back
STREAM = [
    (80, 128),
    (162, 186),
    (264, 278),
    (298, 316),
    (350, 374),
    (408, 422),
    (442, 484),
    (518, 542),
    (576, 600),
    (634, 658),
    (692, 714),
]


class transformer_map(nodes.General, nodes.Element):
    """Holds the place of the drawing until the page's own address is known."""


class TransformerMap(SphinxDirective):
    def run(self):
        return [transformer_map()]


def drawing(address):
    """The map as SVG; `address(chapter)` is its link, or None if it is unwritten."""
    parts = [
        _frame(40, STACK, 280, "repeated L times"),
        _frame(62, ATTENTION, 236),
        f'<text class="bh-map-name" x="{MIDDLE}" y="{ATTENTION[0] + 20}">'
        "Multi-head attention</text>",
        _text(MIDDLE, 16, "tokens"),
        _text(MIDDLE, 730, "loss"),
        _forward(f"M{MIDDLE} {TOKENS[0]}V{TOKENS[1]}"),
        *(_arrows(f"M{MIDDLE - 7} {top}V{bottom}", f"M{MIDDLE + 7} {bottom}V{top}")
          for top, bottom in STREAM),
        *(_skip(*ends) for ends in SKIPS),
        _tied(),
        *(_adder(y, address("residual")) for y in ADDERS),
        *(_block(top, x, words, address(chapter), width)
          for top, x, words, chapter, width in BLOCKS),
    ]
    return (
        '<svg class="bh-map" viewBox="0 0 360 740" role="group" '
        'aria-label="Map of the transformer: a block with a chapter links to it">'
        f"<defs>{_head('forward')}{_head('backward')}</defs>{''.join(parts)}</svg>"
    )


def _head(role):
    return (
        f'<marker id="bh-head-{role}" viewBox="0 0 8 8" refX="7" refY="4" '
        'markerWidth="5" markerHeight="5" orient="auto-start-reverse">'
        f'<path class="bh-map-head-{role}" d="M0 0L8 4L0 8z"/></marker>'
    )


def _forward(path):
    return (
        f'<path class="bh-map-forward" d="{path}" marker-end="url(#bh-head-forward)"/>'
    )


def _arrows(forward, backward):
    return _forward(forward) + (
        f'<path class="bh-map-backward" d="{backward}" '
        'marker-end="url(#bh-head-backward)"/>'
    )


def _skip(top, bottom):
    """The residual path, around the left of what it skips."""
    reach = MIDDLE - 12
    return _arrows(
        f"M{MIDDLE - 7} {top}H56V{bottom - 4}H{reach}",
        f"M{reach} {bottom + 5}H48V{top - 7}H{MIDDLE + 7}",
    )


def _tied():
    """One table serves at both ends."""
    return (
        '<path class="bh-map-tied" d="M255 63H338V559H255"/>'
        '<text class="bh-map-small" transform="translate(350 320) rotate(-90)">'
        "one table, two gradients</text>"
    )


def _text(x, y, words):
    return f'<text class="bh-map-small" x="{x}" y="{y}">{escape(words)}</text>'


def _frame(x, top_and_height, width, words=""):
    y, height = top_and_height
    return (
        f'<rect class="bh-map-frame" x="{x}" y="{y}" width="{width}" '
        f'height="{height}" rx="10"/>{_text(x + width - 56, y + 17, words)}'
    )


def _adder(y, link):
    shape = (
        f'<circle class="bh-map-box" cx="{MIDDLE}" cy="{y}" r="12"/>'
        f'<text class="bh-map-name" x="{MIDDLE}" y="{y + 5}">+</text>'
        f'<text class="bh-map-state" x="{MIDDLE + 58}" y="{y + 4}">'
        f"residual: {state(link)}</text>"
    )
    return _linked(shape, "Residual", link)


def _block(top, x, words, link, width):
    shape = (
        f'<rect class="bh-map-box" x="{x - width / 2:g}" y="{top}" width="{width}" '
        f'height="{HEIGHT}" rx="7"/>'
        f'<text class="bh-map-name" x="{x:g}" y="{top + 16}">{escape(words)}</text>'
        f'<text class="bh-map-state" x="{x:g}" y="{top + 29}">'
        f"{state(link)}</text>"
    )
    return _linked(shape, words, link)


def state(link):
    """What a block says of its chapter, for those who do not see its outline."""
    return "soon" if link is None else "read →"


def _linked(shape, words, link):
    if link is None:
        return (
            f'<g class="bh-map-unwritten" role="img" '
            f'aria-label="{escape(words)}: chapter to come">'
            f"<title>{escape(words)}: chapter to come</title>{shape}</g>"
        )
    shape = shape.replace("</text><text", "</text> <text")  # words, not one word
    return f'<a href="{escape(link)}">{shape}</a>'


def visit(self, node):
    def address(chapter):
        page = f"chapters/{chapter}"
        if page not in self.builder.env.found_docs:
            return None
        return self.builder.get_relative_uri(self.builder.current_docname, page)

    self.body.append(f'<figure class="bh-map-figure">{drawing(address)}{LEGEND}</figure>')
    raise nodes.SkipNode


LEGEND = (
    '<figcaption><span class="bh-map-key bh-map-key-forward">values, forward</span> '
    '<span class="bh-map-key bh-map-key-backward">gradients, backward</span> '
    '<span class="bh-map-key bh-map-key-unwritten">soon: chapter to come</span>'
    "</figcaption>"
)


def setup(app):
    app.add_node(transformer_map, html=(visit, None))
    app.add_directive("transformer-map", TransformerMap)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
