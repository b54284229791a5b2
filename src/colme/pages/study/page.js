/* The page of a study: its curves, drawn from the data that stand in the page, and tables to sort. */

(function () {
  "use strict";

  const {chart, make, number} = colme;
  /** Times the error alone, at which the picture ends; how far a curve goes, its label says. */
  const HIGHEST = 2;

  const told = JSON.parse(document.getElementById("told").textContent);
  const together = told.curves.filter((curve) => curve.algorithm !== "local");
  const shown = together.length ? together : told.curves;
  const epsilons = [...new Set(shown.map((curve) => curve.epsilon))];

  const ratios = shown.flatMap((curve) => curve.mse_over_local).filter(Number.isFinite);
  const most = Math.min(Math.max(1.2, 1.05 * Math.max(...ratios)), HIGHEST);

  /** A curve of the chart of one epsilon, where the algorithms are told apart. */
  function ratio(curve) {
    const highest = Math.max(...curve.mse_over_local);
    const beyond = highest > most ? ` (up to ${number(highest)})` : "";
    const end = (sign) =>
      curve.mse_over_local.map((value, i) => value + sign * (curve.margin[i] ?? 0));
    return {
      name: curve.algorithm,
      label: `${curve.algorithm}${beyond}, at the end`,
      at: curve.samples,
      value: curve.mse_over_local,
      low: end(-1),
      high: end(1),
    };
  }

  /** An element for one chart, under a heading where there are several. */
  function place(element, heading) {
    const card = make("div", {});
    if (heading !== null) card.append(make("h3", {}, heading));
    const drawing = make("div", {});
    card.append(drawing);
    element.append(card);
    return drawing;
  }

  function drawErrors(element) {
    for (const epsilon of epsilons) {
      const heading = `epsilon ${epsilon}`;
      chart(place(element, heading), {
        label: `Squared error as a multiple of that alone, ${heading}`,
        x: {label: "samples a site", log: true},
        y: {label: "squared error / alone", least: 0, most},
        line: 1,
        height: 300,
        curves: shown.filter((curve) => curve.epsilon === epsilon).map(ratio),
      });
    }
  }

  function drawCounts(element) {
    for (const curve of together) {
      const heading = `${curve.algorithm}, epsilon ${curve.epsilon}`;
      const area = (name, label, value) => ({
        name,
        label,
        at: curve.samples,
        value,
        low: value.map(() => 0),
        high: value,
      });
      chart(place(element, heading), {
        label: `Sites that have gained and lost, ${heading}`,
        x: {label: "samples a site", log: true},
        y: {label: `of ${told.sites} sites`, least: 0, most: told.sites},
        height: 190,
        // The colours of what is best and of what is not: they are told apart without red and green.
        curves: [
          area("ideal", "clearly gained, at the end", curve.gained),
          area("lost", "clearly lost, at the end", curve.lost),
        ],
      });
    }
  }

  /** What a cell is sorted by: its number, or its words; an empty one comes last. */
  function key(cell) {
    const text = cell.textContent.replace(/[,%±\s]/g, "");
    if (text === "") return null;
    const value = Number(text.replace("−", "-").replace(/^below/, ""));
    return Number.isNaN(value) ? cell.textContent : value;
  }

  function compared(a, b) {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", {numeric: true});
  }

  function sortBy(head) {
    const up = head.getAttribute("aria-sort") === "descending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = head.closest("table").tBodies[0];
    const rows = [...body.rows].map((row) => [key(row.cells[head.cellIndex]), row]);
    const sign = up ? 1 : -1;
    rows.sort(([a], [b]) => (a === null || b === null ? compared(a, b) : sign * compared(a, b)));
    body.append(...rows.map(([, row]) => row));
  }

  for (const head of document.querySelectorAll(".wide th")) {
    if (head.textContent === "") continue;
    const button = make("button", {type: "button"}, head.textContent);
    button.addEventListener("click", () => sortBy(head));
    head.replaceChildren(button);
  }
  drawErrors(document.getElementById("errors"));
  const counts = document.getElementById("counts");
  if (counts !== null) drawCounts(counts);
})();
