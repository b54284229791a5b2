/* The owner's page: what /estimate and /status say, and nothing else. */

(function () {
  "use strict";

  const {chart, every, facts, make, number, put, table} = colme;
  const KEY = "colme-key";
  const MOST_POINTS = 1200;
  const LOOK_SECONDS = 2;
  /** Seconds between two sentences to a screen reader: it is not to be talked over. */
  const SAY_SECONDS = 15;

  const at = (id) => document.getElementById(id);
  const opened = performance.now();
  const seen = [];
  let drawn = null;
  let stop = () => {};
  let said = -Infinity;

  /** To a tenth of the interval's width or less: digits beyond it say nothing. */
  function precise(value, answer) {
    if (value === null) return "unknown";
    const width = (answer.high ?? Infinity) - (answer.low ?? -Infinity);
    if (!(width > 0) || !Number.isFinite(width)) return number(value);
    return value.toFixed(Math.min(15, Math.max(0, Math.ceil(-Math.log10(width)) + 1)));
  }

  function seconds(age) {
    if (age < 90) return `${Math.round(age)} s`;
    if (age < 5400) return `${Math.round(age / 60)} minutes`;
    return `${Math.round(age / 3600)} hours`;
  }

  async function get(path) {
    const response = await fetch(path, {headers: {"X-Colme-Key": sessionStorage.getItem(KEY) ?? ""}});
    if (response.status === 401) throw new Error("logged out");
    if (response.status === 409) return null;
    if (!response.ok) throw new Error(`it answered with ${response.status}`);
    return response.json();
  }

  function how(answer) {
    if (answer.why !== null) return `It is near what you would know alone: ${answer.why}.`;
    const releases = answer.records === 1 ? "1 release" : `${answer.records} releases`;
    let words = `It rests on your samples and on ${releases} of others`;
    if (answer.classes !== null) {
      words += answer.classes === 1 ? ", who seem to be of one kind" : `, who seem to be of ${answer.classes} kinds`;
    }
    if (answer.oldest !== null) words += `; the oldest came ${seconds(answer.oldest)} ago`;
    return `${words}.`;
  }

  function history(answer, status) {
    seen.push({
      at: (performance.now() - opened) / 60000,
      value: answer.value,
      low: answer.low,
      high: answer.high,
      alone: answer.alone,
    });
    // Twice as coarse rather than shorter: it goes as far back as the page has been open.
    if (seen.length > MOST_POINTS) seen.splice(0, seen.length, ...seen.filter((_, i) => i % 2 === 0));
    if (seen.length === 1) return; // A point is no curve.
    const column = (name) => seen.map((one) => one[name]);
    const curves = [
      {
        name: status.algorithm,
        label: "together, with its 95% interval:",
        at: column("at"),
        value: column("value"),
        low: column("low"),
        high: column("high"),
      },
      {name: "local", label: "alone:", at: column("at"), value: column("alone")},
    ];
    if (drawn === null) {
      drawn = chart(at("history"), {
        label: "Your mean over time, together and alone",
        x: {label: "minutes since this page was opened"},
        y: {label: "mean"},
        height: 240,
        curves,
      });
    } else drawn.show(curves);
  }

  function showAnswer(answer, status) {
    if (answer === null) {
      put(at("value"), "–");
      put(at("interval"), "There is no sample yet, so nothing is known.");
      put(at("alone"));
      put(at("how"));
      return;
    }
    const value = precise(answer.value, answer);
    const interval = `95% interval: ${precise(answer.low, answer)} to ${precise(answer.high, answer)}`;
    put(at("value"), value);
    put(at("interval"), `${interval}.`);
    put(at("alone"), `Alone you would know ${precise(answer.alone, answer)}.`);
    put(at("how"), how(answer));
    history(answer, status);
    const now = performance.now() / 1000;
    if (now - said > SAY_SECONDS) {
      put(at("told"), `The mean is ${value}; ${interval}. ${how(answer)}`);
      said = now;
    }
  }

  function showSamples({taken, released, waiting, clamped, refused}) {
    const count = (value) => value.toLocaleString("en");
    put(
      at("samples"),
      facts([
        ["taken in", count(taken)],
        ["released, noised", count(released)],
        ["waiting for their block to fill", count(waiting)],
        ["outside the bounds, and moved there", count(clamped)],
        ["refused since the start", count(refused)],
      ]),
    );
  }

  function showNeighbours(neighbours) {
    if (!neighbours.length) {
      put(at("neighbours"), make("p", {}, "None is configured."));
      return;
    }
    const rounds = neighbours.some((one) => one.accepted !== null);
    const special = rounds
      ? ["class", {words: "round", number: true}, {words: "late", number: true}]
      : [{words: "vouched for", number: true}];
    const rows = neighbours.map((one) => {
      const link = one.connected
        ? make("span", {class: "good"}, "connected")
        : make("span", {class: "bad"}, "away");
      if (one.suspect) link.append(", suspect");
      const own = rounds
        ? [one.accepted ? "same" : "other", one.round, one.late]
        : [one.vouched_for];
      return [one.name, one.address, link, ...own, one.last_error ?? ""];
    });
    put(
      at("neighbours"),
      table("Neighbours", ["name", "address", "link", ...special, "last error"], rows),
    );
  }

  function showSelf(status) {
    const pairs = [["algorithm", status.algorithm]];
    if (status.phase === null) {
      pairs.push(["tick", status.round], ["records on its board", status.records]);
      pairs.push(["hash of the board", status.board], ["its records' origin", status.origin]);
    } else {
      pairs.push(["round", `${status.round} (${status.rounds}), exchange: ${status.phase}`]);
      pairs.push(["look alike, with this node", status.class_size]);
      pairs.push(["weight of what is shared", number(status.trust)]);
    }
    if (status.barred.length) pairs.push(["barred: contradicted themselves", status.barred.join(", ")]);
    pairs.push(["starts of its state", status.epoch], ["fingerprint", status.fingerprint]);
    put(at("self"), facts(pairs));
  }

  function showStatus(status) {
    document.title = `${status.name}: a colme node`;
    put(at("name"), status.name);
    const ready = status.troubles.length === 0;
    put(at("readiness"), make("span", {class: ready ? "good" : "bad"}, ready ? "ready" : "not ready"));
    at("troubles").hidden = ready;
    put(at("troubles-list"), ...status.troubles.map((trouble) => make("li", {}, trouble)));
    showSamples(status.samples);
    // A semicolon between parentheses ends nothing.
    const parts = status.privacy.split(/;\s(?![^(]*\))/);
    put(at("privacy"), ...parts.map((part) => make("li", {}, part)));
    showNeighbours(status.neighbours);
    showSelf(status);
  }

  async function look() {
    try {
      const status = await get("/status");
      const answer = status.samples.taken > 0 ? await get("/estimate") : null;
      if (sessionStorage.getItem(KEY) === null) return; // logged out meanwhile
      showStatus(status);
      showAnswer(answer, status);
      heard(null);
    } catch (error) {
      if (error.message === "logged out") {
        loggedOut("Log in again: the node was restarted, or this session has ended.");
      } else heard(error);
    }
  }

  /** Old numbers stay, and say that they are old. */
  function heard(error) {
    at("node").classList.toggle("silent", error !== null);
    const since = at("unheard");
    if (error === null) since.hidden = true;
    else if (since.hidden) {
      const reason = error instanceof TypeError ? "it does not answer" : error.message;
      since.textContent = `Since ${new Date().toLocaleTimeString()} the node is silent: ${reason}.`;
      since.hidden = false;
    }
  }

  function loggedIn() {
    at("login").hidden = true;
    for (const id of ["node", "readiness", "logout"]) at(id).hidden = false;
    stop = every({ask: look, least: LOOK_SECONDS});
  }

  /** Nothing of the node stays on the page. */
  function loggedOut(words) {
    stop();
    sessionStorage.removeItem(KEY);
    seen.length = 0;
    if (drawn !== null) drawn.remove();
    drawn = null;
    said = -Infinity;
    for (const id of ["value", "interval", "alone", "how", "told", "samples", "privacy"]) put(at(id));
    for (const id of ["neighbours", "self", "troubles-list", "readiness", "unheard"]) put(at(id));
    for (const id of ["node", "readiness", "logout"]) at(id).hidden = true;
    document.title = "A colme node";
    put(at("name"), "A colme node");
    put(at("refused"), words);
    at("login").hidden = false;
    at("token").focus();
  }

  at("login").addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = new URLSearchParams({token: at("token").value});
    at("token").value = "";
    try {
      const response = await fetch("/login", {method: "POST", body});
      const answer = await response.json();
      if (!response.ok) {
        put(at("refused"), response.status === 403 ? "This is not the token." : answer.error);
        at("token").focus();
        return;
      }
      sessionStorage.setItem(KEY, answer.key);
    } catch {
      put(at("refused"), "The node does not answer.");
      return;
    }
    put(at("refused"));
    loggedIn();
  });

  at("logout").addEventListener("click", async () => {
    const key = sessionStorage.getItem(KEY) ?? "";
    loggedOut("You have logged out.");
    await fetch("/logout", {method: "POST", headers: {"X-Colme-Key": key}}).catch(() => {});
  });

  if (sessionStorage.getItem(KEY) === null) loggedOut("");
  else loggedIn();
})();
