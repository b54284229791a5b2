/* The page as a whole: what is asked of the server, and where its answers are shown. */

(function () {
  "use strict";

  const byId = (id) => document.getElementById(id);
  const PAUSE = 150; // milliseconds after the last move of a slider
  let number = 0; // of the choices that are shown: what comes late of others is not
  let playing = false;
  let waiting = null;
  let refused = false;

  const errors = colme.chart(byId("errors"), {
    label: "Mean squared error over time, on log axes",
    x: {label: "samples of each agent", log: true},
    y: {label: "mean squared error", log: true},
    height: 300,
  });
  const harms = colme.chart(byId("harms"), {
    label: "Error as a multiple of staying alone, on log axes",
    x: {label: "samples of each agent", log: true},
    y: {label: "MSE / Local", log: true, least: 0.001, most: 1000},
    height: 260,
    line: 1,
  });
  const socket = new WebSocket(`ws://${location.host}/socket`);
  const ask = (what) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(what));
  };
  const panel = colme.inside(ask);
  const network = colme.network(byId("network"), look);
  const controls = colme.controls(byId("controls"), (choices) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => choose(choices), PAUSE);
  });

  function choose(choices) {
    clearTimeout(waiting);
    ask({do: "choose", choices});
  }

  function look(agent, byKey) {
    network.choose(agent);
    panel.open(agent);
    if (byKey) byId("inside-title").focus(); // else the page would jump under the mouse
  }

  function unlook() {
    const last = panel.agent;
    panel.close();
    network.choose(null);
    ask({do: "look", agent: null});
    if (last !== null) network.focus(last);
  }

  function play(whether) {
    playing = whether;
    byId("play").textContent = playing ? "Pause" : "Play";
    network.run(playing);
    ask(playing ? {do: "play", rate: Number(byId("rate").value)} : {do: "pause"});
  }

  function say(words) {
    byId("said").textContent = words;
  }

  const shown = {
    chosen(told) {
      number = told.number;
      refused = false;
      controls.show(told.choices);
      const link = colme.toLink(told.choices).toString();
      history.replaceState(null, "", `#${link}`);
      byId("toml").href = `scenario.toml?${link}`;
      byId("notes").textContent = told.notes.join("; ");
      byId("notes").classList.remove("bad");
      byId("progress").textContent = "Computing the first run … (after an installation, a minute)";
      panel.close();
      network.show(told.network);
      byId("colours").replaceChildren(
        ...network.colours().map(({mean, colour}) => {
          const item = document.createElement("li");
          const space = "http://www.w3.org/2000/svg";
          const picture = document.createElementNS(space, "svg");
          picture.setAttribute("viewBox", "0 0 38 12");
          picture.setAttribute("aria-hidden", "true");
          const dot = document.createElementNS(space, "circle");
          Object.entries({cx: 30, cy: 6, r: 6, fill: colour}).forEach(([name, value]) => dot.setAttribute(name, value));
          picture.append(dot);
          item.append(picture, colme.number(mean));
          return item;
        }),
      );
    },
    curves(told) {
      if (told.number !== number) return;
      errors.show(told.errors);
      harms.show(told.harms);
      byId("progress").textContent =
        told.runs < told.of ? `Run ${told.runs} of ${told.of}: bands come with the third, and narrow.` : `All ${told.of} runs are in.`;
    },
    frame(told) {
      network.frame(told);
      const [together, alone] = told.errors || [null, null];
      const away = told.away.length ? ` Away: ${told.away.join(", ")}.` : "";
      byId("standing").textContent =
        `Round ${told.round}.` +
        (together === null ? "" : ` Off by ${colme.number(together)} together, ${colme.number(alone)} alone (root mean square).`) +
        away;
      byId("cut").setAttribute("aria-pressed", String(told.cut.length > 0));
      byId("cut").textContent = told.cut.length ? "Join it again" : "Cut in two";
    },
    inside: (told) => panel.show(told),
    refused(told) {
      byId("notes").textContent = told.words;
      byId("notes").classList.add("bad");
      if (number === 0 && !refused) {
        refused = true; // A link that is wrong: as if there were none.
        choose({});
      }
    },
    ended(told) {
      play(false);
      say(told.words);
    },
  };

  socket.addEventListener("open", () => choose(colme.fromLink()));
  socket.addEventListener("message", (event) => {
    const told = JSON.parse(event.data);
    shown[told.type](told);
  });
  socket.addEventListener("close", () => {
    byId("progress").textContent = "The connection has ended. Is colme explore still running? Then load this page anew.";
    playing = false;
    byId("play").textContent = "Play";
    network.run(false);
  });
  addEventListener("hashchange", () => choose(colme.fromLink()));

  byId("play").addEventListener("click", () => play(!playing));
  byId("rate").addEventListener("change", () => playing && play(true));
  byId("step").addEventListener("click", () => {
    if (playing) play(false);
    ask({do: "step"});
  });
  byId("cut").addEventListener("click", () => ask({do: "cut"}));
  byId("restart").addEventListener("click", () => choose(controls.choices));
  byId("close").addEventListener("click", unlook);
  byId("inside").addEventListener("keydown", (event) => {
    if (event.key === "Escape") unlook();
  });
  byId("another").addEventListener("click", () => {
    choose({...controls.choices, seed: String(Number(controls.choices.seed) + 1)});
  });
  byId("defaults").addEventListener("click", () => choose({}));
  byId("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied: it has all settings and the seed.");
    } catch {
      say(`The browser did not let it be copied: ${location.href}`);
    }
  });
  byId("png").addEventListener("click", async () => {
    const blob = await colme.picture({
      title: "colme explore",
      words: Object.entries(controls.choices).map(([name, value]) => `${name} ${value}`),
      network: network.canvas,
      charts: [
        {title: "Mean squared error", canvas: errors.canvas, entries: errors.entries()},
        {title: "As a multiple of staying alone", canvas: harms.canvas, entries: harms.entries()},
      ],
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = "colme-explore.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say("The picture is saved.");
  });

  colme.drawn = () => network.drawn; // pictures of the network so far: for who measures
})();
