/* Elements made of words: text is always text, whoever wrote it.

   colme.make("p", {class: "quiet"}, "words");
   colme.table("Neighbours", ["name", {words: "late", number: true}], [["north", 3]]);
   colme.facts([["taken", 41]]);
   colme.every({ask: async () => {...}, least: 2});    // seconds between the end of one and the next

   A classic script: it also goes into a page of one file. */

var colme = globalThis.colme || {};
globalThis.colme = colme;

(function () {
  "use strict";

  /** Times the last answer took that are left between two questions: whoever computes has to rest. */
  const REST = 4;
  /** Seconds that nobody has to wait longer than: the first answer may take a minute to compile. */
  const LONGEST_REST = 15;

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    Object.entries(attributes || {}).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    return element;
  }

  /** `caption` is for those who can't see where it stands. A cell is text, a number or an element. */
  function table(caption, heads, rows) {
    const kind = (head) => (head.number ? {class: "number"} : {});
    const words = (head) => head.words ?? head;
    return make(
      "table",
      {},
      make("caption", {class: "unseen"}, caption),
      make(
        "thead",
        {},
        make("tr", {}, ...heads.map((head) => make("th", {scope: "col", ...kind(head)}, words(head)))),
      ),
      make(
        "tbody",
        {},
        ...rows.map((row) =>
          make("tr", {}, ...row.map((cell, i) => make("td", kind(heads[i]), cell ?? "–"))),
        ),
      ),
    );
  }

  function facts(pairs) {
    const list = make("dl", {class: "facts"});
    pairs.forEach(([name, value]) => list.append(make("dt", {}, name), make("dd", {}, value ?? "–")));
    return list;
  }

  /** Put something in an element, unless it says so already: who reads on is not disturbed. */
  function put(element, ...children) {
    const wanted = element.cloneNode(false);
    wanted.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    if (!element.isEqualNode(wanted)) element.replaceChildren(...wanted.childNodes);
  }

  /** Ask again and again, one at a time, while the page can be seen. */
  function every({ask, least}) {
    let stopped = false;
    let timer = null;
    async function turn() {
      timer = null;
      if (stopped || document.hidden) return;
      const began = performance.now();
      await ask();
      const took = performance.now() - began;
      const rest = Math.max(1000 * least, Math.min(REST * took, 1000 * LONGEST_REST));
      if (!stopped && timer === null) timer = setTimeout(turn, rest);
    }
    const seen = () => {
      if (!document.hidden && timer === null) turn();
    };
    document.addEventListener("visibilitychange", seen);
    turn();
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }

  Object.assign(colme, {every, facts, make, put, table});
})();
