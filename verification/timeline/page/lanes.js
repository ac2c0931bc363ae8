// SPDX-License-Identifier: Apache-2.0
// The lanes, on a canvas.
const lanes = $("lanes");
const LEFT = 176, RIGHT = 12, AXIS = 26, FAULTS = 20, ROW = 19, HEAD = 12, GAP = 12;
let view = { from: 0, to: run.end };
let groups = [], byProcess = true, width = 0, height = 0, pen = null;

const x = t => LEFT + (t - view.from) / (view.to - view.from) * (width - LEFT - RIGHT);
const timeAt = px => view.from + (px - LEFT) / (width - LEFT - RIGHT) * (view.to - view.from);
const inView = (from, to) => to >= view.from && from <= view.to;

// Those on one row do not overlap.
const faultRows = [];
run.faults.forEach(f => {
  const row = faultRows.find(r => r.at(-1).to <= f.from);
  if (row) row.push(f); else faultRows.push([f]);
});

function group(by) {
  groups = rowsBy(by);
  byProcess = by == "process";
  $("by-process").classList.toggle("on", byProcess);
  $("by-lock").classList.toggle("on", !byProcess);
  let y = AXIS + FAULTS * faultRows.length + 8;
  groups.forEach(g => {
    g.y = y;
    y += HEAD;
    g.rows.forEach(r => { r.y = y; y += ROW; });
    y += GAP;
    g.bottom = y - GAP + 2;
  });
  height = y;
  resize();
}

function scaled(canvas, h) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth;
  canvas.width = Math.round(w * ratio);
  canvas.height = Math.round(h * ratio);
  canvas.style.height = h + "px";
  const p = canvas.getContext("2d");
  p.setTransform(ratio, 0, 0, ratio, 0, 0);
  return p;
}

function resize() {
  width = lanes.clientWidth;
  pen = scaled(lanes, height);
  draw();
}

function fill(p, px, y, w, h, color) {
  p.fillStyle = color;
  p.fillRect(px, y, w, h);
}

function stroke(p, color, lineWidth, trace) {
  p.strokeStyle = color;
  p.lineWidth = lineWidth;
  p.beginPath();
  trace();
  p.stroke();
}

function rect(from, to, y, h, color) {
  const a = Math.max(x(from), LEFT - 2), b = Math.min(x(to), width);
  fill(pen, a, y, Math.max(b - a, 1), h, color);
  return b - a;
}

function text(words, px, y, color, font, room, align = "left") {
  pen.textAlign = align;
  pen.font = font;
  pen.fillStyle = color;
  if (room !== undefined) {
    while (words && pen.measureText(words).width > room) {
      words = words.slice(0, -2).trimEnd() + (words.length > 3 ? "…" : "");
    }
  }
  if (words.length > 1) pen.fillText(words, px, y);
}
const FONT = '"DejaVu Sans", Inter, "Segoe UI", system-ui, sans-serif';
const small = "10.5px " + FONT, bold = "600 12px " + FONT;

const hatches = {};
function hatch(color) {
  if (hatches[color]) return hatches[color];
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const t = tile.getContext("2d");
  stroke(t, color, 1.2, () => {
    for (const d of [-6, 0, 6]) { t.moveTo(d, 6); t.lineTo(d + 6, 0); }
  });
  return hatches[color] = pen.createPattern(tile, "repeat");
}

function drawAxis() {
  const steps = [
    1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 3e7, 6e7, 12e7, 3e8, 6e8,
  ];
  const step = steps.find(s => (width - LEFT) * s / (view.to - view.from) > 74) || 12e8;
  const digits = step >= 1e6 ? 0 : step >= 1e5 ? 1 : step >= 1e4 ? 2 : 3;
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    fill(pen, Math.round(x(t)), AXIS - 6, 1, height, "#ecece7");
    text(seconds(t, digits), x(t), 13, "#69707a", small, undefined, "center");
  }
}

function drawFaults() {
  const top = AXIS, bottom = height - GAP;
  run.faults.forEach(f => {
    if (!inView(f.from, f.to)) return;
    rect(f.from, f.to, top + FAULTS * faultRows.length, bottom - top, "rgba(205,122,72,.10)");
  });
  faultRows.forEach((row, i) => row.forEach((f, n) => {
    if (!inView(f.from, f.to)) return;
    const y = top + i * FAULTS;
    rect(f.from, f.to, y + FAULTS - 5, 3, "#cb7a4c");
    const next = row[n + 1], begin = Math.max(x(f.from), LEFT);
    const room = (next ? x(next.from) : width) - begin - 8;
    if (room > 16) {
      const words = f.name.replaceAll("_", " ") + (room > 200 && f.target ? " · " + f.target : "");
      text(words, begin + 1, y + 11, "#a04a21", small, room);
    }
  }));
  if (run.quiet != null && inView(run.quiet, run.quiet)) {
    fill(pen, x(run.quiet), AXIS - 4, 1, height, "#2f7d55");
    const right = x(run.quiet) > width - 44, align = right ? "right" : "left";
    text("quiet", x(run.quiet) + (right ? -4 : 4), height - 2, "#2f7d55", small, undefined, align);
  }
}

function drawSpan(a, [kind, from, to], row) {
  const hue = hueOf(a.path), y = row.y + 2, h = ROW - 5;
  switch (KINDS[kind]) {
    case "held":
      if (a.exclusive) rect(from, to, y, h, hue);
      else if (rect(from, to, y, h, hue + "4d") > 2) {
        rect(from, to, y, 1.5, hue);
        rect(from, to, y + h - 1.5, 1.5, hue);
      }
      break;
    case "suspect": rect(from, to, y, h, "#e3a72f"); break;
    case "unproven": rect(from, to, y, h, hue + "33"); rect(from, to, y, h, hatch(hue)); break;
    case "lost": rect(from, to, y + h / 2 - 2.5, 5, "#c1322b"); break;
    case "releasing": rect(from, to, y + 3, h - 6, hue + "55"); break;
    case "promised": rect(from, to, y, h, hatch(hue + "88")); break;
  }
}

function drawHold(a, row) {
  a.spans.forEach(s => { if (s[0] > 0 && inView(s[1], s[2])) drawSpan(a, s, row); });
  const begin = Math.max(x(a.granted), LEFT), room = Math.min(x(a.heldTo), width) - begin - 8;
  const words = shortToken(a.token);
  if (room < 6.4 * words.length) return;
  const font = "600 10.5px " + FONT;
  const solid = a.exclusive && KINDS[a.spans.find(s => s[0] > 0)[0]] == "held";
  pen.font = font;
  pen.textAlign = "left";
  if (!solid) stroke(pen, "#fffd", 3, () => pen.strokeText(words, begin + 4, row.y + ROW - 6.5));
  text(words, begin + 4, row.y + ROW - 6.5, solid ? "#fff" : hueOf(a.path), font);
}

// A span narrower than a pixel and behind the last one would not be seen.
function each(items, show) {
  let last = -1;
  for (const item of items.filter(i => inView(i.from, i.to))) {
    const end = x(item.to);
    if (end - last < .4 && end - x(item.from) < .4) continue;
    show(item);
    last = Math.max(last, end);
  }
}

function drawRow(row) {
  each(row.waits, w => rect(w.from, w.to, row.y + ROW / 2 - 1.5, 2, hueOf(row.path) + "66"));
  each(row.holds, h => drawHold(h.attempt, row));
}

const drawOf = (who, spans, y, h, color) =>
  spans
    .filter(s => s.who == who && inView(s.from, s.to))
    .forEach(s => rect(s.from, s.to, y, h, color(s)));

// When the process behind a row was dead, or stopped.
function drawStates(who, top, bottom) {
  drawOf(who, run.dead, top, bottom - top, () => "rgba(32,37,43,.09)");
  drawOf(who, run.paused, top, bottom - top, () => hatch("#9aa1ab88"));
}

function drawSessions(who, y) {
  drawOf(who, run.alive, y + 3, 2, () => "#c9ccd0");
  drawOf(who, run.suspended, y + 2, 4, s => s.expired ? "#c1322b" : "#e3a72f");
}

const allRows = () => groups.flatMap(g => g.rows);
const rowsFor = mark => allRows().filter(r => r.who == mark.who && r.path == mark.path).slice(0, 1);
const middle = row => row.y + ROW / 2 - .5;

function drawMarks() {
  run.refused.filter(w => inView(w.at, w.at)).forEach(w => rowsFor(w).forEach(row => {
    const px = x(w.at), y = middle(row);
    stroke(pen, "#20252b", 1.4, () => {
      pen.moveTo(px - 3, y - 3); pen.lineTo(px + 3, y + 3);
      pen.moveTo(px - 3, y + 3); pen.lineTo(px + 3, y - 3);
    });
  }));
  run.dead.filter(d => d.killed && inView(d.from, d.from)).forEach(d =>
    allRows()
      .filter(r => r.who == d.who)
      .forEach(r => fill(pen, x(d.from) - 1, r.y, 2, ROW, "#20252b")));
  run.violations.filter(v => inView(v.at, v.at)).forEach(v => {
    fill(pen, x(v.at) - .5, AXIS, 1, height, "#d0202b55");
    pen.fillStyle = "#d0202b";
    pen.beginPath();
    pen.moveTo(x(v.at) - 4.5, AXIS - 7);
    pen.lineTo(x(v.at) + 4.5, AXIS - 7);
    pen.lineTo(x(v.at), AXIS);
    pen.fill();
    v.marks.forEach(m => rowsFor(m).forEach(row =>
      stroke(pen, "#d0202b", 2, () => pen.arc(x(m.at), middle(row), 7, 0, 7))));
  });
}

function drawLabels(byProcess) {
  fill(pen, 0, AXIS - 8, LEFT - 8, height, "#fbfbf9");
  groups.forEach(g => {
    const top = g.y + HEAD;
    text(g.name, 0, top + 12, "#20252b", bold, byProcess ? 52 : LEFT - 60);
    if (!byProcess) fill(pen, 0, top + 18, 22, 3, hueOf(g.path));
    g.rows.forEach(r => {
      const color = byProcess ? hueOf(r.path) : "#69707a", room = byProcess ? 108 : 50;
      text(r.label, LEFT - 18, r.y + 13, color, "11px " + FONT, room, "right");
    });
    fill(pen, 0, g.bottom + 3, width, 1, "#e4e4df");
  });
}

function draw() {
  pen.clearRect(0, 0, width, height);
  drawAxis();
  drawFaults();
  groups.forEach(g => {
    if (byProcess) {
      drawStates(g.who, g.y, g.bottom);
      drawSessions(g.who, g.y);
    } else {
      g.rows.forEach(r => drawStates(r.who, r.y, r.y + ROW));
    }
    g.rows.forEach(drawRow);
  });
  drawMarks();
  drawLabels(byProcess);
  drawMap();
}
