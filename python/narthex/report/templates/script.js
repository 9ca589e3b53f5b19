// What the style sheet cannot do: draw the charts one after another so that the
// page stays usable meanwhile, lay their panels out, and explain a message's life.
"use strict";

const PANEL_WIDTH = 340; // points of a panel with its names, at least
const NAMES_WIDTH = 200; // points that a panel's names and gap take

// A chart that is divided into panels gets as many columns as there is room for.
function fitted(specification, width) {
  if (!specification.facet) return specification;
  const { panelWidth, namesWidth = NAMES_WIDTH } = specification.usermeta ?? {};
  if (panelWidth) return { ...specification, columns: Math.max(1, Math.floor(width / panelWidth)) };
  const fitting = Math.floor(width / PANEL_WIDTH);
  const columns = Math.max(1, Math.min(3, fitting));
  const inner = Math.max(120, Math.floor(width / columns) - namesWidth);
  const config = { ...specification.config };
  config.legend = { ...config.legend, columns: 2 * columns };
  return { ...specification, columns, config, spec: { ...specification.spec, width: inner } };
}

async function draw(place) {
  const specification = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  const width = Math.floor(place.getBoundingClientRect().width);
  place.dataset.width = String(width);
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
  const fold = row.closest("details");
  if (fold) fold.open = true;
  row.classList.add("found");
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

async function drawAll(places) {
  for (const place of places) {
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
      drawAll(places.filter(changed));
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
if (charts.length) {
  drawAll(charts);
  followWidth(charts);
}
