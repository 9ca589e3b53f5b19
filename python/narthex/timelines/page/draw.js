// Draws rows, the ruler and the overview on their canvases.
//
// Only what is on the screen is looked at, and of it not more than a few items a pixel: a
// million slices take as long as a thousand.
"use strict";

const SAMPLES = 16; // of a pixel's slices, to find which takes most of it
const NARROWEST = 1.5; // points of a slice that is drawn by itself
const LETTER = 6.1; // points of a character, about
const MOST_ARROWS = 400; // on the screen
const EVEN = 0.179; // luminance on which black letters have the contrast of white ones, over 4.5
const SERIES = 12; // colours of the palette for what has none of its own
const NAME_WIDTH = 190;
const NARROW = 640;
const BINS = 400; // of the overview

class Palette {
  constructor(trace) {
    this.trace = trace;
    this.read();
  }

  // Reads the style sheet's variables: the scheme may have changed.
  read() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of ["surface", "raised", "text", "muted", "line", "accent", "published", "measured"]) {
      this[name] = of(name);
    }
    let next = 0;
    this.names = this.trace.names.map((name) => {
      const key = name.replaceAll(" ", "-");
      return of(`activity-${key}`) || of(`occupation-${key}`) || of(`series-${1 + (next++ % SERIES)}`);
    });
    this.letters = this.names.map((colour) => (brightness(colour) > EVEN ? "#000000" : "#ffffff"));
  }
}

// The relative luminance of #rrggbb.
function brightness(colour) {
  const parts = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

class Drawing {
  constructor(trace, rows, view) {
    Object.assign(this, { trace, rows, view });
    this.palette = new Palette(trace);
    this.arrows = arrowsOf(trace);
    this.bins = overviewOf(trace);
    this.canvases = {};
    for (const name of ["rows", "ruler", "overview"]) this.canvases[name] = document.getElementById(name);
  }

  // Readies a canvas: it has a pixel for each of the screen's.
  begin(name, width, height) {
    const canvas = this.canvases[name];
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.pen = canvas.getContext("2d");
    this.pen.scale(ratio, ratio);
    this.pen.font = "11px system-ui, sans-serif";
    this.pen.textBaseline = "middle";
    this.pen.fillStyle = this.palette.surface;
    this.pen.fillRect(0, 0, width, height);
  }

  x(time) {
    const { from, to, left, width } = this.view;
    return left + ((time - from) / (to - from)) * (width - left);
  }

  time(x) {
    const { from, to, left, width } = this.view;
    return from + ((x - left) / (width - left)) * (to - from);
  }

  all() {
    this.drawRows();
    this.drawRuler();
    this.drawOverview();
  }

  // --- rows ---

  drawRows() {
    const { view, rows, palette } = this;
    const { width, viewHeight, scrolled } = view;
    this.begin("rows", width, viewHeight);
    const { pen } = this;
    this.lines();
    for (let at = rows.rows.indexOf(rows.rowAt(scrolled)); at < rows.rows.length; at++) {
      const row = rows.rows[at];
      const top = row.top - scrolled;
      if (top > viewHeight) break;
      if (row.track) this.drawTrack(row, top);
      else this.drawNode(row, top);
      if (row === view.row) {
        pen.strokeStyle = palette.accent;
        pen.strokeRect(0.5, top + 0.5, width - 1, row.height - 1);
      }
    }
    this.clipToTimes();
    this.drawArrows();
    this.drawChosen();
    this.drawStretch();
    pen.restore();
  }

  lines() {
    const { pen, view } = this;
    pen.fillStyle = this.palette.line;
    for (const tick of this.ticks()) pen.fillRect(Math.round(this.x(tick)), 0, 0.5, view.viewHeight);
  }

  clipToTimes() {
    const { pen, view } = this;
    pen.save();
    pen.beginPath();
    pen.rect(view.left, 0, view.width - view.left, view.viewHeight);
    pen.clip();
  }

  drawNode({ node, height }, top) {
    const { pen, palette, view } = this;
    pen.fillStyle = palette.raised;
    pen.fillRect(0, top, view.width, height);
    pen.fillStyle = palette.text;
    pen.font = "bold 12px system-ui, sans-serif";
    pen.fillText(`${node.isFolded ? "▸" : "▾"} ${node.name}`, 8, top + height / 2);
    pen.font = "11px system-ui, sans-serif";
    if (node.isFolded) {
      pen.fillStyle = palette.muted;
      pen.fillText(`${node.below.length} rows`, view.left + 100, top + height / 2);
    }
  }

  drawTrack({ track, height }, top) {
    const { pen, palette, view } = this;
    let foot = top;
    pen.fillStyle = palette.muted;
    if (view.isNarrow) {
      pen.fillText(track.name, 6, top + NAME_HEIGHT / 2 + 1);
      foot += NAME_HEIGHT;
    } else pen.fillText(shortened(track.name, view.left - 24), 18, top + Math.min(height, LANE_HEIGHT) / 2 + 1);
    if (track.times) {
      const most = view.isNarrow ? [view.width - 6, top + NAME_HEIGHT / 2 + 1] : [view.left - 6, top + 22];
      pen.textAlign = "right";
      pen.fillText(`up to ${track.largest}`, ...most);
      pen.textAlign = "left";
    }
    this.clipToTimes();
    if (track.times) this.drawNumbers(track, foot);
    else if (track.hasInstants) this.drawInstants(track.lanes[0], foot);
    else track.lanes.forEach((lane, depth) => this.drawLane(lane, foot + depth * LANE_HEIGHT));
    pen.restore();
    pen.fillStyle = palette.line;
    pen.fillRect(0, top + height - 1, view.width, 0.5);
  }

  drawLane(lane, top) {
    const { view, palette } = this;
    const { begins, ends, items } = lane;
    const height = LANE_HEIGHT - 1;
    for (let at = firstBehind(ends, view.from); at < items.length && begins[at] < view.to; ) {
      const x = this.x(begins[at]);
      const width = this.x(ends[at]) - x;
      if (width >= NARROWEST) {
        const name = this.trace.name[items[at]];
        this.faint(lane, at, at + 1);
        this.fill(palette.names[name], x, top, width, height);
        this.label(this.trace.names[name], palette.letters[name], x, top, width, height);
        at++;
      } else at = this.drawTogether(lane, at, Math.floor(x), top, height);
    }
    this.pen.globalAlpha = 1;
  }

  // The slices that begin in one pixel; returns the place of the first behind them.
  drawTogether(lane, at, pixel, top, height) {
    const edge = this.time(pixel + 1);
    let behind = Math.max(at + 1, firstBehind(lane.begins, edge, at));
    const isLong = (place) => this.x(lane.ends[place]) - this.x(lane.begins[place]) >= NARROWEST;
    if (behind - 1 > at && isLong(behind - 1)) behind--;
    // Of the part of the pixel that is not its neighbours'.
    const from = Math.max(this.time(pixel), at > 0 ? lane.ends[at - 1] : -Infinity);
    const last = lane.ends[behind - 1];
    const to = Math.min(Math.max(edge, last), behind < lane.items.length ? lane.begins[behind] : Infinity);
    const share = to > from ? (lane.sums[behind] - lane.sums[at]) / (to - from) : 1;
    const tall = Math.max(2, Math.min(1, share) * height);
    this.faint(lane, at, behind);
    const width = Math.max(1, this.x(last) - pixel);
    this.fill(this.palette.names[this.mostOf(lane, at, behind)], pixel, top + height - tall, width, tall);
    return behind;
  }

  // The name that takes most of the time of some slices, by samples if they are many.
  mostOf(lane, from, to) {
    const { name } = this.trace;
    if (to - from === 1) return name[lane.items[from]];
    const step = Math.max(1, (to - from) / SAMPLES);
    const times = new Map();
    let found = name[lane.items[from]];
    for (let next = from; next < to; next += step) {
      const place = Math.floor(next);
      const own = name[lane.items[place]];
      times.set(own, (times.get(own) ?? 0) + lane.ends[place] - lane.begins[place]);
      if (times.get(own) > times.get(found)) found = own;
    }
    return found;
  }

  // While something is searched for, all else is pale.
  faint(lane, from, to) {
    this.pen.globalAlpha = !this.view.isSearched || (lane.hits && lane.hits[to] > lane.hits[from]) ? 1 : 0.18;
  }

  fill(colour, x, top, width, height) {
    if (this.pen.fillStyle !== colour) this.pen.fillStyle = colour;
    this.pen.fillRect(x, top, width, height);
  }

  label(text, colour, x, top, width, height) {
    const { view } = this;
    if (width > 5) this.fill(this.palette.surface, x + width - 0.5, top, 0.5, height);
    const left = Math.max(x, view.left) + 3;
    const room = Math.min(x + width, view.width) - left;
    if (room < 3 * LETTER) return;
    this.pen.fillStyle = colour;
    this.pen.fillText(shortened(text, room), left, top + height / 2 + 0.5);
  }

  drawInstants(lane, top) {
    const { pen, palette, view } = this;
    const middle = top + LANE_HEIGHT / 2;
    const slack = 4 * this.perPoint();
    for (let at = firstBehind(lane.begins, view.from - slack); at < lane.items.length; ) {
      const time = lane.begins[at];
      if (time > view.to + slack) break;
      const x = this.x(time);
      let behind = firstBehind(lane.begins, time + this.perPoint(), at + 1);
      this.faint(lane, at, behind);
      pen.fillStyle = palette.names[this.trace.name[lane.items[at]]];
      pen.beginPath();
      pen.moveTo(x, middle - 6);
      pen.lineTo(x + 4, middle);
      pen.lineTo(x, middle + 6);
      pen.lineTo(x - 4, middle);
      pen.fill();
      at = behind;
    }
    pen.globalAlpha = 1;
  }

  drawNumbers({ times, values, most, largest: whole }, top) {
    const { pen, palette, view } = this;
    const height = NUMBERS_HEIGHT - 3;
    pen.fillStyle = palette.measured;
    for (let at = Math.max(0, firstBehind(times, view.from) - 1); at < times.length && times[at] < view.to; ) {
      const x = Math.max(view.left, this.x(times[at]));
      let behind = at + 1;
      let right = behind < times.length ? this.x(times[behind]) : view.width;
      if (right - x < NARROWEST) {
        behind = Math.max(behind, firstBehind(times, this.time(Math.floor(x) + 1), at));
        right = Math.floor(x) + 1;
      }
      const tall = (height * largest({ values, most }, at, behind)) / Math.max(1, whole);
      pen.fillRect(x, top + height - tall, right - x, tall);
      at = behind;
    }
  }

  perPoint() {
    return (this.view.to - this.view.from) / (this.view.width - this.view.left);
  }

  // --- arrows and what is chosen ---

  // The middle of an item's lane; of its node if that is folded.
  middle(item) {
    const track = this.trace.tracks[this.trace.track[item]];
    const { row } = track;
    const top = row.top - this.view.scrolled;
    if (!row.track) return top + row.height / 2;
    return top + (this.view.isNarrow ? NAME_HEIGHT : 0) + (this.trace.depth[item] + 0.5) * LANE_HEIGHT;
  }

  drawArrows() {
    const { arrows, view, trace } = this;
    const chosen = view.item === NONE ? NONE : trace.flow[view.item];
    const first = firstBehind(arrows.begins, view.from - arrows.longest);
    const behind = firstBehind(arrows.begins, view.to);
    const seen = [];
    for (let at = first; at < behind && seen.length <= MOST_ARROWS; at++) {
      if (trace.begin[arrows.to[at]] >= view.from) seen.push(at);
    }
    view.hidesArrows = seen.length > MOST_ARROWS;
    if (!view.hidesArrows) {
      for (const at of seen) this.arrow(arrows.from[at], arrows.to[at], false);
    }
    if (chosen === NONE) return;
    const steps = trace.flows[chosen];
    for (let step = 1; step < steps.length; step++) this.arrow(steps[step - 1], steps[step], true);
  }

  arrow(from, to, isChosen) {
    const { pen, palette, trace } = this;
    const [x0, y0, x1, y1] = [this.x(trace.begin[from]), this.middle(from), this.x(trace.begin[to]), this.middle(to)];
    const bend = Math.max(8, Math.abs(x1 - x0) / 2);
    pen.strokeStyle = pen.fillStyle = isChosen ? palette.accent : palette.published;
    pen.lineWidth = isChosen ? 2.5 : 1;
    pen.globalAlpha = isChosen ? 1 : 0.7;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x1 - 6, y1 - 3);
    pen.lineTo(x1 - 6, y1 + 3);
    pen.fill();
    pen.globalAlpha = pen.lineWidth = 1;
  }

  drawChosen() {
    const { pen, palette, view, trace } = this;
    if (view.item === NONE) return;
    const x = this.x(trace.begin[view.item]);
    const width = Math.max(8, this.x(trace.end[view.item]) - x);
    const isInstant = trace.begin[view.item] === trace.end[view.item];
    pen.strokeStyle = palette.text;
    pen.lineWidth = 2;
    pen.strokeRect(isInstant ? x - 6 : x, this.middle(view.item) - LANE_HEIGHT / 2, isInstant ? 12 : width, LANE_HEIGHT - 1);
    pen.lineWidth = 1;
  }

  // A stretch of time that is measured.
  drawStretch() {
    const { pen, palette, view } = this;
    if (!view.stretch) return;
    const [from, to] = view.stretch.map((time) => this.x(time));
    pen.globalAlpha = 0.2;
    this.fill(palette.accent, from, 0, to - from, view.viewHeight);
    pen.globalAlpha = 1;
    pen.fillStyle = palette.text;
    pen.textAlign = "center";
    pen.fillText(timeInWords(Math.abs(view.stretch[1] - view.stretch[0])), (from + to) / 2, 12);
    pen.textAlign = "left";
  }

  // --- the times ---

  // Round instants, about a hundred points apart.
  ticks() {
    const { view } = this;
    const wanted = Math.max(1, 100 * this.perPoint());
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= wanted);
    const found = [];
    for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) found.push(tick);
    return found;
  }

  drawRuler() {
    const { view, palette } = this;
    this.begin("ruler", view.width, 24);
    const { pen } = this;
    for (const tick of this.ticks()) {
      const x = Math.round(this.x(tick));
      this.fill(palette.muted, x, 16, 1, 8);
      const text = timeInWords(tick);
      if (x + text.length * LETTER < view.width) pen.fillText(text, x + 4, 11);
    }
    if (!view.isNarrow) {
      this.fill(palette.muted, 0, 0, 0, 0);
      pen.fillText("simulated time", 8, 11);
    }
  }

  // How much happens when, in all nodes, and which part is on the screen.
  drawOverview() {
    const { view, palette, bins } = this;
    const height = 30;
    this.begin("overview", view.width, height);
    const most = Math.max(1, ...bins);
    const wide = view.width / bins.length;
    bins.forEach((count, bin) => {
      const tall = (count / most) * (height - 4);
      this.fill(palette.measured, bin * wide, height - tall, Math.ceil(wide), tall);
    });
    const [from, to] = [view.from, view.to].map((time) => ((time - view.first) / (view.last - view.first)) * view.width);
    const { pen } = this;
    pen.globalAlpha = 0.25;
    this.fill(palette.text, 0, 0, from, height);
    this.fill(palette.text, to, 0, view.width - to, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 2;
    pen.strokeRect(from + 1, 1, Math.max(2, to - from - 2), height - 2);
  }
}

function shortened(text, room) {
  const most = Math.floor(room / LETTER);
  return text.length <= most ? text : `${text.slice(0, Math.max(1, most - 1))}…`;
}

function overviewOf(trace) {
  const bins = new Array(BINS).fill(0);
  const first = firstOf(trace);
  const length = Math.max(1, trace.last - first);
  for (const begin of trace.begin) bins[Math.min(BINS - 1, Math.floor(((begin - first) / length) * BINS))]++;
  return bins;
}

// When the timeline begins.
function firstOf(trace) {
  const counters = trace.tracks.filter((track) => track?.times?.length).map((track) => track.times[0]);
  return [...counters, ...trace.begin.subarray(0, 1)].reduce((one, other) => Math.min(one, other), trace.last);
}
