// Opens the page's data.
"use strict";

async function start() {
  const begun = performance.now();
  const data = element("data");
  const notice = element("notice");
  try {
    const text = data.textContent.trim();
    if (!text) throw new Error("the file is not whole, its end is missing");
    const { packed, bytes } = await unpacked(text).catch((error) => {
      throw new Error("its data are not whole or damaged", { cause: error });
    });
    data.remove();
    const trace = new Trace(bytes);
    const { name } = trace.tracks[1];
    document.title = `${name} · Timeline · Narthex`;
    document.querySelector("h1").textContent = name;
    offer(packed);
    if (trace.events === 0) {
      notice.textContent = "There is nothing in this timeline: the run was over before it began.";
      document.documentElement.dataset.state = "empty";
      return;
    }
    new Viewer(trace);
    Object.assign(document.documentElement.dataset, {
      state: "open",
      events: trace.events,
      milliseconds: Math.round(performance.now() - begun),
    });
  } catch (error) {
    notice.className = "problem";
    notice.textContent = `This timeline cannot be shown: ${error.message}.`;
    document.documentElement.dataset.state = "failed";
    console.error(error);
  }
}

// The data are a trace of Perfetto, which its viewer opens too.
function offer(packed) {
  const save = element("save");
  save.href = URL.createObjectURL(new Blob([packed], { type: "application/gzip" }));
  save.download = `${document.title.split(" ")[0]}.pftrace.gz`;
  save.hidden = false;
}

addEventListener("DOMContentLoaded", start);
