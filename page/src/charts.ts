// Charts, drawn with Observable Plot. Each stands above a table with the same numbers.

import { axisX, axisY, barX, barY, dot, lineY, link, plot, ruleX, tickX } from "@observablehq/plot";
import type { Chart, Point, Step } from "./data";
import { picture } from "./dom";
import { against, heatmap } from "./horizoncharts";

const PERCENT = { domain: [0, 1], label: null, tickFormat: (d: number) => `${Math.round(100 * d)} %`, grid: true };
const ROW = 26;

/** Return how much room the longest name takes, of at most a third of the width. */
function margin(names: string[], width: number): number {
  return Math.min(12 + 6.4 * Math.max(...names.map((name) => name.length)), width / 3);
}

function short(width: number): (name: string) => string {
  const most = Math.floor((width / 3 - 12) / 6.4);
  return (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
}

function across(chart: Chart, width: number, marks: unknown[], x: object): SVGSVGElement | HTMLElement {
  const names = [...new Set(chart.points.map((point) => point.name))];
  return plot({
    width,
    height: names.length * ROW + 40,
    marginLeft: margin(names, width),
    marginRight: 30,
    x,
    y: { domain: names, label: null },
    marks: [axisY({ tickFormat: short(width), tickSize: 0, label: null }), ...(marks as [])],
  });
}

const DRAW: Record<string, (chart: Chart, width: number) => SVGSVGElement | HTMLElement> = {
  rates: (chart, width) =>
    across(chart, width, [
      link(chart.points.filter((p) => p.low !== null), { x1: "low", x2: "high", y1: "name", y2: "name", stroke: "var(--muted)", strokeWidth: 2 }),
      tickX(chart.points, { x: "value", y: "name", stroke: "var(--accent)", strokeWidth: 3, inset: 5, title: say((p) => `${p.name}: ${whole(p.value)}`) }),
    ], PERCENT),
  points: (chart, width) =>
    across(chart, width, [
      link(chart.points.filter((p) => p.low !== null), { x1: "low", x2: "high", y1: "name", y2: "name", stroke: "var(--muted)", strokeWidth: 2 }),
      tickX(chart.points, { x: "value", y: "name", stroke: "var(--accent)", strokeWidth: 3, inset: 5, title: say((p) => `${p.name}: ${p.value!.toFixed(2)}`) }),
    ], { domain: [0, chart.options.most ?? 1], label: null, grid: true }),
  heatmap,
  against,
  changes: (chart, width) =>
    across(chart, width, [
      link(chart.points, { x1: "base", x2: "head", y1: "name", y2: "name", stroke: "var(--muted)", strokeWidth: 2 }),
      dot(chart.points, { x: "base", y: "name", stroke: "var(--accent)", fill: "var(--ground)", r: 5, title: say((p) => `${p.name}, before: ${whole(p.base)}`) }),
      dot(chart.points, { x: "head", y: "name", fill: "var(--accent)", r: 5, title: say((p) => `${p.name}, now: ${whole(p.head)}`) }),
    ], PERCENT),
  bars: (chart, width) =>
    across(chart, width, [
      barX(chart.points, { x: "value", y: "name", fill: "var(--accent)", inset: 3, title: say((p) => `${p.name}: ${p.value}`) }),
    ], { label: chart.options.unit ?? null, grid: true, tickFormat: count }),
  spend: (chart, width) =>
    across(chart, width, [
      barX(chart.points, {
        x: "value", y: "name", inset: 3, title: say((p) => `${p.name}, ${p.kind}: ${p.value}`),
        fill: (p: Point) => (p.kind === "spent" ? "var(--accent)" : "var(--soft)"),
        stroke: "var(--accent)",
      }),
    ], { label: `${chart.options.unit}: full is spent, pale is saved`, grid: true }),
  days: (chart, width) => {
    const names = chart.points.map((point) => point.name);
    const every = Math.ceil((names.length * 46) / width);
    return plot({
      width,
      height: 200,
      x: { domain: names, label: null },
      y: { label: chart.options.unit ?? null, grid: true, tickFormat: count },
      marks: [
        axisX({ ticks: names.filter((_, i) => i % every === 0), tickFormat: (name: string) => name.replace(/^\d{4}-/, ""), label: null }),
        barY(chart.points, { x: "name", y: "value", fill: "var(--accent)", inset: 0.5, title: say((p) => `${p.name}: ${p.value}`) }),
      ],
    });
  },
};

/** Return a count as it stands on an axis, which has no halves of cases. */
function count(value: number): string {
  return Number.isInteger(value) ? String(value) : "";
}

/** Return what a mark says of its point, as its title, which is shown on hovering. */
function say(text: (point: Point) => string): (point: Point) => string {
  return text;
}

function whole(share: number | null | undefined): string {
  return `${Math.round(100 * (share ?? 0))} %`;
}

/** Draw the charts into their places, and again as wide as these become. */
export function draw(charts: Chart[]): void {
  const resized = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const chart = charts[Number((target as HTMLElement).dataset.chart)];
      const width = Math.floor(contentRect.width);
      if (!chart || width < 100 || target.getAttribute("data-width") === String(width)) continue;
      target.setAttribute("data-width", String(width));
      const drawn = DRAW[chart.kind]?.(chart, width);
      if (drawn) {
        target.replaceChildren(picture(drawn, chart.title));
        // What is too wide is scrolled, by keyboard as well.
        if (target.scrollWidth > target.clientWidth) {
          for (const [name, value] of Object.entries({ tabindex: "0", role: "region", "aria-label": `${chart.title}, the picture` })) target.setAttribute(name, value);
        }
      }
    }
  });
  for (const place of document.querySelectorAll("[data-chart]")) resized.observe(place);
}

/** Return the way of a case between its boxes, or nothing where it has been in one run only. */
export function way(steps: Step[], width: number): Element | null {
  const points = [...steps].reverse().map(({ day, outcome, before, after }, run) => ({ run, day, outcome, box: after ?? before ?? null }));
  const known = points.filter((point) => point.box !== null);
  if (known.length < 2) return null;
  const drawn = plot({
    width,
    height: 130,
    x: { label: null, ticks: [] },
    y: { domain: [1, 5], ticks: [1, 2, 3, 4, 5], tickFormat: String, label: "box", grid: true },
    marks: [
      ruleX([0], { stroke: "none" }),
      lineY(known, { x: "run", y: "box", curve: "step-after", stroke: "var(--muted)" }),
      dot(known, { x: "run", y: "box", r: 4, symbol: (d: { outcome: string }) => (d.outcome === "passed" ? "circle" : "times"),
        stroke: (d: { outcome: string }) => (d.outcome === "passed" ? "var(--pass)" : "var(--fail)") }),
    ],
  });
  return picture(drawn, `Its boxes in ${known.length} runs, from box ${known[0]!.box} to box ${known.at(-1)!.box}`);
}
