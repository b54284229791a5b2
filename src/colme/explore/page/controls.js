/* Sliders, and the link that says where they stand. */

(function () {
  "use strict";

  const number = (value) => colme.number(Number(value));
  const SLIDERS = [
    {
      name: "epsilon",
      label: "Privacy, epsilon",
      values: ["0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "4", "6", "8", "10", "inf"],
      words: (value) => (value === "inf" ? "inf: no privacy" : number(value)),
    },
    {name: "agents", label: "Agents", values: ["9", "12", "16", "20", "24", "30", "36", "42", "48", "54", "60", "80", "100", "120", "150", "200"]},
    {name: "degree", label: "Neighbours of each", values: ["2", "3", "4", "5", "6", "8", "10", "14", "20"]},
    {name: "classes", label: "Classes", values: ["1", "2", "3", "4", "5"]},
    {name: "gap", label: "Gap between means", values: ["0", "0.02", "0.05", "0.1", "0.15", "0.2", "0.3", "0.4", "0.6", "0.8", "1", "1.5", "2"]},
    {
      name: "largest",
      label: "Largest class",
      values: ["0.2", "0.25", "0.34", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"],
      words: (value) => `${Math.round(Number(value) * 100)}%`,
    },
    {name: "sigma", label: "Spread, sigma", values: ["0.02", "0.05", "0.1", "0.15", "0.2", "0.3", "0.5", "0.7", "1"]},
    {
      name: "bounds",
      label: "Public bounds",
      values: ["1", "1.1", "1.2", "1.5", "2", "3", "4", "6", "8"],
      words: (value) => `${number(value)} × data`,
    },
    {name: "rounds", label: "Samples (curves)", values: ["100", "200", "500", "1000", "2000"]},
  ];
  const LISTS = [
    {
      name: "family",
      label: "Graph",
      values: {
        "random-regular": "random, all alike",
        "erdos-renyi": "random edges",
        "small-world": "small world",
        "scale-free": "scale-free",
        grid: "grid",
        complete: "everybody with everybody",
      },
    },
    {
      name: "algorithm",
      label: "Algorithm of the network",
      values: {relay: "relay (recommended)", paper: "paper"},
    },
  ];

  function field(label, control, id) {
    const box = document.createElement("div");
    const words = document.createElement("label");
    const output = document.createElement("output");
    box.className = "field";
    words.textContent = label;
    words.htmlFor = id;
    control.id = id;
    output.htmlFor = id;
    box.append(words, output, control);
    return {box, output};
  }

  /** Where the sliders stand, from a link; what it does not say is left to the server. */
  function fromLink() {
    const found = {};
    new URLSearchParams(location.hash.slice(1)).forEach((value, name) => {
      found[name] = value;
    });
    return found;
  }

  function toLink(choices) {
    return new URLSearchParams(Object.entries(choices).map(([name, value]) => [name, String(value)]));
  }

  function nearest(values, value) {
    const at = values.indexOf(value);
    if (at >= 0) return at;
    const wanted = value === "inf" ? Infinity : Number(value);
    if (wanted === Infinity) return values.length - 1;
    const finite = values.filter((one) => one !== "inf");
    const gaps = finite.map((one) => Math.abs(Number(one) - wanted));
    return gaps.indexOf(Math.min(...gaps));
  }

  function controls(element, changed) {
    let choices = {};
    const shown = [];
    const chosen = (name, value) => {
      choices = {...choices, [name]: value};
      changed(choices);
    };
    LISTS.forEach(({name, label, values}) => {
      const select = document.createElement("select");
      Object.entries(values).forEach(([value, words]) => select.append(new Option(words, value)));
      const {box} = field(label, select, `control-${name}`);
      select.addEventListener("change", () => chosen(name, select.value));
      element.append(box);
      shown.push(() => {
        if (choices[name] !== undefined) select.value = choices[name];
      });
    });
    SLIDERS.forEach(({name, label, values, words = number}) => {
      const slider = document.createElement("input");
      Object.assign(slider, {type: "range", min: 0, max: values.length - 1, step: 1});
      const {box, output} = field(label, slider, `control-${name}`);
      const tell = (value) => {
        output.textContent = words(value);
        slider.setAttribute("aria-valuetext", words(value));
      };
      slider.addEventListener("input", () => {
        const value = values[Number(slider.value)];
        tell(value);
        chosen(name, value);
      });
      element.append(box);
      shown.push(() => {
        if (choices[name] === undefined) return;
        slider.value = nearest(values, choices[name]);
        tell(choices[name]);
      });
    });
    return {
      /** As the server has them. */
      show(others) {
        choices = Object.fromEntries(Object.entries(others).map(([name, one]) => [name, String(one)]));
        shown.forEach((one) => one());
      },
      get choices() {
        return choices;
      },
    };
  }

  Object.assign(colme, {controls, fromLink, toLink});
})();
