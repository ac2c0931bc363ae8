// SPDX-License-Identifier: Apache-2.0
// The overview above the lanes: grants over time.
const map = $("map");
const MAP = 54;

function drawMap() {
  const p = scaled(map, MAP), w = map.clientWidth - LEFT - RIGHT, at = t => LEFT + t / run.end * w;
  const bins = new Array(Math.floor(w / 3)).fill(0);
  run.attempts.forEach(a => {
    if (!a.token) return;
    bins[Math.min(bins.length - 1, Math.floor(a.granted / run.end * bins.length))]++;
  });
  const most = Math.max(1, ...bins), each = run.end / bins.length;
  run.faults.forEach(f => {
    const wide = Math.max(1, at(f.to) - at(f.from));
    fill(p, at(f.from), 0, wide, MAP - 4, "rgba(205,122,72,.20)");
  });
  bins.forEach((n, i) => {
    const h = n / most * (MAP - 12);
    fill(p, at(i * each), MAP - 4 - h, w / bins.length - .8, h, "#8b97a6");
  });
  run.violations.forEach(v => fill(p, at(v.at) - 1, 0, 2, MAP - 4, "#d0202b"));
  fill(p, LEFT, MAP - 4, w, 1, "#c9ccd0");
  fill(p, LEFT, 0, at(view.from) - LEFT, MAP, "rgba(251,251,249,.72)");
  p.fillRect(at(view.to), 0, LEFT + w - at(view.to), MAP);
  if (view.from > 0 || view.to < run.end) {
    p.strokeStyle = "#20252b";
    p.strokeRect(at(view.from) + .5, .5, Math.max(2, at(view.to) - at(view.from)) - 1, MAP - 5);
  }
  p.font = small;
  p.fillStyle = "#69707a";
  const rate = most / each * 1e6;
  p.fillText(`grants, up to ${rate.toFixed(rate < 10 ? 1 : 0)} a second`, 0, MAP - 6, LEFT - 12);
}

// ---- zoom and pan

function show(from, to) {
  const size = Math.min(Math.max(to - from, 2000), run.end);
  const begin = Math.min(Math.max(from, 0), run.end - size);
  view = { from: begin, to: begin + size };
  requestAnimationFrame(draw);
}
const zoom = (factor, t = (view.from + view.to) / 2) =>
  show(t - (t - view.from) * factor, t + (view.to - t) * factor);
const pan = share =>
  show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

let drag = null;
lanes.addEventListener("wheel", e => {
  e.preventDefault();
  if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) pan((e.deltaX || e.deltaY) / 1000);
  else zoom(Math.exp(e.deltaY / 500), timeAt(e.offsetX));
}, { passive: false });
lanes.addEventListener("pointerdown", e => {
  drag = e.offsetX;
  lanes.setPointerCapture(e.pointerId);
});
lanes.addEventListener("pointerup", () => drag = null);
lanes.addEventListener("pointermove", e => {
  if (drag !== null) { pan((drag - e.offsetX) / (width - LEFT - RIGHT)); drag = e.offsetX; }
  hover(e);
});
lanes.addEventListener("pointerleave", () => tip.hidden = true);
lanes.addEventListener("dblclick", () => show(0, run.end));
const jump = e => {
  if (e.type == "pointermove" && !e.buttons) return;
  const t = (e.offsetX - LEFT) / (map.clientWidth - LEFT - RIGHT) * run.end;
  const half = (view.to - view.from) / 2;
  show(t - half, t + half);
};
map.addEventListener("pointerdown", jump);
map.addEventListener("pointermove", jump);
addEventListener("keydown", e => ({
  "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6), "0": () => show(0, run.end),
  ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2),
})[e.key]?.());
addEventListener("resize", resize);

// ---- what is under the mouse

const tip = $("tip");
const table = rows => {
  const lines = rows.filter(r => r[1]).map(r => `<tr><td>${r[0]}<td>${escape(r[1])}`);
  return "<table>" + lines.join("") + "</table>";
};

function describe(a) {
  return `<b>${escape(a.who)}</b> · process ${a.process} · attempt ${a.number}` + table([
    ["path", a.path],
    ["mode", a.exclusive ? "exclusive" : "shared"],
    ["from", a.change && "attempt " + a.change],
    ["token", a.token && `${a.token} (${shortToken(a.token)})`],
    ["asked", seconds(a.from)],
    ["granted", a.token && `${seconds(a.granted)}, after ${span(a.granted - a.from)}`],
    ["promised", a.until && "nobody else before " + seconds(a.until)],
    ...a.spans.filter(s => s[0] > 0).slice(0, 8)
      .map(s => [KINDS[s[0]], `${span(s[2] - s[1])}, from ${seconds(s[1])}`]),
    ["end", a.end],
  ]);
}

const describeFault = f =>
  `<b>${escape(f.name.replaceAll("_", " "))}</b> ${escape(f.target)}` + table([
    ["from", seconds(f.from)], ["for", span(f.to - f.from)], ["grants", String(f.grants)],
    ["longest gap", span(f.gap)],
    ["first grant", f.first != null ? span(f.first) + " after its end" : "none after it"],
  ]);

function under(e) {
  const t = timeAt(e.offsetX), y = e.offsetY, slack = 3 * (view.to - view.from) / width;
  if (e.offsetX < LEFT) return null;
  const faults = faultRows[Math.floor((y - AXIS) / FAULTS)];
  const fault = faults?.find(f => f.from <= t + slack && f.to >= t - slack);
  if (fault) return describeFault(fault);
  const row = groups.flatMap(g => g.rows).find(r => y >= r.y && y < r.y + ROW);
  if (!row) return null;
  const refused = run.refused.find(w =>
    w.who == row.who && w.path == row.path && Math.abs(w.at - t) < slack);
  if (refused) {
    return `<b>write refused</b>` + table([
      ["at", seconds(refused.at)],
      ["token", `${refused.token} (${shortToken(refused.token)})`],
    ]);
  }
  const found = [...row.holds, ...row.waits].find(i => i.from <= t + slack && i.to >= t - slack);
  return found ? describe(found.attempt) : null;
}

function hover(e) {
  const words = under(e);
  tip.hidden = !words;
  if (!words) return;
  tip.innerHTML = words;
  tip.style.left = Math.min(e.offsetX + 14, width - tip.offsetWidth) + "px";
  tip.style.top = lanes.offsetTop + e.offsetY + 16 + "px";
}

// The words: title, figures, violations, faults.
const counted = (n, what) => `${count(n)} ${what}${n == 1 ? "" : "s"}`;
document.title = run.title;
$("title").textContent = run.title;
$("about").textContent = `${run.parts.length} processes, ${counted(run.paths.length, "path")}, ` +
  `${run.faults.length} faults in ${span(run.end)}`;
$("verdict").textContent =
  run.violations.length ? counted(run.violations.length, "violation") : "no violations";
$("verdict").classList.toggle("bad", run.violations.length > 0);
for (const [figure, value] of Object.entries(run.figures)) {
  $(figure).textContent = figure == "gap" ? span(value) : count(value);
}

// Fills `list` of a section with a piece of HTML for each thing; a click on one shows its time.
function tell(section, list, things, html, timeOf) {
  const box = $(section);
  box.hidden = !things.length;
  box.querySelector(list).innerHTML = things.map(html).join("");
  box.onclick = e => {
    const thing = things[e.target.closest("[data-i]")?.dataset.i];
    if (thing) show(...timeOf(thing));
  };
}
tell("violations", "ol", run.violations.slice(0, 500), (v, i) =>
  `<li data-i="${i}"><time>${seconds(v.at)}</time><code>${escape(v.rule)}</code>` +
  `<span>${escape(v.what)}</span></li>`,
v => {
  const times = v.marks.map(m => m.at).concat(v.at);
  const from = Math.min(...times), to = Math.max(...times);
  return [from - 1e6 - (to - from), to + 1e6 + (to - from)];
});
tell("faults", "tbody", run.faults, (f, i) =>
  `<tr data-i="${i}"><td>${escape(f.name.replaceAll("_", " "))}<td>${escape(f.target)}` +
  `<td class=n>${seconds(f.from, 1)}<td class=n>${span(f.to - f.from)}` +
  `<td class=n>${count(f.grants)}<td class=n>${span(f.gap)}<td class=n>${span(f.first)}`,
f => {
  scrollTo({ top: 0, behavior: "smooth" });
  return [f.from - 2e6, Math.max(f.to + (f.first || 0), f.from + 4e6) + 2e6];
});

const wanted = new URLSearchParams(location.hash.slice(1));
group(wanted.get("by") == "lock" ? "lock" : "process");
if (wanted.has("from")) show(+wanted.get("from") * 1e6, +wanted.get("to") * 1e6);
