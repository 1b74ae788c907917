// What the theme, MathJax and the widget manager leave undone on the book's pages.

// The widget manager asks MathJax 2 to typeset its labels; the pages have MathJax 3.
function answerForMathJax2() {
  if (!window.MathJax?.startup) return;
  MathJax.Hub = {
    Queue([, , element]) {
      if (!/\$|\\\(/.test(element.textContent)) return;
      MathJax.startup.promise.then(() => MathJax.typesetPromise([element]));
    },
  };
}

// A slider's handle has no name, and says its position instead of its value.
function nameSliders(root) {
  for (const slider of root.querySelectorAll(".widget-slider")) {
    const handle = slider.querySelector("[role=slider]");
    const set = (attribute, element) => {
      const text = element?.textContent.trim();
      if (handle && text && handle.getAttribute(attribute) !== text)
        handle.setAttribute(attribute, text);
    };
    set("aria-label", slider.querySelector(".widget-label"));
    set("aria-valuetext", slider.querySelector(".widget-readout"));
  }
}

function watchSliders() {
  const views = document.querySelectorAll("script[type$='widget-view+json']");
  for (const view of views) {
    const output = view.parentElement;
    new MutationObserver(() => nameSliders(output)).observe(output, {
      attributeFilter: ["aria-valuetext"],
      characterData: true,
      childList: true,
      subtree: true,
    });
  }
}

// A formula too wide for the page scrolls in its own box: by keyboard too.
function reachWideFormulas() {
  for (const formula of document.querySelectorAll("mjx-container[display=true]"))
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    else formula.removeAttribute("tabindex");
}

// Paper is white.
function printInLight() {
  const page = document.documentElement;
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => (page.dataset.theme = theme));
}

document.addEventListener("DOMContentLoaded", () => {
  answerForMathJax2();
  watchSliders();
  printInLight();
  const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
  typeset.then(() => new ResizeObserver(reachWideFormulas).observe(document.body));
});
