// Draws runs by the two measures that the reader chooses, and joins those that none beats in
// both: of which every run that is as good by one is worse by the other.
"use strict";

const DECADES = 100; // times that the largest value is the smallest, from which on an axis is by ratio

// Returns the rows that none beats, each axis with the column and whether more of it is better.
function unbeaten(rows, across, upwards) {
  const cost = (row, axis) => (axis.isMoreBetter ? -1 : 1) * row[axis.column];
  const ordered = [...rows].sort(
    (one, other) => cost(one, across) - cost(other, across) || cost(one, upwards) - cost(other, upwards));
  let least = Infinity;
  return new Set(ordered.filter((row) => {
    const isBetter = cost(row, upwards) < least;
    if (isBetter) least = cost(row, upwards);
    return isBetter;
  }));
}

function scaleOf(values) {
  const least = Math.min(...values);
  return least > 0 && Math.max(...values) >= DECADES * least ? { type: "log" } : { zero: false };
}

class FrontChart {
  constructor(part) {
    this.part = part;
    this.place = part.querySelector("[data-chart]");
    this.source = document.getElementById(this.place.dataset.chart);
    this.original = JSON.parse(this.source.textContent);
    part.querySelector(".controls").hidden = false;
    for (const select of part.querySelectorAll("select")) {
      this.setDirection(select);
      select.addEventListener("change", () => { this.setDirection(select); this.redraw(); });
    }
    for (const box of part.querySelectorAll("input")) box.addEventListener("change", () => this.redraw());
  }

  setDirection(select) {
    this.boxOf(select.dataset.axis).checked = select.selectedOptions[0].dataset.more === "yes";
  }

  boxOf(axis) {
    return this.part.querySelector(`input[data-more=${axis}]`);
  }

  chosen(axis) {
    const { value, selectedOptions } = this.part.querySelector(`select[data-axis=${axis}]`);
    return { column: value, name: selectedOptions[0].textContent, isMoreBetter: this.boxOf(axis).checked };
  }

  redraw() {
    const [across, upwards] = [this.chosen("across"), this.chosen("upwards")];
    const isThere = (row) => row[across.column] !== null && row[upwards.column] !== null;
    const rows = this.original.data.values.filter(isThere);
    const best = unbeaten(rows, across, upwards);
    const drawn = structuredClone(this.original);
    drawn.data.values = rows.map((row) => ({
      ...row, x: row[across.column], value: row[upwards.column], is_front: best.has(row),
    }));
    for (const { encoding } of drawn.layer) {
      Object.assign(encoding.x, { title: across.name, scale: scaleOf(rows.map((row) => row[across.column])) });
      Object.assign(encoding.y, { title: upwards.name, scale: scaleOf(rows.map((row) => row[upwards.column])) });
      encoding.tooltip = encoding.tooltip.map((told) =>
        ({ ...told, title: { x: across.name, value: upwards.name }[told.field] ?? told.title }));
    }
    this.source.textContent = JSON.stringify(drawn);
    this.tell(across, upwards, best);
    draw(this.place);
  }

  tell(across, upwards, best) {
    const runs = `${best.size} ${best.size === 1 ? "run" : "runs"}`;
    const told =
      `${upwards.name} over ${across.name}: a point for each run, which it opens;` +
      ` a line joins the ${runs} that none beats in both`;
    this.part.querySelector(".description").textContent = `${told}.`;
    const title = `Runs that none beats in both ${across.name} and ${upwards.name}`;
    this.part.querySelector("figcaption").textContent = title;
    this.place.setAttribute("aria-label", told);
    const names = new Set([...best].map((row) => row.name));
    for (const row of this.part.querySelectorAll("tbody tr"))
      row.cells[1].textContent = names.has(row.cells[0].textContent) ? "yes" : "";
  }
}

document.querySelectorAll(".front").forEach((part) => new FrontChart(part));
