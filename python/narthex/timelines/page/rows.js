// The rows of the picture: which items stand in a row, and which rows are on the screen.
//
// A lane holds what goes on at one depth of a track, so nothing in it overlaps and both begins
// and ends are sorted. `sums` are lengths added up, for the share of a pixel that is taken.
"use strict";

const HEAD_HEIGHT = 22; // points of a node's name
const LANE_HEIGHT = 17;
const NUMBERS_HEIGHT = 28;
const NAME_HEIGHT = 14; // of a track's name above its lanes, where there is no column for names
const ROW_GAP = 4;
const BLOCK = 64; // values of which the largest is kept, so that a pixel's is found at once
const OPEN_AT_FIRST = 60; // tracks; nodes beyond it are folded

// The place of the first of sorted `values` that is greater than `wanted`.
function firstBehind(values, wanted, from = 0) {
  let low = from;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] > wanted) high = middle;
    else low = middle + 1;
  }
  return low;
}

class Lane {
  constructor(trace, items) {
    this.items = items;
    this.begins = Float64Array.from(items, (item) => trace.begin[item]);
    this.ends = Float64Array.from(items, (item) => trace.end[item]);
    this.sums = new Float64Array(items.length + 1);
    for (let at = 0; at < items.length; at++) {
      this.sums[at + 1] = this.sums[at] + this.ends[at] - this.begins[at];
    }
    this.hits = null;
  }

  // The item of an instant; near one that has no length, within `slack`.
  at(time, slack) {
    const place = Math.max(0, firstBehind(this.begins, time) - 1);
    let best = -1;
    let nearest = slack;
    for (let near = place; near <= place + 1 && near < this.items.length; near++) {
      const away = Math.max(this.begins[near] - time, time - this.ends[near], 0);
      if (away <= nearest) {
        best = near;
        nearest = away;
      }
      if (away === 0) break;
    }
    return best < 0 ? NONE : this.items[best];
  }
}

class Rows {
  constructor(trace) {
    this.trace = trace;
    const lists = new Map();
    for (let item = 0; item < trace.count; item++) {
      const key = trace.track[item] * 256 + trace.depth[item];
      if (!lists.has(key)) lists.set(key, []);
      lists.get(key).push(item);
    }
    for (const track of trace.tracks.filter(Boolean)) {
      track.lanes = [];
      for (let key = track.uuid * 256; lists.has(key); key++) {
        track.lanes.push(new Lane(trace, Uint32Array.from(lists.get(key))));
        lists.delete(key);
      }
      if (!track.times) continue;
      track.most = mostOfBlocks(track.values);
      track.largest = largest(track, 0, track.values.length);
    }
    const tracks = trace.tracks.filter(Boolean);
    const below = (parent) =>
      tracks.filter((track) => track.parent === parent).sort((one, other) => one.rank - other.rank || one.uuid - other.uuid);
    this.machine = tracks.find((track) => track.parent === undefined);
    this.nodes = below(this.machine.uuid);
    let opened = 0;
    for (const node of this.nodes) {
      node.below = below(node.uuid);
      node.isFolded = opened > 0 && opened + node.below.length > OPEN_AT_FIRST;
      if (!node.isFolded) opened += node.below.length;
    }
  }

  // Puts rows below each other: `rows` in their order, each with its top and height.
  place(isNarrow) {
    this.rows = [];
    this.height = 0;
    const add = (row, height) => {
      Object.assign(row, { top: this.height, height });
      this.rows.push(row);
      this.height += height;
    };
    for (const node of this.nodes) {
      node.row = { node };
      add(node.row, HEAD_HEIGHT);
      for (const track of node.below) {
        track.row = node.isFolded ? node.row : { node, track };
        if (node.isFolded) continue;
        const own = track.times ? NUMBERS_HEIGHT : LANE_HEIGHT * Math.max(1, track.lanes.length);
        add(track.row, own + ROW_GAP + (isNarrow ? NAME_HEIGHT : 0));
      }
    }
  }

  // The row at a height of the picture.
  rowAt(height) {
    let low = 0;
    let high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.rows[middle].top <= height) low = middle;
      else high = middle - 1;
    }
    return this.rows[low];
  }
}

function mostOfBlocks(values) {
  const most = new Float64Array(Math.ceil(values.length / BLOCK));
  for (let at = 0; at < values.length; at++) {
    const block = Math.floor(at / BLOCK);
    most[block] = Math.max(most[block], values[at]);
  }
  return most;
}

// The largest of a track's numbers from one place up to another.
function largest(track, from, to) {
  let found = 0;
  for (let at = from; at < to; ) {
    if (at % BLOCK === 0 && at + BLOCK <= to) {
      found = Math.max(found, track.most[at / BLOCK]);
      at += BLOCK;
    } else found = Math.max(found, track.values[at++]);
  }
  return found;
}

// The steps of arrows, by the time at which they begin, and how long the longest takes.
function arrowsOf(trace) {
  const from = new Column(Uint32Array);
  const to = new Column(Uint32Array);
  for (const items of trace.flows) {
    for (let step = 1; step < items.length; step++) {
      from.push(items[step - 1]);
      to.push(items[step]);
    }
  }
  const order = Uint32Array.from({ length: from.length }, (_, arrow) => arrow);
  const begin = (arrow) => trace.begin[from.all[arrow]];
  order.sort((one, other) => begin(one) - begin(other));
  const begins = Float64Array.from(order, begin);
  let longest = 0;
  for (const arrow of order) longest = Math.max(longest, trace.begin[to.all[arrow]] - begin(arrow));
  const sorted = (column) => Uint32Array.from(order, (arrow) => column.all[arrow]);
  return { from: sorted(from), to: sorted(to), begins, longest };
}

// --- words --------------------------------------------------------------------

const UNITS = [
  ["s", 1e12],
  ["ms", 1e9],
  ["us", 1e6],
  ["ns", 1e3],
  ["ps", 1],
];

// A time with a unit that suits it; exact, but for times beyond a millisecond.
function timeInWords(picoseconds) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(picoseconds) >= size) ?? UNITS[3];
  const digits = Math.min(9, Math.round(Math.log10(size)));
  return `${(picoseconds / size).toLocaleString("en", { maximumFractionDigits: digits })} ${unit}`;
}

function trackInWords(trace, track) {
  return `${trace.tracks[track.parent].name}, ${track.name}`;
}
