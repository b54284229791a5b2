/* The page over a fleet: every node's error, alone and together, against a truth that none knows. */

(function () {
  "use strict";

  const {chart, every, make, number, put, table} = colme;
  const LOOK_SECONDS = 1;
  const SAY_SECONDS = 15;
  const MOST_POINTS = 1200;

  const at = (id) => document.getElementById(id);
  const seen = [];
  let drawn = null;
  let said = -Infinity;

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  function signed(value) {
    return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(5)}`;
  }

  function showPlan(plan) {
    const privacy =
      plan.epsilon === "inf"
        ? "epsilon = inf: no privacy"
        : `epsilon = ${plan.epsilon} for each sample (event level, replace-one, counts public)`;
    put(at("plan"), `${plan.agents} nodes, ${plan.degree} neighbours each, ${plan.algorithm}, ${privacy}`);
  }

  function showErrors(nodes, plan) {
    const answering = nodes.filter((one) => one.estimate !== null);
    if (answering.length < nodes.length) {
      put(at("words"), `${answering.length} of ${nodes.length} nodes have an answer.`);
      return;
    }
    const square = (name) => mean(nodes.map((one) => (one.estimate[name] - one.truth) ** 2));
    const samples = mean(nodes.map((one) => one.estimate.samples));
    const [alone, together] = [square("alone"), square("value")];
    const share = number(together / alone);
    put(at("worth"), share);
    const words =
      `of the squared error that the same nodes would have alone, after ${Math.round(samples).toLocaleString("en")}` +
      ` samples each: ${number(together)} instead of ${number(alone)}.`;
    put(at("words"), words);
    const now = performance.now() / 1000;
    if (now - said > SAY_SECONDS) {
      put(at("told"), `${share} ${words}`);
      said = now;
    }
    if (seen.length && seen[seen.length - 1].samples === samples) seen.pop();
    seen.push({samples, alone, together});
    if (seen.length > MOST_POINTS) seen.splice(0, seen.length, ...seen.filter((_, i) => i % 2 === 0));
    if (seen.length === 1) return; // A point is no curve.
    const column = (name) => seen.map((one) => one[name]);
    const curves = [
      {name: plan.algorithm, label: "together:", at: column("samples"), value: column("together")},
      {name: "local", label: "alone:", at: column("samples"), value: column("alone")},
    ];
    if (drawn === null) {
      drawn = chart(at("history"), {
        label: "Mean squared error of all nodes over samples, together and alone",
        x: {label: "samples of each node", log: true},
        y: {label: "mean squared error", log: true},
        height: 260,
        curves,
      });
    } else drawn.show(curves);
  }

  function state(status) {
    if (status === null) return make("span", {class: "bad"}, "silent");
    if (status.troubles.length) return make("span", {class: "bad"}, status.troubles.join("; "));
    return make("span", {class: "good"}, status.ended === null ? "at work" : "done");
  }

  function showNodes(nodes) {
    const rows = nodes.map(({name, page, truth, status, estimate}) => {
      const connected = status && status.neighbours.filter((one) => one.connected).length;
      return [
        make("a", {href: page, target: "_blank", rel: "noreferrer"}, name),
        state(status),
        number(truth),
        estimate && signed(estimate.alone - truth),
        estimate && signed(estimate.value - truth),
        estimate && estimate.samples,
        estimate && estimate.records,
        status && `${connected} of ${status.neighbours.length}`,
        estimate && (estimate.why ?? "with others"),
      ];
    });
    const numbers = (...heads) => heads.map((words) => ({words, number: true}));
    put(
      at("nodes"),
      table(
        "Nodes",
        [
          "node",
          "state",
          ...numbers("truth", "alone: error", "together: error", "samples", "others' releases", "links"),
          "how it answers",
        ],
        rows,
      ),
    );
  }

  async function look() {
    try {
      const response = await fetch("/fleet");
      if (!response.ok) throw new Error(String(response.status));
      const {plan, nodes} = await response.json();
      showPlan(plan);
      showErrors(nodes, plan);
      showNodes(nodes);
      at("unheard").hidden = true;
    } catch {
      if (!at("unheard").hidden) return;
      put(at("unheard"), `The fleet has ended, at ${new Date().toLocaleTimeString()} or before.`);
      at("unheard").hidden = false;
    }
  }

  every({ask: look, least: LOOK_SECONDS});
})();
