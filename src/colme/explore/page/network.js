/* One network: agents on a canvas, and a button over each for mouse, keyboard and screen reader. */

(function () {
  "use strict";

  const STOPS = ["#0072b2", "#56b4e9", "#f0e442", "#e69f00", "#d55e00"]; // Okabe and Ito
  const GLOW = 900; // milliseconds
  const FADES = 6; // steps of a glow: edges of one step are one stroke
  const CROWDED = 600; // edges from which a lit one is as thin as the others: wide ones take longer
  const SPEAKS = 500; // milliseconds between two renewals of what is read out while it plays

  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  /** A mean as a colour: from the least class mean to the largest. */
  function scale(means) {
    const least = Math.min(...means);
    const width = Math.max(...means) - least;
    return (mean) => {
      const place = width > 0 ? Math.min(1, Math.max(0, (mean - least) / width)) : 0.5;
      const at = Math.min(STOPS.length - 2, Math.floor(place * (STOPS.length - 1)));
      const share = place * (STOPS.length - 1) - at;
      const [from, to] = [parts(STOPS[at]), parts(STOPS[at + 1])];
      return from.map((one, i) => Math.round(one + (to[i] - one) * share));
    };
  }

  const css = (rgb) => `rgb(${rgb.join(" ")})`;
  const ink = (rgb) => (0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 130 ? "#10151b" : "#ffffff");

  function network(element, picked) {
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    element.append(canvas);
    const context = canvas.getContext("2d");
    let told = null;
    let frame = null;
    let places = []; // from 0 to 1
    let points = []; // the same in pixels
    let size = 0; // of an agent
    let buttons = [];
    let lit = []; // of each edge, when something crossed it last
    let spoken = 0;
    let colours = {};
    let running = false;
    let chosen = null;
    let drawn = 0;

    function layout() {
      const agents = told.truth.length;
      const nodes = Array.from({length: agents}, (_, index) => ({index}));
      const links = told.edges.map(([source, target]) => ({source, target}));
      const strength = told.edges.length > agents * 8 ? 0.01 : 0.5;
      d3.forceSimulation(nodes)
        .force("charge", d3.forceManyBody().strength(-90))
        .force("link", d3.forceLink(links).distance(42).strength(strength))
        .force("apart", d3.forceCollide(17))
        .force("x", d3.forceX().strength(0.06))
        .force("y", d3.forceY().strength(0.07))
        .stop()
        .tick(260);
      const spread = (name) => {
        const all = nodes.map((node) => node[name]);
        const least = Math.min(...all);
        return {least, width: Math.max(...all) - least || 1};
      };
      const [x, y] = [spread("x"), spread("y")];
      places = nodes.map((node) => [(node.x - x.least) / x.width, (node.y - y.least) / y.width]);
    }

    function resize() {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (!told || !width) return;
      canvas.width = Math.round(width * devicePixelRatio);
      canvas.height = Math.round(height * devicePixelRatio);
      size = Math.max(8, Math.min(15, width / Math.sqrt(places.length) / 5.5));
      const air = size + 8;
      points = places.map(([x, y]) => [air + x * (width - 2 * air), air + y * (height - 2 * air)]);
      buttons.forEach((button, a) => {
        button.style.transform = `translate(${points[a][0]}px, ${points[a][1]}px)`;
      });
      draw(performance.now());
    }

    function lookUpColours() {
      ["quiet", "line", "accent", "card", "bad"].forEach((name) => {
        colours[name] = colme.colour(`--${name}`);
      });
    }

    function lines(numbers) {
      context.beginPath();
      numbers.forEach((number) => {
        const [a, b] = told.edges[number];
        context.moveTo(...points[a]);
        context.lineTo(...points[b]);
      });
      context.stroke();
    }

    /** Edges in one pass each: as they are, cut, or lit and fading. */
    function drawEdges(now) {
      const cut = new Set(frame ? frame.cut : []);
      const fading = Array.from({length: FADES}, () => []);
      const still = [];
      told.edges.forEach((_, number) => {
        const age = (now - lit[number]) / GLOW;
        if (cut.has(number)) return;
        if (age < 1) fading[Math.max(0, Math.floor(age * FADES))].push(number);
        else still.push(number);
      });
      context.lineWidth = 1;
      context.strokeStyle = colours.line;
      lines(still);
      if (cut.size) {
        context.strokeStyle = colours.bad;
        context.setLineDash([2, 6]);
        lines([...cut]);
        context.setLineDash([]);
      }
      context.strokeStyle = colours.accent;
      fading.forEach((numbers, step) => {
        const left = 1 - (step + 0.5) / FADES;
        context.globalAlpha = 0.15 + 0.85 * left;
        context.lineWidth = told.edges.length > CROWDED ? 1 : 1 + 1.8 * left;
        if (numbers.length) lines(numbers);
      });
      context.globalAlpha = 1;
      return still.length + cut.size < told.edges.length;
    }

    function circle(x, y, reach) {
      context.beginPath();
      context.arc(x, y, reach, 0, 2 * Math.PI);
    }

    function drawAway(x, y) {
      circle(x, y, size);
      context.fillStyle = colours.line;
      context.fill();
      context.lineWidth = 2;
      context.strokeStyle = colours.quiet;
      context.stroke();
      const reach = size * 0.6;
      context.beginPath();
      context.moveTo(x - reach, y - reach);
      context.lineTo(x + reach, y + reach);
      context.moveTo(x + reach, y - reach);
      context.lineTo(x - reach, y + reach);
      context.stroke();
    }

    function drawAgent(a, x, y, colourOf, lies) {
      const belief = frame && frame.agents[a];
      const filling = belief && belief.centre !== null ? colourOf(belief.centre) : null;
      circle(x, y, size);
      context.fillStyle = filling ? css(filling) : colours.card;
      context.fill();
      context.lineWidth = 3;
      context.strokeStyle = css(colourOf(told.truth[a]));
      context.stroke();
      if (filling) {
        // Between filling and ring: they are to be told apart where they are alike, too.
        circle(x, y, size - 2);
        context.lineWidth = 1;
        context.strokeStyle = colours.card;
        context.stroke();
      }
      context.fillStyle = filling ? ink(filling) : colours.quiet;
      context.fillText(lies ? `${a}!` : String(a), x, y + 0.5);
      if (lies) {
        context.strokeStyle = colours.bad;
        context.lineWidth = 2;
        context.strokeRect(x - size - 4, y - size - 4, 2 * size + 8, 2 * size + 8);
      }
    }

    /** Whether something still fades. */
    function draw(now) {
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      context.fillStyle = colours.card;
      context.fillRect(0, 0, canvas.width, canvas.height);
      const fades = drawEdges(now);
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.font = `${Math.round(size * 0.95)}px system-ui, sans-serif`;
      const colourOf = scale(told.means);
      const away = new Set(frame ? frame.away : []);
      const liars = new Set(frame ? frame.liars : []);
      points.forEach(([x, y], a) => {
        if (away.has(a)) drawAway(x, y);
        else drawAgent(a, x, y, colourOf, liars.has(a));
      });
      drawn += 1;
      return fades;
    }

    function loop(now) {
      const fades = draw(now);
      awake = running || fades;
      if (awake) requestAnimationFrame(loop);
      else label();
    }

    let awake = false;
    function wake() {
      if (awake || !told) return;
      awake = true;
      requestAnimationFrame(loop);
    }

    function describe(a) {
      const belief = frame && frame.agents[a];
      const state = [];
      if (frame && frame.away.includes(a)) state.push("away");
      if (frame && frame.liars.includes(a)) state.push("lies");
      if (belief) {
        state.push(`answers ${colme.number(belief.value)}`);
        state.push(belief.centre === null ? "alone" : `with the class at ${colme.number(belief.centre)}`);
      }
      return `Agent ${a}: ${state.join(", ") || "no samples yet"}`;
    }

    function label() {
      spoken = performance.now();
      buttons.forEach((button, a) => {
        const words = describe(a);
        if (button.getAttribute("aria-label") !== words) button.setAttribute("aria-label", words);
        button.classList.toggle("away", Boolean(frame && frame.away.includes(a)));
        button.setAttribute("aria-pressed", String(a === chosen));
      });
    }

    new ResizeObserver(resize).observe(element);
    lookUpColours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      lookUpColours();
      if (told) draw(performance.now());
    });

    return {
      canvas,
      /** Another network, before its first round. */
      show(network_) {
        told = network_;
        frame = null;
        lit = told.edges.map(() => -Infinity);
        chosen = null;
        layout();
        buttons.forEach((button) => button.remove());
        buttons = places.map((_, a) => {
          const button = document.createElement("button");
          button.type = "button";
          button.addEventListener("click", (event) => picked(a, event.detail === 0));
          element.append(button);
          return button;
        });
        label();
        resize();
      },
      frame(one) {
        const now = performance.now();
        const same = frame && String(frame.away) === String(one.away) && String(frame.liars) === String(one.liars);
        if (!frame || one.round !== frame.round) one.lit.forEach((number) => (lit[number] = now));
        frame = one;
        if (!running || !same || now - spoken > SPEAKS) label();
        wake();
      },
      run(whether) {
        running = whether;
        wake();
      },
      choose(a) {
        chosen = a;
        label();
      },
      focus(a) {
        if (buttons[a]) buttons[a].focus();
      },
      colours() {
        const colourOf = scale(told.means);
        return told.means.map((mean) => ({mean, colour: css(colourOf(mean))}));
      },
      get drawn() {
        return drawn;
      },
    };
  }

  Object.assign(colme, {network});
})();
