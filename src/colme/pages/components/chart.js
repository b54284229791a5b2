/* Curves with bands, on log or linear axes: uPlot, with our colours and a legend in words.

   const drawn = colme.chart(element, {
     label: "Mean squared error over time",     // for those who can't see it
     x: {label: "samples of each agent", log: true},
     y: {label: "mean squared error", log: true, least: 0.01, most: 100},   // least, most: optional
     height: 280,                                // pixels; optional
     line: 1,                                    // a horizontal line; optional
     curves: [{name: "relay", label: "relay", at: [1, 2], value: [1, 0.5], low: [...], high: [...]}],
   });
   drawn.show(curves);    // others instead; each has its own `at`
   drawn.remove();
   drawn.canvas, drawn.entries();   // for a picture: what was drawn, and its legend

   A name has the same colour and dashes in every chart, here and in the figures. Colours are in
   style.css, so that they fit the light. A classic script: it also goes into a page of one file. */

var colme = globalThis.colme || {};
globalThis.colme = colme;

(function () {
  "use strict";

  /* Dashes are in units of the line's width, as in the figures (colme.report.gain). */
  const PENS = {
    relay: {colour: "--relay", dash: [], width: 2.6},
    lost: {colour: "--lost", dash: [4, 1.5], width: 1.8},
    paper: {colour: "--paper-algorithm", dash: [4, 1.5, 1, 1.5], width: 1.8},
    local: {colour: "--local", dash: [7, 2.5], width: 2.4},
    ideal: {colour: "--ideal", dash: [1, 1], width: 2.8},
    "class-ideal": {colour: "--class-ideal", dash: [1, 2.5], width: 2.8},
  };
  const OTHERS = [
    {colour: "--other-1", dash: [8, 2, 1, 2, 1, 2], width: 1.8},
    {colour: "--other-2", dash: [2, 1], width: 1.8},
    {colour: "--other-3", dash: [10, 3], width: 1.8},
  ];
  const dark = matchMedia("(prefers-color-scheme: dark)");

  /** A colour of style.css, as it is in this light. */
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
  }

  /** How each of these names is drawn: its own way, or one that nobody else here has. */
  function pens(names) {
    const strangers = names.filter((name) => !PENS[name]);
    return names.map((name) => PENS[name] || OTHERS[strangers.indexOf(name) % OTHERS.length]);
  }

  /** A number as people read it: three digits that count. */
  function number(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace("e+", "e").replace(".0e", "e");
    if (size >= 1000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(3)));
  }

  /** All curves over one axis: uPlot wants a column for each, with gaps. */
  function columns(curves, logX, logY) {
    const usableX = (x) => Number.isFinite(x) && (!logX || x > 0);
    const all = new Set(curves.flatMap((curve) => curve.at.filter(usableX)));
    const at = [...all].sort((a, b) => a - b);
    const place = new Map(at.map((x, i) => [x, i]));
    const column = (curve, values) => {
      const found = new Array(at.length).fill(null);
      (values || []).forEach((value, i) => {
        const usable = Number.isFinite(value) && (!logY || value > 0);
        if (usable && place.has(curve.at[i])) found[place.get(curve.at[i])] = value;
      });
      return found;
    };
    const parts = curves.flatMap((curve) => [
      column(curve, curve.value),
      column(curve, curve.low),
      column(curve, curve.high),
    ]);
    return [at, ...parts];
  }

  /** From the least to the most there is, with a little air; never nothing. */
  function range(axis) {
    return (plot, least, most) => {
      let low = least ?? 1;
      let high = most ?? (axis.log ? 10 : 1);
      if (axis.log) {
        low = Math.max(low, Number.MIN_VALUE);
        if (low === high) [low, high] = [low / 2, high * 2];
        const air = axis.tight ? 1 : Math.pow(high / low, 0.04);
        [low, high] = [low / air, high * air];
      } else {
        if (low === high) [low, high] = [low - 0.5, high + 0.5];
        const air = axis.tight ? 0 : (high - low) * 0.04;
        [low, high] = [low - air, high + air];
      }
      return [Math.max(low, axis.least ?? -Infinity), Math.min(high, axis.most ?? Infinity)];
    };
  }

  /** Decades, and 2 and 5 between them where there are few. */
  function decades(plot, index, low, high) {
    const first = Math.floor(Math.log10(low));
    const last = Math.ceil(Math.log10(high));
    const steps = last - first <= 3 ? [1, 2, 5] : [1];
    const stride = Math.max(1, Math.ceil((last - first) / 7));
    const splits = [];
    for (let power = first; power <= last; power += stride) {
      steps.forEach((step) => splits.push(step * Math.pow(10, power)));
    }
    return splits.filter((split) => split >= low * 0.999 && split <= high * 1.001);
  }

  function axis(told, size) {
    const common = {
      label: told.label,
      labelSize: 22,
      labelFont: "13px system-ui, sans-serif",
      font: "12px system-ui, sans-serif",
      size,
      stroke: () => colour("--quiet"),
      grid: {stroke: () => colour("--grid"), width: 1},
      ticks: {stroke: () => colour("--line"), width: 1, size: 4},
      values: (plot, splits) => splits.map((split) => (split === null ? "" : number(split))),
    };
    return told.log ? {...common, splits: decades, filter: (plot, splits) => splits} : common;
  }

  function options(told, curves, width) {
    const used = pens(curves.map((curve) => curve.name));
    const hidden = {stroke: null, points: {show: false}, spanGaps: true, auto: true};
    const series = curves.flatMap((curve, i) => {
      const pen = used[i];
      const value = {
        label: curve.label || curve.name,
        stroke: () => colour(pen.colour),
        width: pen.width,
        dash: pen.dash.map((part) => part * pen.width),
        spanGaps: true,
        points: {show: false},
      };
      return [value, {...hidden}, {...hidden}];
    });
    const bands = curves.map((curve, i) => ({
      series: [3 * i + 3, 3 * i + 2],
      fill: () => `${colour(used[i].colour)}30`, // and an alpha: bands lie over each other
    }));
    const logOrNot = (one) => (one.log ? {distr: 3, log: 10} : {distr: 1});
    return {
      width,
      height: told.height || 280,
      padding: [10, 14, 0, 0],
      legend: {show: false},
      cursor: {show: false},
      select: {show: false},
      scales: {
        x: {time: false, ...logOrNot(told.x), range: range({tight: true, ...told.x})},
        y: {...logOrNot(told.y), range: range(told.y)},
      },
      axes: [axis(told.x, 34), axis(told.y, 54)],
      series: [{}, ...series],
      bands,
      hooks: {
        draw: [
          (plot) => {
            if (told.line === undefined) return;
            const y = plot.valToPos(told.line, "y", true);
            const {left, top, width: across, height: down} = plot.bbox;
            if (!(y >= top && y <= top + down)) return;
            plot.ctx.save();
            plot.ctx.strokeStyle = colour("--quiet");
            plot.ctx.lineWidth = devicePixelRatio;
            plot.ctx.beginPath();
            plot.ctx.moveTo(left, y);
            plot.ctx.lineTo(left + across, y);
            plot.ctx.stroke();
            plot.ctx.restore();
          },
        ],
      },
    };
  }

  /** A piece of the line, as it is drawn. */
  function swatch(pen) {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    picture.setAttribute("viewBox", "0 0 38 12");
    picture.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(space, "line");
    const drawn = {x1: 1, x2: 37, y1: 6, y2: 6, stroke: colour(pen.colour), "stroke-width": pen.width};
    Object.entries(drawn).forEach(([name, value]) => line.setAttribute(name, value));
    if (pen.dash.length) {
      line.setAttribute("stroke-dasharray", pen.dash.map((part) => part * pen.width).join(" "));
    }
    picture.append(line);
    return picture;
  }

  function latest(curve) {
    for (let i = curve.value.length - 1; i >= 0; i -= 1) {
      if (Number.isFinite(curve.value[i])) return curve.value[i];
    }
    return null;
  }

  function chart(element, told) {
    const plotted = document.createElement("div");
    const legend = document.createElement("ul");
    element.classList.add("chart");
    plotted.className = "chart-plot";
    plotted.setAttribute("role", "img");
    legend.className = "chart-legend";
    element.append(plotted, legend);
    let curves = told.curves || [];
    let plot = null;
    let drawnNames = "";

    const width = () => Math.max(200, plotted.clientWidth);
    const data = () => columns(curves, told.x.log, told.y.log);

    function build() {
      if (plot) plot.destroy();
      plot = new uPlot(options(told, curves, width()), data(), plotted);
      drawnNames = JSON.stringify(curves.map((curve) => [curve.name, curve.label]));
      words();
    }

    function words() {
      const used = pens(curves.map((curve) => curve.name));
      legend.replaceChildren(
        ...curves.map((curve, i) => {
          const item = document.createElement("li");
          const value = document.createElement("b");
          value.textContent = number(latest(curve));
          item.append(swatch(used[i]), `${curve.label || curve.name} `, value);
          return item;
        }),
      );
      const told_ = curves.map((curve) => `${curve.label || curve.name} ${number(latest(curve))}`);
      plotted.setAttribute("aria-label", `${told.label}. Last: ${told_.join(", ") || "nothing yet"}.`);
    }

    function show(others) {
      curves = others;
      if (JSON.stringify(curves.map((curve) => [curve.name, curve.label])) !== drawnNames) {
        build();
      } else {
        plot.setData(data());
        words();
      }
    }

    const resized = new ResizeObserver(() => {
      if (plot && plot.width !== width()) plot.setSize({width: width(), height: told.height || 280});
    });
    resized.observe(plotted);
    dark.addEventListener("change", build);
    build();
    return {
      show,
      remove() {
        resized.disconnect();
        dark.removeEventListener("change", build);
        plot.destroy();
        element.replaceChildren();
      },
      get canvas() {
        return plot.ctx.canvas;
      },
      entries() {
        const used = pens(curves.map((curve) => curve.name));
        return curves.map((curve, i) => ({
          words: `${curve.label || curve.name} ${number(latest(curve))}`,
          colour: colour(used[i].colour),
          dash: used[i].dash.map((part) => part * used[i].width),
          width: used[i].width,
        }));
      },
    };
  }

  Object.assign(colme, {chart, colour, number});
})();
