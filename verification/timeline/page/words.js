// SPDX-License-Identifier: Apache-2.0
// What is not drawn: title, figures, violations, faults.
const counted = (n, what) => `${count(n)} ${what}${n == 1 ? "" : "s"}`;
document.title = run.title;
$("title").textContent = run.title;
$("about").textContent = `${run.parts.length} processes, ${counted(run.paths.length, "path")}, ${run.faults.length} faults in ${span(run.end)}`;
$("verdict").textContent = run.violations.length ? counted(run.violations.length, "violation") : "no violations";
$("verdict").classList.toggle("bad", run.violations.length > 0);
for (const [figure, value] of Object.entries(run.figures)) $(figure).textContent = figure == "gap" ? span(value) : count(value);

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
  `<li data-i="${i}"><time>${seconds(v.at)}</time><code>${escape(v.rule)}</code><span>${escape(v.what)}</span></li>`,
v => {
  const times = v.marks.map(m => m.at).concat(v.at), from = Math.min(...times), to = Math.max(...times);
  return [from - 1e6 - (to - from), to + 1e6 + (to - from)];
});
tell("faults", "tbody", run.faults, (f, i) =>
  `<tr data-i="${i}"><td>${escape(f.name.replaceAll("_", " "))}<td>${escape(f.target)}<td class=n>${seconds(f.from, 1)}` +
  `<td class=n>${span(f.to - f.from)}<td class=n>${count(f.grants)}<td class=n>${span(f.gap)}<td class=n>${span(f.first)}`,
f => {
  scrollTo({ top: 0, behavior: "smooth" });
  return [f.from - 2e6, Math.max(f.to + (f.first || 0), f.from + 4e6) + 2e6];
});

const wanted = new URLSearchParams(location.hash.slice(1));
group(wanted.get("by") == "lock" ? "lock" : "process");
if (wanted.has("from")) show(+wanted.get("from") * 1e6, +wanted.get("to") * 1e6);
