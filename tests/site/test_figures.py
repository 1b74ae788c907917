"""What a cell displays is a numbered figure where the cell gives it a name."""

import subprocess
import sys
from pathlib import Path

import nbformat.v4 as nb
import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
CONFIGURATION = f"""
import sys
sys.path.insert(0, {str(ROOT / "_ext")!r})
extensions = ["myst_nb", "figures"]
nb_execution_mode = "off"
numfig = True
"""
METADATA = {"language_info": {"name": "python", "pygments_lexer": "python"}}
PICTURE = (
    '<figure class="bh-picture"><img alt="A line" src="data:,">'
    "<figcaption>It rises &lt; 2</figcaption></figure>"
)
EXPLORER = (
    '<figure class="bh-explorer" id="rise"><p class="bh-explorer-title">How far</p>'
    '<figcaption data-longest="">By 3</figcaption></figure>'
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    book = tmp_path_factory.mktemp("book")

    def cell(html, name=None):
        metadata = {"mystnb": {"figure": {"name": name}}} if name else {}
        output = nb.new_output("display_data", {"text/html": html})
        return nb.new_code_cell("show", outputs=[output], metadata=metadata)

    words = "# One\n\nSee {numref}`fig-line` and {numref}`fig-rise`."
    cells = [nb.new_markdown_cell(words), cell(PICTURE, "fig-line")]
    cells += [cell(EXPLORER, "fig-rise"), cell(PICTURE)]
    notebook = nb.new_notebook(cells=cells, metadata=METADATA)
    (book / "index.ipynb").write_text(nb.writes(notebook))
    (book / "conf.py").write_text(CONFIGURATION)
    command = [sys.executable, "-m", "sphinx", "-qW", "-b", "html", ".", "out"]
    subprocess.run(command, cwd=book, check=True)
    return BeautifulSoup((book / "out/index.html").read_text(), "html.parser")


def test_the_text_refers_to_it_by_its_number(page):
    links = {a["href"]: a.text for a in page.select("p a.reference")}
    assert links == {"#fig-line": "Fig. 1", "#fig-rise": "Fig. 2"}


def test_a_pictures_caption_and_an_explorers_title_stand_there_once(page):
    line, rise = page.find(id="fig-line"), page.find(id="fig-rise")
    assert line.find("figcaption").text.strip().startswith("Fig. 1 It rises < 2")
    assert line.text.count("It rises") == 1 and line.find("img")
    assert rise.find("figcaption").text.strip().startswith("Fig. 2 How far")
    assert rise.text.count("How far") == 1 and "By 3" in rise.find(id="rise").text


def test_one_without_a_name_has_no_number(page):
    assert page.text.count("It rises") == 2
    assert "Fig. 3" not in page.text
