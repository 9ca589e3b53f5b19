// What the reader does: zooms, moves, searches, chooses; by mouse, touch and keys.
//
//   pointer, wheel, keys ──► view: times on the screen, row, item ──► one drawing a frame
//                                     └──► the address (#from=..&to=..), so that a reload keeps it
"use strict";

const element = (id) => document.getElementById(id);
const STEP = 0.15; // of the times on the screen, by a key that moves
const CLOSER = 1.35; // by a key or a button that zooms
const SHORTEST = 50; // picoseconds on the screen, at least

class Viewer {
  constructor(trace) {
    this.trace = trace;
    this.rows = new Rows(trace);
    const first = firstOf(trace);
    const last = Math.max(trace.last, first + SHORTEST);
    this.view = { first, last, from: first, to: last, scrolled: 0, row: null, item: NONE, stretch: null };
    this.view.isSearched = false;
    this.hits = new Uint32Array(0);
    this.drawing = new Drawing(trace, this.rows, this.view);
    this.scroller = element("scroller");
    this.pointers = new Map();
    this.measure();
    this.listen();
    this.restore();
  }

  // --- the screen ---

  measure() {
    const { view, rows, scroller } = this;
    view.width = scroller.clientWidth;
    view.isNarrow = view.width < NARROW;
    view.left = view.isNarrow ? 0 : NAME_WIDTH;
    view.viewHeight = scroller.clientHeight;
    rows.place(view.isNarrow);
    element("height").style.height = `${Math.max(rows.height, 1)}px`;
    this.show();
  }

  // Draws when the screen is ready for a picture; however much has changed by then, once.
  show() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.view.scrolled = this.scroller.scrollTop;
      this.drawing.all();
      this.say();
      this.keep();
    });
  }

  say() {
    const { view, trace, rows } = this;
    const told = [`${timeInWords(view.from)} to ${timeInWords(view.to)}`];
    told.push(`${trace.events.toLocaleString("en")} events on ${rows.nodes.length} node${rows.nodes.length === 1 ? "" : "s"}`);
    if (view.hidesArrows) told.push("zoom in to see arrows");
    if (rows.machine.description) told.push(rows.machine.description);
    element("notice").textContent = told.join(" · ");
  }

  go(from, to) {
    const { view } = this;
    const whole = view.last - view.first;
    const length = Math.min(whole, Math.max(SHORTEST, to - from));
    const middle = (from + to) / 2;
    view.from = Math.min(Math.max(view.first, middle - length / 2), view.last - length);
    view.to = view.from + length;
    this.show();
  }

  zoom(factor, around = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view;
    const length = Math.min(Math.max((to - from) * factor, SHORTEST), this.view.last - this.view.first);
    const share = (around - from) / (to - from);
    this.go(around - share * length, around + (1 - share) * length);
  }

  move(share) {
    const length = this.view.to - this.view.from;
    this.go(this.view.from + share * length, this.view.to + share * length);
  }

  // --- the address ---

  keep() {
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => {
      const { from, to, item } = this.view;
      const told = new URLSearchParams({ from: Math.round(from), to: Math.round(to) });
      if (item !== NONE) told.set("item", item);
      if (this.words) told.set("search", this.words);
      history.replaceState(null, "", `#${told}`);
    }, 300);
  }

  restore() {
    const told = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (told.has(name) ? Number(told.get(name)) : NaN);
    const item = number("item");
    if (told.get("search")) {
      element("search").words.value = told.get("search");
      this.search();
    }
    if (item >= 0 && item < this.trace.count) this.choose(item);
    if (number("from") < number("to")) this.go(number("from"), number("to"));
  }

  // --- choosing ---

  choose(item) {
    const { view, trace } = this;
    view.item = item;
    if (item !== NONE) {
      const track = trace.tracks[trace.track[item]];
      const node = trace.tracks[track.parent];
      if (node.isFolded) this.fold(node);
      view.row = track.row;
      this.reveal(track.row);
    }
    showDetails(this);
    this.show();
  }

  // Chooses an item and moves to where it is seen.
  visit(item) {
    if (item === NONE || item === undefined) return;
    const { begin, end } = this.trace;
    const { from, to } = this.view;
    this.choose(item);
    if (begin[item] < from || end[item] > to) {
      const length = Math.max(to - from, 2 * (end[item] - begin[item]));
      const middle = (begin[item] + end[item]) / 2;
      this.go(middle - length / 2, middle + length / 2);
    }
  }

  // Zooms to what is chosen.
  fit() {
    if (this.view.item === NONE) return;
    const { begin, end } = this.trace;
    const [from, to] = [begin[this.view.item], end[this.view.item]];
    const length = Math.max(to - from, 100_000);
    this.go((from + to) / 2 - length, (from + to) / 2 + length);
  }

  reveal({ top, height }) {
    const { scroller } = this;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    const foot = top + height - scroller.clientHeight;
    if (foot > scroller.scrollTop) scroller.scrollTop = foot;
  }

  fold(node) {
    node.isFolded = !node.isFolded;
    this.measure();
  }

  // The next row, up or down.
  chooseRow(step) {
    const { rows, view } = this;
    const at = view.row ? rows.rows.findIndex(({ node, track }) => node === view.row.node && track === view.row.track) : -1;
    const next = rows.rows[Math.min(rows.rows.length - 1, Math.max(0, at + step))];
    view.row = next;
    view.item = NONE;
    this.reveal(next);
    showRow(next);
    this.show();
  }

  // The next item of the row: of the outermost lane, or of the one of what is chosen.
  chooseNext(step) {
    const { view, trace } = this;
    const lanes = view.row?.track?.lanes ?? [];
    if (!lanes.length) return;
    const depth = view.item === NONE ? 0 : trace.depth[view.item];
    const { items, begins } = lanes[depth];
    const at = view.item === NONE ? firstBehind(begins, view.from) - (step > 0 ? 1 : 0) : firstBehind(items, view.item) - 1;
    const next = at + step;
    if (next >= 0 && next < items.length) this.visit(items[next]);
  }

  // The next step of the packet that is chosen.
  chooseStep(step) {
    const { view, trace } = this;
    if (view.item === NONE || trace.flow[view.item] === NONE) return;
    const steps = trace.flows[trace.flow[view.item]];
    this.visit(steps[steps.indexOf(view.item) + step]);
  }

  // --- searching ---

  search() {
    const { trace, view } = this;
    this.words = element("search").words.value.trim();
    view.isSearched = this.words !== "";
    this.hits = view.isSearched ? hitsOf(trace, this.words) : new Uint32Array(0);
    if (view.isSearched) markHits(trace, this.hits);
    this.hit = -1;
    element("hits").textContent = view.isSearched ? `${this.hits.length.toLocaleString("en")} hits` : "";
    this.show();
  }

  visitHit(step) {
    const { hits } = this;
    if (!hits.length) return;
    this.hit =
      this.hit < 0
        ? Math.max(0, Math.min(hits.length - 1, firstBehind(Float64Array.from(hits, (item) => this.trace.begin[item]), this.view.from - 1)))
        : (this.hit + step + hits.length) % hits.length;
    this.visit(hits[this.hit]);
    element("hits").textContent = `${(this.hit + 1).toLocaleString("en")} of ${hits.length.toLocaleString("en")}`;
  }

  // --- pointers ---

  // What is at a place of the rows' canvas.
  under(event) {
    const box = element("rows").getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top + this.scroller.scrollTop];
    if (y >= this.rows.height) return { row: null, item: NONE };
    const row = this.rows.rowAt(y);
    if (!row.track || x < this.view.left || row.track.times) return { row, item: NONE };
    const inside = y - row.top - (this.view.isNarrow ? NAME_HEIGHT : 0);
    const lane = row.track.lanes[row.track.hasInstants ? 0 : Math.floor(inside / LANE_HEIGHT)];
    return { row, item: lane ? lane.at(this.drawing.time(x), 4 * this.drawing.perPoint()) : NONE };
  }

  listen() {
    const { scroller } = this;
    new ResizeObserver(() => this.measure()).observe(scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.drawing.palette.read();
      this.show();
    });
    scroller.addEventListener("scroll", () => this.show());
    listenToPointers(this);
    addEventListener("keydown", (event) => pressed(this, event));
    const form = element("search");
    form.words.addEventListener("input", () => this.search());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.visitHit(1);
    });
    const clicks = {
      former: () => this.visitHit(-1),
      closer: () => this.zoom(1 / CLOSER),
      wider: () => this.zoom(CLOSER),
      all: () => this.go(this.view.first, this.view.last),
      ask: () => element("help").showModal(),
    };
    for (const [id, does] of Object.entries(clicks)) element(id).addEventListener("click", does);
  }
}

// The items that a search finds: in names of events and rows, and in what is known of them.
function hitsOf(trace, words) {
  const wanted = words.toLowerCase();
  const has = (text) => text !== undefined && text.toLowerCase().includes(wanted);
  const names = trace.names.map(has);
  const texts = trace.texts.map(has);
  const tracks = trace.tracks.map((track) => track?.parent !== undefined && has(track.name));
  const number = /^(0x[0-9a-f]+|\d+)$/.test(wanted) ? Number(wanted) : NaN;
  const found = new Column(Uint32Array);
  for (let item = 0; item < trace.count; item++) {
    let isHit = names[trace.name[item]] || tracks[trace.track[item]];
    const end = item + 1 < trace.count ? trace.details[item + 1] : trace.detailKey.length;
    for (let next = trace.details[item]; !isHit && next < end; next++) {
      const value = trace.detailValue[next];
      isHit = trace.detailKind[next] === TEXT ? texts[value] : value === number;
    }
    if (isHit) found.push(item);
  }
  return found.done();
}

// Counts the hits in each lane up to each of its items.
function markHits(trace, hits) {
  const isHit = new Uint8Array(trace.count);
  for (const item of hits) isHit[item] = 1;
  for (const track of trace.tracks.filter(Boolean)) {
    for (const lane of track.lanes) {
      lane.hits = new Uint32Array(lane.items.length + 1);
      for (let at = 0; at < lane.items.length; at++) lane.hits[at + 1] = lane.hits[at] + isHit[lane.items[at]];
    }
  }
}
