// Keys, pointers and the wheel: what each does is said in the page's help.
"use strict";

const WHEEL = 0.0015; // of a zoom, by a point of the wheel
const STILL = 4; // points that a pointer may move in a click

function pressed(viewer, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || element("help").open) return;
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === "Escape") {
    viewer.choose(NONE);
    if (isTyping) viewer.scroller.focus();
    return;
  }
  if (isTyping) return;
  const isInRows = !(event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement);
  const general = {
    w: () => viewer.zoom(1 / CLOSER),
    s: () => viewer.zoom(CLOSER),
    a: () => viewer.move(-STEP),
    d: () => viewer.move(STEP),
    f: () => viewer.fit(),
    0: () => viewer.go(viewer.view.first, viewer.view.last),
    "/": () => element("search").words.focus(),
    n: () => viewer.visitHit(1),
    N: () => viewer.visitHit(-1),
    "[": () => viewer.chooseStep(-1),
    "]": () => viewer.chooseStep(1),
    "?": () => element("help").showModal(),
  };
  general["+"] = general["="] = general.w;
  general["-"] = general.s;
  const inRows = {
    ArrowUp: () => viewer.chooseRow(-1),
    ArrowDown: () => viewer.chooseRow(1),
    ArrowLeft: () => viewer.chooseNext(-1),
    ArrowRight: () => viewer.chooseNext(1),
    Enter: () => viewer.view.row && viewer.fold(viewer.view.row.node),
  };
  const does = general[event.key] ?? (isInRows ? inRows[event.key] : undefined);
  if (!does) return;
  event.preventDefault();
  does();
}

function listenToPointers(viewer) {
  const { scroller, view } = viewer;
  const onTimes = [element("overview"), element("ruler")];
  const place = (event) => event.clientX - scroller.getBoundingClientRect().left;
  const wheel = (event) => {
    const moved = event.deltaMode === 1 ? 16 * event.deltaY : event.deltaY;
    const zooms = event.ctrlKey || event.metaKey || event.currentTarget !== scroller;
    const across = event.shiftKey ? moved || event.deltaX : event.deltaX;
    if (zooms) viewer.zoom(Math.exp(moved * WHEEL), viewer.drawing.time(Math.max(view.left, place(event))));
    else if (across) viewer.move(across / (view.width - view.left));
    else return; // rows scroll by themselves
    event.preventDefault();
  };
  for (const each of [scroller, ...onTimes]) each.addEventListener("wheel", wheel, { passive: false });

  scroller.addEventListener("pointerdown", (event) => {
    if (event.offsetX >= scroller.clientWidth || event.button !== 0) return; // the scroll bar
    scroller.setPointerCapture(event.pointerId);
    viewer.pointers.set(event.pointerId, { x: place(event), y: event.clientY, moved: 0 });
    if (event.shiftKey) view.stretch = [0, 1].map(() => viewer.drawing.time(place(event)));
  });
  scroller.addEventListener("pointermove", (event) => {
    const held = viewer.pointers.get(event.pointerId);
    if (!held) {
      showHint(viewer, event);
      return;
    }
    element("hint").hidden = true;
    const [x, y] = [place(event), event.clientY];
    if (view.stretch) view.stretch[1] = viewer.drawing.time(x);
    else if (viewer.pointers.size > 1) pinch(viewer, event.pointerId, x);
    else {
      viewer.move((held.x - x) / (view.width - view.left));
      scroller.scrollTop += held.y - y;
    }
    held.moved += Math.abs(x - held.x) + Math.abs(y - held.y);
    Object.assign(held, { x, y });
    viewer.show();
  });
  const released = (event) => {
    const held = viewer.pointers.get(event.pointerId);
    viewer.pointers.delete(event.pointerId);
    if (view.stretch) {
      const [from, to] = view.stretch.toSorted((one, other) => one - other);
      view.stretch = null;
      if (to > from) viewer.go(from, to);
    } else if (held && held.moved <= STILL && event.type === "pointerup") clicked(viewer, event);
  };
  for (const kind of ["pointerup", "pointercancel"]) scroller.addEventListener(kind, released);
  scroller.addEventListener("pointerleave", () => (element("hint").hidden = true));
  scroller.addEventListener("dblclick", () => viewer.fit());

  // The overview moves the screen to where it is pointed at.
  const overview = element("overview");
  const jump = (event) => {
    if (!event.buttons) return;
    overview.setPointerCapture(event.pointerId);
    const middle = view.first + (event.offsetX / view.width) * (view.last - view.first);
    const half = (view.to - view.from) / 2;
    viewer.go(middle - half, middle + half);
  };
  for (const kind of ["pointerdown", "pointermove"]) overview.addEventListener(kind, jump);
}

// Two fingers: the times under them stay under them.
function pinch(viewer, moving, x) {
  const { drawing, pointers } = viewer;
  const [still] = [...pointers].filter(([pointer]) => pointer !== moving).map(([, held]) => held);
  const before = Math.abs(pointers.get(moving).x - still.x);
  const after = Math.abs(x - still.x);
  if (before > 10 && after > 10) viewer.zoom(before / after, drawing.time(still.x));
}

function clicked(viewer, event) {
  const { row, item } = viewer.under(event);
  if (row && !row.track) viewer.fold(row.node);
  viewer.view.row = row;
  viewer.choose(item);
  if (item === NONE && row) showRow(row);
}

// --- words about what is pointed at or chosen -------------------------------------

function showHint(viewer, event) {
  const { row, item } = viewer.under(event);
  const { trace } = viewer;
  const hint = element("hint");
  hint.hidden = !row || (item === NONE && !row.track);
  if (hint.hidden) return;
  hint.textContent = item === NONE ? rowInWords(viewer, row, event) : itemInWords(trace, item).join("\n");
  const { width, height } = hint.getBoundingClientRect();
  hint.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - width - 4))}px`;
  hint.style.top = `${event.clientY + 16 + height > innerHeight ? event.clientY - height - 8 : event.clientY + 16}px`;
}

function rowInWords({ drawing, view }, { track }, event) {
  const told = [track.name, track.description];
  const x = event.clientX - element("rows").getBoundingClientRect().left;
  if (track.times && x >= view.left) {
    const at = firstBehind(track.times, drawing.time(x)) - 1;
    if (at >= 0) told.unshift(`${track.values[at]} ${track.unit} from ${timeInWords(track.times[at])} on`);
  }
  return told.join("\n");
}

function itemInWords(trace, item) {
  const length = trace.end[item] - trace.begin[item];
  const around = trace.around[item] === NONE ? "" : `${trace.names[trace.name[trace.around[item]]]} / `;
  const told = [`${around}${trace.names[trace.name[item]]}${length ? `: ${timeInWords(length)}` : ""}`];
  return [...told, ...trace.detailsOf(item).map(([name, value]) => `${name}: ${value}`)];
}

function showRow({ node, track }) {
  const details = element("details");
  details.hidden = false;
  details.replaceChildren(heading(track ? `${node.name}, ${track.name}` : node.name), sentence(track?.description ?? ""));
}

function showDetails(viewer) {
  const { trace, view } = viewer;
  const details = element("details");
  details.hidden = view.item === NONE;
  if (details.hidden) return;
  const { item } = view;
  const track = trace.tracks[trace.track[item]];
  const length = trace.end[item] - trace.begin[item];
  const around = trace.around[item];
  const facts = [["row", trackInWords(trace, track)]];
  facts.push([length ? "begins" : "at", timeInWords(trace.begin[item])]);
  if (length) facts.push(["ends", timeInWords(trace.end[item])], ["lasts", timeInWords(length)]);
  if (around !== NONE) facts.push(["within", trace.names[trace.name[around]]]);
  const list = document.createElement("dl");
  for (const [name, value] of [...facts, ...trace.detailsOf(item)]) {
    const entry = document.createElement("div");
    entry.append(written("dt", name), written("dd", value));
    list.append(entry);
  }
  const close = written("button", "×");
  close.className = "close";
  close.setAttribute("aria-label", "Close");
  close.addEventListener("click", () => viewer.choose(NONE));
  details.replaceChildren(close, heading(trace.names[trace.name[item]]), list, ...stepsOf(viewer, item));
}

// The way of a packet: a button for each of its steps.
function stepsOf(viewer, item) {
  const { trace } = viewer;
  if (trace.flow[item] === NONE) return [];
  const list = document.createElement("ol");
  list.setAttribute("aria-label", "The packet's way");
  for (const step of trace.flows[trace.flow[item]]) {
    const node = trace.tracks[trace.tracks[trace.track[step]].parent];
    const button = written("button", `${trace.names[trace.name[step]]}, ${node.name}, ${timeInWords(trace.begin[step])}`);
    if (step === item) button.setAttribute("aria-current", "step");
    button.addEventListener("click", () => viewer.visit(step));
    const entry = document.createElement("li");
    entry.append(button);
    list.append(entry);
  }
  return [list];
}

function written(tag, text) {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

const heading = (text) => written("h2", text);
const sentence = (text) => written("p", text);
