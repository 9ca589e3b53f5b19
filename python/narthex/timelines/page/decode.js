// From the page's text to typed arrays.
//
//   base64 ──► gzip ──► Perfetto's protocol buffers ──► Trace
//
// A trace has one table of items, in the order of their begins: slices, which have a length
// and a depth, and instants. Times are picoseconds, exact up to 2^53 of them (2.5 hours).
"use strict";

// A typed array that grows.
class Column {
  constructor(Type) {
    this.all = new Type(1024);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.all.length) {
      const wider = new this.all.constructor(2 * this.length);
      wider.set(this.all);
      this.all = wider;
    }
    this.all[this.length++] = value;
  }

  done() {
    return this.all.subarray(0, this.length);
  }
}

async function unpacked(text) {
  let packed;
  if (Uint8Array.fromBase64) packed = Uint8Array.fromBase64(text);
  else {
    const bytes = atob(text);
    packed = new Uint8Array(bytes.length);
    for (let at = 0; at < bytes.length; at++) packed[at] = bytes.charCodeAt(at);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return { packed, bytes: new Uint8Array(await new Response(stream).arrayBuffer()) };
}

// Reads the fields of protocol buffers.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  varint() {
    const { bytes } = this;
    let value = 0;
    let scale = 1;
    let byte;
    do {
      byte = bytes[this.at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte > 127);
    return value;
  }

  fixed32() {
    const { bytes, at } = this;
    this.at += 4;
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
  }

  text() {
    const length = this.varint();
    this.at += length;
    return Reader.decoder.decode(this.bytes.subarray(this.at - length, this.at));
  }

  skip(wire) {
    if (wire === 0) this.varint();
    else if (wire === 2) this.at += this.varint();
    else if (wire === 1) this.at += 8;
    else this.at += 4;
  }

  // Calls `field(number, wire)` for each field of the message that follows with its length;
  // true says that it was read.
  message(field) {
    const end = this.varint() + this.at;
    while (this.at < end) {
      const key = this.varint();
      if (!field(key >>> 3, key & 7)) this.skip(key & 7);
    }
    this.at = end;
  }
}
Reader.decoder = new TextDecoder();

// The numbers of Perfetto's fields, as in observation/src/trace/perfetto/messages.rs.
const PACKET = { timestamp: 8, event: 11, interned: 12, descriptor: 60 };
const EVENT = { detail: 4, type: 9, name: 10, track: 11, counter: 30, flow: 47, flowEnd: 48 };
const BEGIN = 1;
const END = 2;
const INSTANT = 3;
const COUNTER = 4;
const NUMBER = 3;
const ADDRESS = 7;
const TEXT = 17;

const NONE = 0xffffffff;

class Trace {
  constructor(bytes) {
    this.tracks = [];
    this.names = [];
    this.keys = [];
    this.texts = [];
    this.events = 0;
    this.last = 0;
    const columns = { begin: Float64Array, end: Float64Array, name: Uint32Array, track: Uint32Array };
    Object.assign(columns, { depth: Uint8Array, around: Uint32Array, details: Uint32Array, flow: Uint32Array });
    Object.assign(columns, { detailKey: Uint16Array, detailKind: Uint8Array, detailValue: Float64Array });
    for (const [name, Type] of Object.entries(columns)) this[name] = new Column(Type);
    this.flows = [];
    this.flowNumbers = new Map();
    this.event = { details: [] };
    this.read(new Reader(bytes));
    for (const track of this.tracks.filter(Boolean)) this.close(track);
    for (const name of Object.keys(columns)) this[name] = this[name].done();
    this.count = this.begin.length;
  }

  read(reader) {
    let timestamp = 0;
    const packet = (number) => {
      if (number === PACKET.timestamp) timestamp = reader.varint();
      else if (number === PACKET.event) this.readEvent(reader);
      else if (number === PACKET.interned) this.intern(reader);
      else if (number === PACKET.descriptor) this.describe(reader);
      else return false;
      return true;
    };
    const end = reader.bytes.length;
    while (reader.at < end) {
      reader.varint();
      this.event.type = 0;
      reader.message(packet);
      // Names that an event uses first stand behind it in its packet.
      if (this.event.type) this.take(timestamp * 1000);
    }
  }

  readEvent(reader) {
    const { event } = this;
    event.details.length = 0;
    event.name = event.track = event.value = 0;
    event.flow = NONE;
    const detail = { key: 0, kind: 0, value: 0 };
    const readDetail = (number) => {
      if (number === 1) detail.key = reader.varint();
      else if (number === NUMBER || number === ADDRESS || number === TEXT) {
        detail.kind = number;
        detail.value = reader.varint();
      } else return false;
      return true;
    };
    reader.message((number) => {
      if (number === EVENT.detail) {
        reader.message(readDetail);
        event.details.push(detail.key, detail.kind, detail.value);
      } else if (number === EVENT.type) event.type = reader.varint();
      else if (number === EVENT.name) event.name = reader.varint();
      else if (number === EVENT.track) event.track = reader.varint();
      else if (number === EVENT.counter) event.value = reader.varint();
      else if (number === EVENT.flow || number === EVENT.flowEnd) {
        const low = reader.fixed32();
        event.flow = this.flowOf(reader.fixed32(), low);
      } else return false;
      return true;
    });
  }

  // Numbers arrows from 0: what joins them has 64 bits, which no number here can hold.
  flowOf(high, low) {
    if (!this.flowNumbers.has(high)) this.flowNumbers.set(high, new Map());
    const known = this.flowNumbers.get(high);
    if (!known.has(low)) {
      known.set(low, this.flows.length);
      this.flows.push([]);
    }
    return known.get(low);
  }

  intern(reader) {
    const lists = { 2: this.names, 3: this.keys, 29: this.texts };
    reader.message((number) => {
      if (!lists[number]) return false;
      let iid = 0;
      let name = "";
      reader.message((field) => {
        if (field === 1) iid = reader.varint();
        else name = reader.text();
        return true;
      });
      lists[number][iid] = name;
      return true;
    });
  }

  describe(reader) {
    const found = {};
    reader.message((number) => {
      if (number === 1) found.uuid = reader.varint();
      else if (number === 2) found.name = reader.text();
      else if (number === 5) found.parent = reader.varint();
      else if (number === 12) found.rank = reader.varint();
      else if (number === 14) found.description = reader.text();
      else if (number === 8) {
        reader.message((field) => field === 6 && Boolean((found.unit = reader.text())));
      } else return false;
      return true;
    });
    const fresh = { rank: 0, open: [], depths: 0, hasInstants: false, times: null, values: null };
    const track = Object.assign(this.tracks[found.uuid] ?? fresh, found);
    if (track.unit && !track.times) {
      track.times = new Column(Float64Array);
      track.values = new Column(Float64Array);
    }
    this.tracks[found.uuid] = track;
  }

  take(nanoseconds) {
    const { event } = this;
    const { details } = event;
    let at = nanoseconds;
    for (let next = 0; next < details.length; next += 3) {
      const key = this.keys[details[next]];
      if (key === "begin_ps" || key === "end_ps") at += details[next + 2];
    }
    this.events++;
    this.last = at;
    const track = this.tracks[event.track];
    if (event.type === BEGIN) {
      const { open } = track;
      open.push(this.add(at, NaN, open.length, open.length ? open.at(-1) : NONE));
      track.depths = Math.max(track.depths, open.length);
    } else if (event.type === END) this.end.all[track.open.pop()] = at;
    else if (event.type === INSTANT) {
      track.hasInstants = true;
      const item = this.add(at, at, 0, NONE);
      if (event.flow !== NONE) this.flows[event.flow].push(item);
    } else if (event.type === COUNTER) {
      track.times.push(at);
      track.values.push(event.value);
    }
  }

  add(begin, end, depth, around) {
    const { event } = this;
    this.begin.push(begin);
    this.end.push(end);
    this.name.push(event.name);
    this.track.push(event.track);
    this.depth.push(depth);
    this.around.push(around);
    this.flow.push(event.flow);
    this.details.push(this.detailKey.length);
    for (let next = 0; next < event.details.length; next += 3) {
      const key = this.keys[event.details[next]];
      if (key === "begin_ps") continue;
      this.detailKey.push(event.details[next]);
      this.detailKind.push(event.details[next + 1]);
      this.detailValue.push(event.details[next + 2]);
    }
    return this.begin.length - 1;
  }

  // What is open where the file ends, ends there.
  close(track) {
    for (const item of track.open) this.end.all[item] = this.last;
    track.open = [];
    if (track.times) {
      track.times = track.times.done();
      track.values = track.values.done();
    }
  }

  // Name and value of what there is to know about an item.
  detailsOf(item) {
    const found = [];
    const end = item + 1 < this.count ? this.details[item + 1] : this.detailKey.length;
    for (let next = this.details[item]; next < end; next++) {
      const value = this.detailValue[next];
      const kind = this.detailKind[next];
      const shown = kind === TEXT ? this.texts[value] : kind === ADDRESS ? `0x${value.toString(16)}` : String(value);
      found.push([this.keys[this.detailKey[next]], shown]);
    }
    return found;
  }
}
