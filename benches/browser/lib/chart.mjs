// The chart: bars in groups, a group a workload, on logarithmic scales. It is legible on light and on dark paper.

import { ENGINES, ROWS, TABS, tabsOf } from "./table.mjs";
import { figure } from "./statistics.mjs";

/** Colours that stand out on white and on black. */
const COLOURS = {
  tabstore: "#1f78d1",
  page: "#7db8ee",
  follower: "#b4d4f1",
  idb: "#e8833a",
  dexie: "#c9a227",
  localforage: "#a678de",
  sqlite: "#3aa676",
  pglite: "#d9558f",
};
const BAR = 12;
const GAP = 26;
const HEIGHT = 300;
const TOP = 64;
const LEFT = 70;

/** The texts below the groups. A workload that is not here is not drawn. */
const LABELS = {
  put: ["put, one", "after another"],
  inFlight: ["put, thousands", "in flight"],
  bulk: ["bulk load,", "per row"],
  get: ["get, one", "after another"],
  getMany: ["get, 100 keys", "a call, per row"],
  scan: ["range scan,", "per row"],
  reopen: ["reopen,", "engine loaded"],
  firstRead: ["reopen,", "new worker"],
  firstOpen: ["first open,", "with download"],
};

const nameOf = (name) => (name in TABS ? `TabStore, ${TABS[name]}` : name === "tabstore" ? "TabStore, in the worker" : ENGINES[name]);
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** A scale over whole powers of ten, and the groups on it. */
function panel(unit, title, medians, series, left) {
  const rows = ROWS.filter((row) => row.unit === unit && LABELS[row.workload] && medians[row.workload]);
  const all = rows.flatMap(({ workload }) => series.map((name) => medians[workload][name])).filter((value) => value > 0);
  if (all.length === 0) return { svg: "", width: 0 };
  const low = Math.floor(Math.log10(Math.min(...all) * 0.9));
  const high = Math.ceil(Math.log10(Math.max(...all)));
  const y = (value) => TOP + HEIGHT - ((Math.log10(value) - low) / (high - low)) * HEIGHT;
  const parts = [];
  const group = series.length * BAR + GAP;
  const width = rows.length * group;
  for (let power = low; power <= high; power++) {
    const at = y(10 ** power).toFixed(1);
    parts.push(`<line x1="${left}" x2="${left + width}" y1="${at}" y2="${at}" class="grid"/>`);
    parts.push(
      `<text x="${left - 6}" y="${(Number(at) + 4).toFixed(1)}" text-anchor="end">${escaped(`${(10 ** power).toLocaleString("en")} ${unit === "us" ? "µs" : unit}`)}</text>`,
    );
  }
  parts.push(`<text x="${left}" y="${TOP - 14}" class="title">${escaped(title)}</text>`);
  rows.forEach(({ workload, what }, index) => {
    const start = left + index * group + GAP / 2;
    const values = medians[workload];
    const present = series.filter((name) => values[name] > 0);
    // A missing measurement leaves no gap.
    const shift = ((series.length - present.length) * BAR) / 2;
    present.forEach((name, place) => {
      const value = values[name];
      const x = start + shift + place * BAR;
      const top = Math.min(y(value), TOP + HEIGHT - 1);
      const label = `${nameOf(name)}, ${what}: ${figure(value)} ${unit === "us" ? "µs" : unit}`;
      parts.push(
        `<rect x="${x + 0.5}" y="${top.toFixed(1)}" width="${BAR - 1}" height="${(TOP + HEIGHT - top).toFixed(1)}" fill="${COLOURS[name]}"><title>${escaped(label)}</title></rect>`,
      );
      const strong = name === "tabstore" ? ' class="strong"' : ' class="value"';
      parts.push(`<text transform="translate(${x + BAR / 2 + 3.2} ${(top - 4).toFixed(1)}) rotate(-90)"${strong}>${figure(value)}</text>`);
    });
    LABELS[workload].forEach((line, i) =>
      parts.push(`<text x="${start + (group - GAP) / 2}" y="${TOP + HEIGHT + 18 + i * 14}" text-anchor="middle">${escaped(line)}</text>`),
    );
  });
  parts.push(`<line x1="${left}" x2="${left + width}" y1="${TOP + HEIGHT}" y2="${TOP + HEIGHT}" class="base"/>`);
  return { svg: parts.join("\n"), width };
}

/** The chart of a record, as SVG. */
export function chart(record) {
  const { medians, engines, rows, machine } = record;
  const [ours, peers] = [engines.filter((name) => name === "tabstore"), engines.filter((name) => name !== "tabstore")];
  const series = [...ours, ...tabsOf(record), ...peers];
  const first = panel("us", "Microseconds an operation (shorter is better, logarithmic)", medians, series, LEFT);
  const second = panel("ms", "Milliseconds", medians, series, LEFT + first.width + (first.width > 0 ? 92 : 0));
  const width = Math.max(LEFT + first.width + (second.width > 0 ? 92 + second.width : 0) + 12, 560);
  let x = LEFT;
  const legend = series.map((name) => {
    const text = nameOf(name);
    const part = `<rect x="${x}" y="12" width="11" height="11" rx="2" fill="${COLOURS[name]}"/><text x="${x + 16}" y="22">${escaped(text)}</text>`;
    x += 34 + text.length * 6.6;
    return part;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.max(width, Math.ceil(x))} ${TOP + HEIGHT + 64}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="12">
<title>TabStore beside other databases in the browser</title>
<style>
text { fill: #24292f } .value { font-size: 9px; fill: #57606a } .note { font-size: 11px; fill: #57606a } .strong { font-size: 9px; font-weight: 700 } .title { font-weight: 600; font-size: 13px } .grid { stroke: #d0d7de; stroke-width: 1 } .base { stroke: #57606a; stroke-width: 1 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .value, .note { fill: #9ea7b3 } .grid { stroke: #30363d } .base { stroke: #8b949e } }
</style>
${legend.join("\n")}
${first.svg}
${second.svg}
<text x="${LEFT}" y="${TOP + HEIGHT + 56}" class="note">${escaped(`${rows.toLocaleString("en")} rows of 6 columns, headless Chromium ${machine.chromium}, one run, medians`)}</text>
</svg>
`;
}
