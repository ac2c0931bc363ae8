// SPDX-License-Identifier: Apache-2.0
// What is not drawn: title, figures, violations, legend, faults.
const $ = id => document.getElementById(id);
document.title = run.title;
$("title").textContent = run.title;
$("about").textContent = `${run.parts.length} processes, ${run.paths.length} ${run.paths.length == 1 ? "path" : "paths"}, ` +
  `${run.faults.length} faults in ${span(run.end)}`;
$("verdict").textContent = run.violations.length ? count(run.violations.length) + (run.violations.length > 1 ? " violations" : " violation") : "no violations";
$("verdict").classList.toggle("bad", run.violations.length > 0);
$("figures").innerHTML = [
  ["grants", count(run.figures.grants)], ["writes accepted", count(run.figures.accepted)],
  ["writes refused", count(run.figures.refused)], ["leases lost", count(run.figures.losses)],
  ["longest time without a grant", span(run.figures.gap)], ["transactions read", count(run.figures.transactions)],
].map(f => `<div><b>${f[1]}</b><span>${f[0]}</span></div>`).join("");

if (run.violations.length) {
  const box = $("violations");
  box.hidden = false;
  box.innerHTML = "<ol>" + run.violations.slice(0, 500).map((v, i) =>
    `<li data-i="${i}"><time>${seconds(v.at)}</time><code>${escape(v.rule)}</code><span>${escape(v.what)}</span></li>`).join("") + "</ol>";
  box.onclick = e => {
    const v = run.violations[e.target.closest("li")?.dataset.i];
    if (!v) return;
    const times = v.marks.map(m => m.at).concat(v.at), from = Math.min(...times), to = Math.max(...times);
    show(from - 1e6 - (to - from), to + 1e6 + (to - from));
  };
}

if (run.faults.length) {
  const box = $("faults");
  box.hidden = false;
  box.innerHTML = "<h2>Faults</h2><table><thead><tr><th>fault<th>target<th class=n>from<th class=n>for<th class=n>grants" +
    "<th class=n>longest without<th class=n>first grant after its end</thead><tbody>" + run.faults.map((f, i) =>
    `<tr data-i="${i}"><td>${escape(f.name.replaceAll("_", " "))}<td>${escape(f.target)}<td class=n>${seconds(f.from, 1)}` +
    `<td class=n>${span(f.to - f.from)}<td class=n>${count(f.grants)}<td class=n>${span(f.gap)}<td class=n>${span(f.first)}`).join("") + "</tbody></table>";
  box.onclick = e => {
    const f = run.faults[e.target.closest("tr")?.dataset.i];
    if (f) { show(f.from - 2e6, Math.max(f.to + (f.first || 0), f.from + 4e6) + 2e6); scrollTo({ top: 0, behavior: "smooth" }); }
  };
}

const hue = "#3c6c9f";
const swatch = body => `<svg width="26" height="12">${body}</svg>`;
$("legend").innerHTML = [
  ["waiting", swatch(`<rect y="5" width="26" height="2" fill="${hue}66"/>`)],
  ["held, exclusive", swatch(`<rect width="26" height="12" fill="${hue}"/>`)],
  ["held, shared", swatch(`<rect width="26" height="12" fill="${hue}4d"/><path d="M0 .8h26M0 11.2h26" stroke="${hue}" stroke-width="1.6"/>`)],
  ["unproven", swatch(`<rect width="26" height="12" fill="${hue}33"/><path d="M0 12L12 0M6 12L18 0M12 12L24 0M18 12L30 0" stroke="${hue}"/>`)],
  ["suspect", swatch(`<rect width="26" height="12" fill="#e3a72f"/>`)],
  ["lost", swatch(`<rect y="3.5" width="26" height="5" fill="#c1322b"/>`)],
  ["releasing", swatch(`<rect y="3" width="26" height="6" fill="${hue}55"/>`)],
  ["still promised (stopped, dead)", swatch(`<path d="M0 12L12 0M6 12L18 0M12 12L24 0M18 12L30 0" stroke="${hue}88"/>`)],
  ["write refused", swatch(`<path d="M10 3l6 6M10 9l6-6" stroke="#20252b" stroke-width="1.5"/>`)],
  ["killed", swatch(`<rect x="4" width="2" height="12" fill="#20252b"/><rect x="6" width="20" height="12" fill="#20252b17"/>`)],
  ["stopped", swatch(`<path d="M0 12L12 0M6 12L18 0M12 12L24 0M18 12L30 0" stroke="#9aa1ab"/>`)],
  ["session suspended", swatch(`<rect y="4" width="26" height="4" fill="#e3a72f"/>`)],
  ["fault", swatch(`<rect width="26" height="12" fill="#cd7a4833"/><rect width="26" height="3" fill="#cb7a4c"/>`)],
].map(([name, picture]) => `<span>${picture}${name}</span>`).join("");

document.querySelectorAll("#grouping button").forEach(button => button.onclick = () => {
  document.querySelectorAll("#grouping button").forEach(b => b.classList.toggle("on", b == button));
  group(button.dataset.by);
});
document.querySelectorAll("#zoom button").forEach(button => button.onclick = () =>
  ({ in: () => zoom(.5), out: () => zoom(2), all: () => show(0, run.end) })[button.dataset.zoom]());
const wanted = new URLSearchParams(location.hash.slice(1));
document.querySelector(`#grouping [data-by=${wanted.get("by") == "lock" ? "lock" : "process"}]`).click();
if (wanted.has("from")) show(+wanted.get("from") * 1e6, +wanted.get("to") * 1e6);
