"""The page of `graft bench --html` in Chromium: scripts/browser.sh runs this; the screenshots are left in build/browser.

Not named test_*, since a machine without a browser could only skip it, and a skip is a silent pass."""

from pathlib import Path

import onnx
import pytest
from browser.chromium import Chromium
from onnx import TensorProto, helper

WIDTHS = (1280, 375, 320)

# Texts of one chart that lie over each other, or reach out of it.
COLLISIONS = """(() => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")], frame = svg.getBoundingClientRect();
    const boxes = texts.map(text => text.getBoundingClientRect());
    boxes.forEach((box, i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
        found.push(texts[i].textContent + " reaches out");
      boxes.slice(i + 1).forEach((other, j) => {
        const x = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const y = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (x > 1 && y > 4) found.push(texts[i].textContent + " over " + texts[i + 1 + j].textContent);
      });
    });
  }
  return found;
})()"""

SMALLEST_TEXT = """Math.min(...[...document.querySelectorAll("svg text")].map(text =>
  parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a))"""

# The least contrast of any text against the card that it stands on (WCAG's formula).
CONTRAST = """(() => {
  const parts = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = colour => parts(colour).map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const back = element => { for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor; if (colour != "rgba(0, 0, 0, 0)") return colour; } };
  return Math.min(...[...document.querySelectorAll("h1, h2, p, b, span, th, td, .notice, svg text")].map(element => {
    const style = getComputedStyle(element), ink = light(element.tagName == "text" ? style.fill : style.color);
    const ground = light(back(element));
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
  }));
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(run_graft, models, ops_library, root, tmp_path_factory):
    """Gives pages: two real models, one of them alone, and one whose names are long and whose answer is bad."""
    folder = tmp_path_factory.mktemp("pages")
    model, injected = models / "pp-ocrv4-det.onnx", folder / "pp-ocrv4-det-injected.onnx"
    run_graft("inject", model, "--library", ops_library, "-o", injected, "--no-verify", check=0)
    pages = {name: folder / f"{name}.html" for name in ("pair", "alone", "bad")}
    options = ("-l", ops_library, "--shape", "x=1,3,736,736", "--seconds", "6")
    run_graft("bench", model, injected, *options, "--html", pages["pair"], check=0)
    run_graft("bench", model, "--shape", "x=1,3,96,96", "--rounds", "6", "--html", pages["alone"], check=0)
    run_graft("bench", *badly_named(folder), "--rounds", "4", "--provider", "Azure", "--html", pages["bad"], check=1)
    return pages


def badly_named(folder: Path):
    """Writes two models that differ, whose names have no place to break."""
    for op in ("Sin", "Cos"):
        graph = helper.make_graph(
            [helper.make_node(op, ["x" * 200], ["<y>&" * 30], name="a_node_that_someone_gave_a_very_long_name/" * 6)], "g",
            [helper.make_tensor_value_info("x" * 200, TensorProto.FLOAT, [4096])],
            [helper.make_tensor_value_info("<y>&" * 30, TensorProto.FLOAT, [4096])])
        file = folder / f"{op}{'_of_a_long_name' * 8}.onnx"
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), file)
        yield file


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["pair", "alone", "bad"])
def test_page(browser, pages, root, name, width, dark):
    view = browser.open(pages[name], width, dark)
    pictures = root / "build" / "browser"
    pictures.mkdir(parents=True, exist_ok=True)
    view.screenshot(pictures / f"{name}-{width}-{'dark' if dark else 'light'}.png")
    assert view.evaluate("innerWidth") == width
    assert view.evaluate("document.scrollingElement.scrollWidth") <= width, "the page scrolls sideways"
    assert view.problems == []
    assert view.requests == [pages[name].absolute().as_uri(), "data:,"][: len(view.requests)], "the page needs nothing else"
    assert view.evaluate("document.querySelectorAll('svg').length") >= (3 if name == "alone" else 5)
    assert view.evaluate(COLLISIONS) == []
    assert view.evaluate(SMALLEST_TEXT) >= 9
    assert view.evaluate(CONTRAST) >= 4.5
    background = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 384) == dark


def test_wide_tables_scroll_in_their_own_box(browser, pages):
    view = browser.open(pages["pair"], 375, False)
    wide = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)"
    assert view.evaluate(wide + ".length") >= 2
    assert view.evaluate(f"{wide}.every(box => {{ box.scrollLeft = 50; return box.scrollLeft == 50; }})")
