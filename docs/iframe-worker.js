// The search of this site works in a worker. A browser starts none from a file: where
// the pages are opened without a server, an unseen frame does the worker's work. The
// theme asks for `IFrameWorker`, and awaits what `importScripts` returns.
"use strict";

if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inner = this.frame.contentWindow;
      const address = new URL(url, location.href);
      const load = (file) =>
        new Promise((done, failed) => {
          const script = inner.document.createElement("script");
          Object.assign(script, { src: new URL(file, address), onload: done, onerror: failed });
          inner.document.head.append(script);
        });
      inner.importScripts = (...files) =>
        files.reduce((before, file) => before.then(() => load(file)), Promise.resolve());
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.isReady = load(address);
      this.inner = inner;
    }

    postMessage(data) {
      const event = () => new this.inner.MessageEvent("message", { data });
      this.isReady.then(() => this.inner.dispatchEvent(event()));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
