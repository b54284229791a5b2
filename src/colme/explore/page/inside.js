/* What leaves one agent, and what does not. */

(function () {
  "use strict";

  const byId = (id) => document.getElementById(id);

  function fact(term, words) {
    const name = document.createElement("dt");
    const value = document.createElement("dd");
    name.textContent = term;
    value.textContent = words;
    return [name, value];
  }

  function row(letter, neighbours) {
    const all = letter.to.length === neighbours && neighbours > 1;
    const to = all ? `all ${neighbours} neighbours` : letter.to.join(", ");
    const numbers = [letter.released, letter.exact].map((one) => (one === null ? "" : one.toFixed(4)));
    const line = document.createElement("tr");
    [letter.round, to, letter.words, ...numbers].forEach((words, column) => {
      const cell = document.createElement("td");
      cell.textContent = words;
      if (column > 2) cell.className = "number";
      line.append(cell);
    });
    return line;
  }

  function releaseRow(release) {
    const line = document.createElement("tr");
    [release.count, release.released.toFixed(4), release.exact.toFixed(4)].forEach((words) => {
      const cell = document.createElement("td");
      cell.className = "number";
      cell.textContent = words;
      line.append(cell);
    });
    return line;
  }

  function inside(ask) {
    const section = byId("inside");
    let agent = null;
    let first = 0;
    let frozen = false; // while older messages are read

    function facts(told) {
      const number = colme.number;
      const belief = told.belief;
      const lines = [
        fact("True mean", `${number(told.truth)} (nobody knows it)`),
        fact("Exact mean of its samples", told.exact === null ? "no samples yet" : `${told.exact.toFixed(4)} (stays inside)`),
      ];
      if (belief) {
        const interval = `95%: ${number(belief.low)} to ${number(belief.high)}`;
        lines.push(fact("Its answer", `${belief.value.toFixed(4)} (${interval}; stays inside)`));
        lines.push(
          fact(
            "It rests on",
            belief.centre === null
              ? "its own samples alone"
              : `the class at ${number(belief.centre)}, about ${belief.alike} alike, weight ${Math.round(belief.trust * 100)}%`,
          ),
        );
      }
      lines.push(fact("Neighbours", told.neighbours.join(", ") || "none"));
      byId("facts").replaceChildren(...lines.flat());
    }

    byId("older").addEventListener("click", () => {
      frozen = true;
      ask({do: "look", agent, before: first});
    });
    byId("newest").addEventListener("click", () => {
      frozen = false;
      ask({do: "look", agent});
    });
    byId("kill").addEventListener("click", () => ask({do: "kill", agent}));
    byId("lie").addEventListener("click", () => ask({do: "lie", agent}));

    return {
      open(a) {
        agent = a;
        frozen = false;
        section.hidden = false;
        ask({do: "look", agent});
      },
      close() {
        agent = null;
        section.hidden = true;
      },
      show(told) {
        if (told.agent !== agent) return;
        byId("inside-title").textContent = `What leaves agent ${agent}`;
        facts(told);
        byId("promise").textContent = `Privacy: pure differential privacy, ${told.promise}.`;
        byId("kill").textContent = told.away ? "Bring it back" : "Kill";
        byId("kill").setAttribute("aria-pressed", String(told.away));
        byId("lie").textContent = told.lies ? "Stop lying" : "Make it lie";
        byId("lie").setAttribute("aria-pressed", String(told.lies));
        byId("releases").replaceChildren(...told.releases.map(releaseRow));
        const rows = told.letters.map((letter) => row(letter, told.neighbours.length));
        if (told.older) byId("letters").append(...rows);
        else if (!frozen) byId("letters").replaceChildren(...rows);
        if (told.older || !frozen) first = told.first;
        byId("count").textContent = `${told.all.toLocaleString("en")} messages have left it so far.`;
        byId("older").hidden = first === 0;
        byId("newest").hidden = !frozen;
      },
      get agent() {
        return agent;
      },
    };
  }

  Object.assign(colme, {inside});
})();
