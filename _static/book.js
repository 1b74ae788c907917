// What the theme and MathJax leave undone on the book's pages.

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
  findMistakes();
  printInLight();
  const typeset = window.MathJax?.startup?.promise ?? Promise.resolve();
  typeset.then(() => new ResizeObserver(reachWideFormulas).observe(document.body));
});
