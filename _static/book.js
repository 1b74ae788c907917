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

// A slider's step draws three pictures anew, which takes longer than a frame unless they
// are decoded already. That is done while the browser is idle, from when a slider comes
// in sight; the browser knows a picture again as long as one of its address is kept.
const decoded = [];
function decodeFrames() {
  const whenIdle = window.requestIdleCallback ?? setTimeout;
  const pictures = new Set();
  for (const script of document.querySelectorAll("script[type$='widget-state+json']"))
    for (const { state } of Object.values(JSON.parse(script.textContent).state)) {
      const frame = document.createElement("template"); // whose pictures do not load
      frame.innerHTML = state.value ?? "";
      for (const picture of frame.content.querySelectorAll("img"))
        pictures.add(picture.src);
    }
  const queue = pictures.values();
  whenIdle(function next() {
    const { value, done } = queue.next();
    if (done) return;
    const picture = new Image();
    picture.src = value;
    decoded.push(picture);
    picture.decode().finally(() => whenIdle(next));
  });
}

function decodeFramesInTime() {
  const sight = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    sight.disconnect();
    decodeFrames();
  });
  for (const view of document.querySelectorAll("script[type$='widget-view+json']"))
    sight.observe(view.parentElement);
}

// A formula too wide for the page scrolls in its own box: by keyboard too.
function reachWideFormulas() {
  for (const formula of document.querySelectorAll("mjx-container[display=true]"))
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    else formula.removeAttribute("tabindex");
}

// A field above the mistakes that leaves those which have all of its words.
function findMistakes() {
  const mistakes = [...document.querySelectorAll(".bh-mistake")];
  if (!mistakes.length) return;
  const operations = [...document.querySelectorAll(".bh-op")];
  const headings = new Set(operations.map((each) => each.closest("section")));
  const field = Object.assign(document.createElement("input"), { type: "search" });
  const count = document.createElement("output");
  const label = document.createElement("label");
  label.className = "bh-find";
  field.placeholder = "loss is nan";
  label.append("Find a mistake: ", field, count);
  operations[0].closest("section").before(label);

  const show = () => {
    const words = field.value.toLowerCase().replaceAll("’", "'").split(/\s+/);
    for (const mistake of mistakes) {
      const { id, dataset, textContent } = mistake;
      const text = `${id.replaceAll("-", " ")} ${dataset.words} ${textContent}`;
      mistake.hidden = !words.every((word) => text.toLowerCase().includes(word));
    }
    for (const group of [...operations, ...headings])
      group.hidden = !group.querySelector(".bh-mistake:not([hidden])");
    for (const operation of operations) operation.open = field.value.trim() !== "";
    const shown = mistakes.filter((mistake) => !mistake.hidden).length;
    count.textContent = `${shown} of ${mistakes.length}`;
  };
  const unfold = () => {
    const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const operation = wanted?.closest(".bh-op");
    if (operation) {
      operation.open = true;
      wanted.scrollIntoView();
    }
  };
  field.addEventListener("input", show);
  window.addEventListener("hashchange", unfold);
  show();
  unfold();
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
  decodeFramesInTime();
  findMistakes();
  printInLight();
  const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
  typeset.then(() => new ResizeObserver(reachWideFormulas).observe(document.body));
});
