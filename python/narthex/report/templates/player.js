// Plays a message's life over the pictures of its nodes: one step after the other, by
// itself or by hand. A dot goes the way of a step; where the reader wants no motion, the way
// is drawn and nothing moves.
"use strict";

const STEP_MS = 1600; // of a step that plays by itself
const WAY_MS = 900; // of the dot's way in it
const SVG = "http://www.w3.org/2000/svg";

class Player {
  constructor(figure) {
    this.figure = figure;
    this.steps = JSON.parse(figure.querySelector("script").textContent);
    this.pictures = [...figure.querySelectorAll(".node svg")];
    this.slider = figure.querySelector("input");
    this.told = figure.querySelector(".told");
    this.stillness = matchMedia("(prefers-reduced-motion: reduce)");
    this.at = 0;
    this.slider.max = String(this.steps.length - 1);
    this.button("play").addEventListener("click", () => (this.isPlaying ? this.pause() : this.play()));
    this.button("former").addEventListener("click", () => this.byHand(this.at - 1));
    this.button("next").addEventListener("click", () => this.byHand(this.at + 1));
    this.slider.addEventListener("input", () => this.byHand(Number(this.slider.value)));
    figure.querySelector(".controls").hidden = false;
    this.show(0, false);
  }

  button(name) {
    return this.figure.querySelector(`[data-does=${name}]`);
  }

  play() {
    this.isPlaying = true;
    this.label();
    this.show(this.at === this.steps.length - 1 ? 0 : this.at);
    this.goOn();
  }

  goOn() {
    this.timer = setTimeout(() => {
      if (this.at === this.steps.length - 1) this.pause();
      else {
        this.show(this.at + 1);
        this.goOn();
      }
    }, STEP_MS);
  }

  pause() {
    clearTimeout(this.timer);
    this.isPlaying = false;
    this.label();
  }

  label() {
    this.button("play").textContent = this.isPlaying ? "Pause" : "Play";
  }

  byHand(at) {
    this.pause();
    this.show(Math.max(0, Math.min(this.steps.length - 1, at)));
  }

  show(at, moves = true) {
    this.at = at;
    const step = this.steps[at];
    this.slider.value = String(at);
    this.slider.setAttribute("aria-valuetext", `step ${at + 1} of ${this.steps.length}, ${step.time} ns`);
    this.button("former").disabled = at === 0;
    this.button("next").disabled = at === this.steps.length - 1;
    for (const marked of this.figure.querySelectorAll(".marked")) marked.classList.remove("marked");
    for (const way of this.figure.querySelectorAll(".played")) way.remove();
    this.figure.querySelectorAll(".node").forEach((node, number) => node.classList.toggle("busy", number === step.node));
    const picture = this.pictures[step.node];
    for (const name of step.marked) picture.querySelector(`[data-part="${name}"]`).classList.add("marked");
    if (step.way) this.draw(picture, step, moves && !this.stillness.matches);
    this.follow(picture);
    const head = document.createElement("strong");
    head.textContent = `${step.time} ns: ${step.who}: ${step.what}`;
    const place = document.createElement("span");
    place.className = "count";
    place.textContent = `${at + 1} / ${this.steps.length} `;
    this.told.replaceChildren(place, head, document.createElement("br"), step.meaning);
  }

  draw(picture, step, moves) {
    const way = document.createElementNS(SVG, "path");
    way.setAttribute("d", step.way);
    way.setAttribute("class", `played${step.isBroken ? " broken" : ""}${step.isBeside ? " beside" : ""}`);
    const dot = document.createElementNS(SVG, "circle");
    dot.setAttribute("r", "7");
    dot.setAttribute("class", way.getAttribute("class"));
    picture.append(way, dot);
    const length = way.getTotalLength();
    const begun = performance.now();
    const place = (share) => {
      const { x, y } = way.getPointAtLength(share * length);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
    };
    const move = (now) => {
      const share = Math.min(1, Math.max(0, (now - begun) / WAY_MS));
      place(share);
      if (share < 1 && dot.isConnected) requestAnimationFrame(move);
    };
    place(moves ? 0 : 1);
    if (moves) requestAnimationFrame(move);
  }

  // A picture that is wider than the screen shows the part that is marked.
  follow(picture) {
    const around = picture.parentElement;
    const marked = picture.querySelector("[data-part^=part].marked");
    if (!marked || around.scrollWidth <= around.clientWidth) return;
    const [box, part] = [around.getBoundingClientRect(), marked.getBoundingClientRect()];
    around.scrollLeft += part.left + part.width / 2 - box.left - box.width / 2;
  }
}

document.querySelectorAll(".player").forEach((figure) => new Player(figure));
