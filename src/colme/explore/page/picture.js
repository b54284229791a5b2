/* The page as a picture: settings in words, the network, and both charts with their legends. */

(function () {
  "use strict";

  const WIDTH = 1400;
  const AIR = 24;
  const HALF = (WIDTH - 3 * AIR) / 2;

  function wrapped(context, words, width) {
    const lines = [""];
    words.forEach((word) => {
      const longer = lines[lines.length - 1] + (lines[lines.length - 1] ? " · " : "") + word;
      if (context.measureText(longer).width > width) lines.push(word);
      else lines[lines.length - 1] = longer;
    });
    return lines;
  }

  function legend(context, entries, left, top) {
    let [x, y] = [left, top];
    entries.forEach((entry) => {
      const width = 46 + context.measureText(entry.words).width + 22;
      if (x + width > left + HALF) [x, y] = [left, y + 22];
      context.strokeStyle = entry.colour;
      context.lineWidth = entry.width;
      context.setLineDash(entry.dash);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + 38, y);
      context.stroke();
      context.setLineDash([]);
      context.fillText(entry.words, x + 46, y);
      x += width;
    });
    return y + 22;
  }

  /** Of a canvas and two charts, as a blob. */
  function picture({title, words, network, charts}) {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d");
    const heightOf = (one) => (one.height / one.width) * HALF;
    context.font = "15px system-ui, sans-serif";
    const lines = wrapped(context, words, WIDTH - 2 * AIR);
    const top = AIR + 40 + lines.length * 22 + 10;
    const right = charts.reduce((sum, chart) => sum + heightOf(chart.canvas) + 30 + 70, 0);
    canvas.width = WIDTH;
    canvas.height = Math.ceil(top + Math.max(heightOf(network), right) + AIR);
    context.fillStyle = colme.colour("--card");
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = colme.colour("--ink");
    context.textBaseline = "middle";
    context.font = "600 22px system-ui, sans-serif";
    context.fillText(title, AIR, AIR + 12);
    context.font = "15px system-ui, sans-serif";
    lines.forEach((line, i) => context.fillText(line, AIR, AIR + 48 + i * 22));
    context.drawImage(network, AIR, top, HALF, heightOf(network));
    const left = 2 * AIR + HALF;
    let y = top;
    charts.forEach((chart) => {
      context.fillStyle = colme.colour("--ink");
      context.fillText(chart.title, left, y + 10);
      context.drawImage(chart.canvas, left, y + 26, HALF, heightOf(chart.canvas));
      y = legend(context, chart.entries, left, y + 26 + heightOf(chart.canvas) + 16) + 12;
    });
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  Object.assign(colme, {picture});
})();
