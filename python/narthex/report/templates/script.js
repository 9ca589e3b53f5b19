// What the style sheet cannot do: draw the charts one after another so that the
// page stays usable meanwhile, fit them to their width, and explain a message's life.
// A chart in a part that is folded is drawn when the reader opens the part.
"use strict";

const PANEL_WIDTH = 340; // points of a panel with its names, at least
const NAMES_WIDTH = 200; // points that a panel's names and gap take
const NARROW = 640; // points of a chart in which long names stand above their bars
const LONG_NAME = 14; // characters of a name that takes too much of a narrow chart
const PANEL_NAME = 28; // characters of a name beside a panel
const LONGEST_NAME = 60; // characters of a name in a legend that has a place of its own
const NAMED_STEP = 40; // points of a bar with its name above it
const LINE = 14; // points of a further line of the name
const CHARACTER = 7; // points of a character, about
const SYMBOL = 34; // points of a legend's symbol and the gap behind its name

// Fits a chart to its width: its names, its legend, the columns of its panels.
function fitted(original, width) {
  const specification = structuredClone(original);
  const drawn = specification.spec ?? specification;
  const layers = [drawn, ...(drawn.layer ?? [])];
  const hasNamesAbove = putNamesAbove(drawn, layers, specification, width);
  turnColumns(layers, specification, width);
  const { type, field } = layers[0].encoding?.y ?? layers.at(-1).encoding.y;
  const hasNamesBeside = type === "nominal" && !hasNamesAbove;
  const beside = hasNamesBeside ? CHARACTER * longestOf(specification, field) : SYMBOL;
  divideLegend(layers, width - Math.min(beside, NAMES_WIDTH));
  return specification.facet ? divided(specification, width, hasNamesAbove) : specification;
}

function columnsOf(specification, width) {
  const panels = textsOf(specification, specification.facet.field).length;
  const most = specification.usermeta?.mostColumns ?? 3;
  return Math.max(1, Math.min(most, panels, Math.floor(width / PANEL_WIDTH)));
}

// The names beside the bars of a panel, and the gap.
function widthOfNames(specification) {
  const drawn = specification.spec;
  const { y } = (drawn.encoding ? drawn : drawn.layer[0]).encoding;
  return Math.min(NAMES_WIDTH, 2 * SYMBOL + CHARACTER * longestOf(specification, y.field));
}

// A chart that is divided into panels gets as many columns as there is room for.
function divided(specification, width, hasNamesAbove) {
  const { panelWidth, namesWidth = widthOfNames(specification) } = specification.usermeta ?? {};
  if (panelWidth) return { ...specification, columns: Math.max(1, Math.floor(width / panelWidth)) };
  const columns = columnsOf(specification, width);
  const beside = hasNamesAbove ? 2 * SYMBOL : namesWidth;
  const inner = Math.max(120, Math.floor(width / columns) - beside);
  const header = { ...specification.facet.header, labelLimit: inner + beside - SYMBOL };
  const facet = { ...specification.facet, header };
  return { ...specification, columns, facet, spec: { ...specification.spec, width: inner } };
}

// The different texts of a field, in a chart or its layers.
function textsOf(specification, field) {
  const owners = [specification, ...(specification.layer ?? [])];
  const rows = owners.flatMap((owner) => owner.data?.values ?? []);
  return [...new Set(rows.map((row) => String(row[field] ?? "")).filter((text) => text))];
}

function longestOf(specification, field) {
  return textsOf(specification, field).reduce((most, text) => Math.max(most, text.length), 0);
}

// Long names of bars stand above them where there is little room, in lines; tells whether they do.
function putNamesAbove(drawn, layers, specification, width) {
  const axes = layers.map((layer) => layer.encoding?.y).filter((y) => y?.type === "nominal");
  const isMap = layers.some((layer) => layer.encoding?.x?.type === "nominal");
  const longest = axes.length && !isMap ? longestOf(specification, axes[0].field) : 0;
  const fitting = width < NARROW ? LONG_NAME : specification.facet ? PANEL_NAME : LONGEST_NAME;
  if (longest <= fitting) return false;
  const own = specification.facet ? width / columnsOf(specification, width) : width;
  const room = Math.floor((own - 2 * SYMBOL) / CHARACTER);
  const lines = Math.ceil(longest / (0.8 * room));
  const step = NAMED_STEP + LINE * (lines - 1);
  const hasBars = layers.some((layer) => (layer.mark?.type ?? layer.mark) === "bar");
  const bar = NAMED_STEP / 2 / step;
  const padding = hasBars ? { paddingInner: 1 - bar, paddingOuter: 1 - bar } : { padding: 0.7 };
  for (const y of axes) {
    y.scale = { ...y.scale, ...padding };
    const above = { labelAlign: "left", labelBaseline: "bottom", labelPadding: -1 };
    const ended = `replace(datum.label, regexp('(.{1,${room}})(?: |$)', 'g'), '$1¶')`;
    const broken = `split(slice(${ended}, 0, -1), '¶')`;
    y.axis = { ...y.axis, ...above, labelLimit: 0, labelExpr: broken, title: null };
    const raised = [...Array(lines).keys()].map((more) => ({
      test: `length(${broken}) == ${more + 1}`, value: -12 - LINE * more,
    }));
    y.axis.labelOffset = { condition: raised, value: -12 };
  }
  if (typeof drawn.height === "number") {
    drawn.height = step * (textsOf(specification, axes[0].field).length + 0.5);
  } else drawn.height = { step };
  return true;
}

// Names of a map's columns are turned where they are wider than the columns.
function turnColumns(layers, specification, width) {
  for (const { encoding } of layers) {
    if (encoding?.x?.type !== "nominal" || encoding.y?.type !== "nominal") continue;
    const names = textsOf(specification, encoding.x.field);
    const longest = CHARACTER * longestOf(specification, encoding.x.field);
    if (longest <= SYMBOL || longest <= (width - NAMES_WIDTH / 2) / names.length) continue;
    const turned = { labelAngle: -90, labelAlign: "right", labelBaseline: "middle", labelLimit: 160 };
    encoding.x.axis = { ...encoding.x.axis, ...turned };
  }
}

// A legend has as many columns as fit.
function divideLegend(layers, width) {
  for (const { encoding } of layers) {
    for (const channel of [encoding?.color, encoding?.shape, encoding?.opacity]) {
      const names = channel?.legend?.values ?? channel?.scale?.domain;
      if (!channel?.legend || !names) continue;
      const texts = names.map((name) => String(typeof name === "number" ? +name.toPrecision(3) : name));
      const lengths = texts.map((text) => Math.min(text.length, LONGEST_NAME));
      const longest = SYMBOL + CHARACTER * Math.max(...lengths);
      const columns = Math.max(1, Math.min(6, Math.floor(width / longest)));
      channel.legend = { ...channel.legend, columns, labelLimit: Math.floor(width) - SYMBOL };
    }
  }
}

async function draw(place) {
  const specification = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  const width = Math.floor(place.getBoundingClientRect().width);
  place.dataset.width = String(width);
  place.dataset.state = "begun";
  try {
    const drawn = await vegaEmbed(place, fitted(specification, width), { actions: false, renderer: "svg" });
    drawn.view.addEventListener("click", (_, item) => openRow(item?.datum?.run));
    place.dataset.state = "drawn";
  } catch (error) {
    place.dataset.state = "failed";
    place.textContent = "This chart could not be drawn. The table below has its numbers.";
    console.error(error);
  }
}

// A point of a chart opens the row of its run: where that run's time went.
function openRow(run) {
  const row = run && document.getElementById(run);
  if (!row) return;
  document.querySelectorAll("tr.found").forEach((other) => other.classList.remove("found"));
  open(row);
  row.classList.add("found");
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

// Opens what an element is folded in.
function open(element) {
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
}

function openLinked() {
  const linked = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!linked?.closest("details")) return;
  open(linked);
  linked.scrollIntoView();
}

async function drawAll(places) {
  for (const place of places) {
    if (!place.getClientRects().length) continue; // it is in a part that is folded
    await draw(place);
    await new Promise((done) => setTimeout(done));
  }
  document.documentElement.dataset.charts = "done";
}

// Charts in panels are laid out anew when the width of the page changes.
function followWidth(places) {
  let timer = 0;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const changed = (place) =>
        Math.abs(place.getBoundingClientRect().width - Number(place.dataset.width)) > 1;
      drawAll(places.filter((place) => place.dataset.state && changed(place)));
    }, 200);
  });
}

// The rows of a life: one stop of the Tab key, arrow keys between them; the one
// that is pointed at or focused is explained below.
function explainLife(figure) {
  const steps = [...figure.querySelectorAll(".step")];
  const explained = figure.querySelector(".explained");
  const unit = figure.querySelector("ol").dataset.unit;
  const show = (step) => {
    const head = document.createElement("strong");
    head.textContent = `${step.querySelector(".time").firstChild.textContent} ${unit}, ${step.querySelector(".what").textContent}`;
    explained.replaceChildren(head, step.querySelector(".meaning").textContent);
  };
  const moves = { ArrowDown: 1, ArrowUp: -1, Home: -steps.length, End: steps.length };
  steps.forEach((step, index) => {
    step.tabIndex = index === 0 ? 0 : -1;
    step.addEventListener("mouseenter", () => show(step));
    step.addEventListener("focus", () => show(step));
    step.addEventListener("keydown", (event) => {
      if (event.key === "Escape") explained.replaceChildren();
      if (!(event.key in moves)) return;
      event.preventDefault();
      const next = steps[Math.max(0, Math.min(steps.length - 1, index + moves[event.key]))];
      step.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  });
}

const charts = [...document.querySelectorAll("[data-chart]")];
document.querySelectorAll(".life").forEach(explainLife);
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;
document.querySelectorAll("details.part").forEach((fold) =>
  fold.addEventListener("toggle", () =>
    drawAll(charts.filter((place) => fold.contains(place) && !place.dataset.state))));
addEventListener("hashchange", openLinked);
openLinked();
if (charts.length) {
  drawAll(charts);
  followWidth(charts);
}
