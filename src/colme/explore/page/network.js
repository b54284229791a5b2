/* One network: agents on a canvas, and a button over each for mouse, keyboard and screen reader. */

(function () {
  "use strict";

  const STOPS = ["#0072b2", "#56b4e9", "#f0e442", "#e69f00", "#d55e00"]; // Okabe and Ito
  const GLOW = 900; // milliseconds

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
    let places = [];
    let buttons = [];
    let glows = [];
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

    const radius = () => Math.max(8, Math.min(15, canvas.clientWidth / Math.sqrt(places.length) / 5.5));

    function at(place) {
      const air = radius() + 8;
      return [
        air + place[0] * (canvas.clientWidth - 2 * air),
        air + place[1] * (canvas.clientHeight - 2 * air),
      ];
    }

    function resize() {
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (!told || !width) return;
      canvas.width = Math.round(width * devicePixelRatio);
      canvas.height = Math.round(height * devicePixelRatio);
      buttons.forEach((button, a) => {
        const [x, y] = at(places[a]);
        button.style.transform = `translate(${x}px, ${y}px)`;
      });
      draw(performance.now());
    }

    function lines(numbers) {
      context.beginPath();
      numbers.forEach((number) => {
        const [a, b] = told.edges[number];
        context.moveTo(...at(places[a]));
        context.lineTo(...at(places[b]));
      });
      context.stroke();
    }

    function draw(now) {
      const colourOf = scale(told.means);
      const [quiet, line, accent, card, bad] = ["--quiet", "--line", "--accent", "--card", "--bad"].map(colme.colour);
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      context.fillStyle = card;
      context.fillRect(0, 0, canvas.clientWidth, canvas.clientHeight);
      const cut = new Set(frame ? frame.cut : []);
      const whole = told.edges.map((_, number) => number).filter((number) => !cut.has(number));
      context.lineWidth = 1;
      context.strokeStyle = line;
      lines(whole);
      if (cut.size) {
        context.strokeStyle = bad;
        context.setLineDash([2, 6]);
        lines([...cut]);
        context.setLineDash([]);
      }
      glows = glows.filter((glow) => now - glow.since < GLOW);
      context.strokeStyle = accent;
      glows.forEach((glow) => {
        const left = 1 - (now - glow.since) / GLOW;
        context.globalAlpha = left;
        context.lineWidth = 1 + 2 * left;
        lines(glow.lit);
      });
      context.globalAlpha = 1;
      const size = radius();
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.font = `${Math.round(size * 0.95)}px system-ui, sans-serif`;
      const away = new Set(frame ? frame.away : []);
      const liars = new Set(frame ? frame.liars : []);
      places.forEach((place, a) => {
        const [x, y] = at(place);
        const belief = frame && frame.agents[a];
        const centre = belief ? belief.centre : null;
        const filling = centre === null || centre === undefined ? null : colourOf(centre);
        const gone = away.has(a);
        context.beginPath();
        context.arc(x, y, size, 0, 2 * Math.PI);
        context.fillStyle = gone ? line : filling ? css(filling) : card;
        context.fill();
        context.lineWidth = 3;
        context.strokeStyle = gone ? quiet : css(colourOf(told.truth[a]));
        context.stroke();
        if (filling && !gone) {
          // Between filling and ring: they are to be told apart where they are alike, too.
          context.beginPath();
          context.arc(x, y, size - 2, 0, 2 * Math.PI);
          context.lineWidth = 1;
          context.strokeStyle = card;
          context.stroke();
        }
        if (gone) {
          const reach = size * 0.6;
          context.lineWidth = 2;
          context.beginPath();
          context.moveTo(x - reach, y - reach);
          context.lineTo(x + reach, y + reach);
          context.moveTo(x + reach, y - reach);
          context.lineTo(x - reach, y + reach);
          context.stroke();
          return;
        }
        context.fillStyle = filling ? ink(filling) : quiet;
        context.fillText(liars.has(a) ? `${a}!` : String(a), x, y + 0.5);
        if (liars.has(a)) {
          context.strokeStyle = bad;
          context.lineWidth = 2;
          context.strokeRect(x - size - 4, y - size - 4, 2 * size + 8, 2 * size + 8);
        }
      });
      drawn += 1;
    }

    function loop(now) {
      if (!told) return;
      draw(now);
      if (running || glows.length) requestAnimationFrame(loop);
      else awake = false;
    }

    let awake = false;
    function wake() {
      if (awake) return;
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
      buttons.forEach((button, a) => {
        const words = describe(a);
        if (button.getAttribute("aria-label") !== words) button.setAttribute("aria-label", words);
        button.classList.toggle("away", Boolean(frame && frame.away.includes(a)));
        button.setAttribute("aria-pressed", String(a === chosen));
      });
    }

    new ResizeObserver(resize).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => told && draw(performance.now()));

    return {
      canvas,
      /** Another network, before its first round. */
      show(network_) {
        told = network_;
        frame = null;
        glows = [];
        chosen = null;
        layout();
        buttons.forEach((button) => button.remove());
        buttons = places.map((_, a) => {
          const button = document.createElement("button");
          button.type = "button";
          button.addEventListener("click", () => picked(a));
          element.append(button);
          return button;
        });
        label();
        resize();
      },
      frame(one) {
        frame = one;
        if (one.lit.length) glows.push({since: performance.now(), lit: one.lit});
        label();
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
