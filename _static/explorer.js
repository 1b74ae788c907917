// Explorers without a kernel (src/backhand/book/explorer.py): sliders that change a
// picture. Where they stand is in the page's address, as #name=position,position.

const SETTLED = 500; // ms without a change
const PLAY_STEP = 700; // ms a picture is shown

class Explorer {
  static all = new Map();

  constructor(figure) {
    const part = (selector) => figure.querySelector(selector);
    this.figure = figure;
    this.sliders = [...figure.querySelectorAll("input[type=range]")];
    this.start = this.sliders.map((slider) => Number(slider.getAttribute("value")));
    this.panels = part(".bh-panels");
    this.caption = part("figcaption > span");
    this.announced = part(".bh-announced");
    this.playButton = part(".bh-play");
    Object.assign(this, JSON.parse(part("script").textContent));
    this.shown = this.frame; // the first picture came with the page
    // The images of each frame that was asked for, and the frames that are decoded.
    this.drawn = new Map([[this.shown, [...this.panels.children]]]);
    this.ready = new Set();
    for (const slider of this.sliders)
      slider.addEventListener("input", () => this.changed());
    part(".bh-reset").addEventListener("click", () => this.moveTo(this.start));
    this.playButton?.addEventListener("click", () =>
      this.playing ? this.stop() : this.play(),
    );
    Explorer.all.set(figure.id, this);
    new ResizeObserver(() => this.reserve()).observe(figure);
  }

  get positions() {
    return this.sliders.map((slider) => Number(slider.value));
  }

  set positions(positions) {
    this.sliders.forEach((slider, i) => (slider.value = positions[i]));
    this.show();
  }

  // Which frame belongs to where the sliders stand; the last one varies fastest.
  get frame() {
    const { positions, readings } = this;
    return positions.reduce((frame, at, i) => frame * readings[i].length + at, 0);
  }

  accepts(positions) {
    return (
      positions.length === this.sliders.length &&
      positions.every((at, i) => at < this.readings[i].length)
    );
  }

  moveTo(positions) {
    this.positions = positions;
    this.changed();
  }

  changed() {
    this.announced.textContent = "";
    this.show();
    touched = this;
    clearTimeout(settling);
    if (!this.playing) settling = setTimeout(settle, SETTLED);
  }

  show() {
    this.sliders.forEach((slider, i) => {
      const reading = this.readings[i][slider.value];
      slider.setAttribute("aria-valuetext", reading);
      slider.parentElement.querySelector(".bh-reading").textContent = reading;
      slider.style.setProperty("--bh-at", slider.value / slider.max);
    });
    const frame = this.frame;
    if (frame === this.shown) return;
    this.shown = frame;
    if (this.ready.has(frame)) this.paint(frame);
    else this.decode(frame).then(() => this.shown === frame && this.paint(frame));
  }

  paint(frame) {
    this.panels.replaceChildren(...this.images(frame));
    this.caption.textContent = this.frames[frame].caption;
  }

  // The caption that needs the most lines at this width keeps the place of all: the
  // longest in letters, which the page came with, is not always it.
  reserve() {
    const place = this.caption.parentElement;
    if (place.clientWidth === this.width) return;
    this.width = place.clientWidth;
    const trial = place.appendChild(this.caption.cloneNode());
    trial.className = "bh-trial";
    const lines = (words) => {
      trial.textContent = words;
      return trial.offsetHeight;
    };
    const words = this.frames.map(({ caption }) => caption);
    const heights = words.map(lines);
    trial.remove();
    const tallest = heights.indexOf(Math.max(...heights));
    place.dataset.longest = words[tallest];
  }

  images(frame) {
    if (!this.drawn.has(frame))
      this.drawn.set(
        frame,
        this.frames[frame].images.map(({ svg, ...attributes }, i) => {
          const image = this.panels.children[i].cloneNode();
          const drawing = svg.map((piece) => this.pieces[piece]).join(">");
          const src = `data:image/svg+xml,${encodeURIComponent(drawing)}`;
          return Object.assign(image, attributes, { src });
        }),
      );
    return this.drawn.get(frame);
  }

  async decode(frame) {
    await Promise.all(this.images(frame).map((image) => image.decode().catch(() => {})));
    this.ready.add(frame);
  }

  // Drawing takes longer than a screen's frame: done ahead, while the browser is idle.
  decodeAll() {
    const whenIdle = window.requestIdleCallback ?? setTimeout;
    const near = (frame) => Math.abs(frame - this.frame);
    const queue = [...this.frames.keys()].sort((a, b) => near(a) - near(b));
    const next = () => {
      if (queue.length) this.decode(queue.shift()).then(() => whenIdle(next));
    };
    whenIdle(next);
  }

  play() {
    const [slider] = this.sliders;
    if (slider.value === slider.max) slider.value = 0;
    else slider.value++;
    this.playing = setInterval(() => {
      if (slider.value === slider.max) return this.stop();
      slider.value++;
      this.changed();
    }, PLAY_STEP);
    this.playButton.textContent = "Pause";
    this.changed();
  }

  stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.playButton.textContent = "Play";
    this.changed();
  }
}

let touched, settling;
let settled = {}; // where all sliders stood when they last rested

function standing() {
  const all = [...Explorer.all].map(([name, { positions }]) => [name, positions]);
  return Object.fromEntries(all);
}

// The part of the address behind #: those that are not at their start, the one that
// was touched last before the others, since a page opened there scrolls to the first.
function address() {
  const moved = [...Explorer.all.values()].filter(
    ({ positions, start }) => positions.join() !== start.join(),
  );
  moved.sort((a, b) => (b === touched) - (a === touched));
  return moved.map(({ figure, positions }) => `${figure.id}=${positions}`).join("&");
}

// What an address says, as far as there is such an explorer with such a position.
function inAddress() {
  const found = {};
  for (const part of location.hash.slice(1).split("&")) {
    const [, name, list] = part.match(/^([a-z0-9-]+)=(\d{1,3}(?:,\d{1,3})*)$/) ?? [];
    const positions = list?.split(",").map(Number);
    if (Explorer.all.get(name)?.accepts(positions)) found[name] = positions;
  }
  return found;
}

function settle() {
  touched.announced.textContent = touched.caption.textContent;
  const now = standing();
  if (JSON.stringify(now) === JSON.stringify(settled)) return;
  history.replaceState({ explorers: settled }, "");
  const hash = address();
  const url = location.href.split("#")[0] + (hash && `#${hash}`);
  history.pushState({ explorers: now }, "", url);
  settled = now;
}

function apply(explorers) {
  for (const [name, explorer] of Explorer.all)
    explorer.positions = explorers[name] ?? explorer.start;
  settled = standing();
}

// Back, forward, or a link on the page. An ordinary link leaves the sliders alone.
function travel({ state }) {
  clearTimeout(settling);
  const linked = inAddress();
  if (state?.explorers) return apply(state.explorers);
  if (!location.hash) return apply({});
  if (Object.keys(linked).length) {
    apply(linked);
    scrollToFirst(linked);
  }
}

function scrollToFirst(explorers) {
  const [name] = Object.keys(explorers);
  if (name) Explorer.all.get(name).figure.scrollIntoView();
}

// At its start a page's formulas still grow: the linked explorer is kept in its place
// until they are set, unless the reader has moved on.
function openAtAddress() {
  const linked = inAddress();
  apply(linked);
  if (!Object.keys(linked).length) return;
  history.scrollRestoration = "manual";
  scrollToFirst(linked);
  let moved = false;
  const stay = () => (moved = true);
  for (const type of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(type, stay, { once: true, passive: true });
  addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    if (!moved) scrollToFirst(linked);
    history.scrollRestoration = "auto";
  });
}

function stopPlaying({ target }) {
  for (const explorer of Explorer.all.values())
    if (explorer.playing && target !== explorer.playButton) explorer.stop();
}

function startExplorers() {
  for (const figure of document.querySelectorAll(".bh-explorer")) new Explorer(figure);
  if (!Explorer.all.size) return;
  openAtAddress();
  addEventListener("popstate", travel);
  for (const type of ["pointerdown", "keydown", "wheel"])
    addEventListener(type, stopPlaying, { passive: true });
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) {
          near.unobserve(target);
          Explorer.all.get(target.id).decodeAll();
        }
    },
    { rootMargin: "50%" },
  );
  for (const { figure } of Explorer.all.values()) near.observe(figure);
}

// Once the page is read, before the scripts that wait for that (MathJax is one).
document.addEventListener("readystatechange", () => {
  if (document.readyState === "interactive") startExplorers();
});
