// SPDX-License-Identifier: Apache-2.0
// The rows that are shown, worked out from `run`: times are microseconds since it began.
const $ = id => document.getElementById(id);
const HUES = [
  "#3c6c9f", "#7c5fa6", "#2c8a7e", "#ad7037", "#a14f78", "#5f7838", "#55606e", "#8a5a4a",
];
const KINDS = ["waiting", "held", "suspect", "unproven", "lost", "releasing", "promised"];
const hueOf = path => HUES[run.paths.indexOf(path) % HUES.length];

const seconds = (t, digits = 3) => (t / 1e6).toFixed(digits) + " s";
const span = t => t == null ? "–"
  : t < 1e3 ? Math.round(t) + " µs"
  : t < 1e6 ? (t / 1e3).toFixed(t < 1e4 ? 1 : 0) + " ms"
  : t < 6e7 ? (t / 1e6).toFixed(t < 1e7 ? 2 : 1) + " s"
  : Math.floor(t / 6e7) + " min " + Math.round(t % 6e7 / 1e6) + " s";
const count = n => n.toLocaleString("en");
const shortToken = t => t ? (BigInt(t) >> 32n) + ":" + (BigInt(t) & 0xffffffffn) : "";
const escape = text =>
  String(text).replace(/[&<>]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);

const common = run.paths.length > 1 ? run.paths.reduce((a, b) => {
  let n = 0;
  while (n < a.length && a[n] == b[n]) n++;
  return a.slice(0, a.lastIndexOf("/", n - 1) + 1);
}) : "";
const pathLabel = path => path.slice(common.length);

run.attempts.forEach(a => {
  a.from = a.spans[0][1];
  a.to = Math.max(...a.spans.map(s => s[2]));
  a.heldTo = Math.max(...a.spans.filter(s => s[0] > 0 && s[0] < 4).map(s => s[2]));
});

// Rows in groups. On one row nobody holds while another does; who waits may do so behind others.
function rowsBy(by) {
  const outer = by == "process" ? "who" : "path", inner = by == "process" ? "path" : "who";
  const label = (kind, name) => kind == "path" ? pathLabel(name) : name;
  const names = { who: run.parts, path: run.paths };
  return names[outer].map(name => {
    const mine = run.attempts.filter(a => a[outer] == name);
    const rows = names[inner].flatMap(part =>
      pack(mine.filter(a => a[inner] == part), label(inner, part)));
    return { [outer]: name, name: label(outer, name), rows };
  }).filter(group => group.rows.length);
}

function pack(attempts, label) {
  if (!attempts.length) return [];
  const { who, path } = attempts[0];
  const rows = [{ who, path, label, waits: [], holds: [], free: 0 }];
  attempts.filter(a => a.token).sort((a, b) => a.granted - b.granted).forEach(a => {
    let row = rows.find(r => r.free <= a.granted);
    if (!row) rows.push(row = { who, path, label: "", waits: [], holds: [] });
    row.holds.push({ from: a.granted, to: a.to, attempt: a });
    row.free = Math.max(a.heldTo, ...a.spans.filter(s => KINDS[s[0]] == "lost").map(s => s[2]));
  });
  rows[0].waits = attempts
    .map(a => ({ from: a.from, to: a.token ? a.granted : a.to, attempt: a }))
    .sort((a, b) => a.from - b.from);
  return rows;
}
