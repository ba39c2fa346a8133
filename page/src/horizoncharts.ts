// Charts of a long-horizon run: the heatmap, points against days, and the way of one question.

import { axisX, axisY, cell, dot, lineY, plot, ruleX, scale, text } from "@observablehq/plot";
import type { Chart, Point } from "./data";
import { picture } from "./dom";

const NUMBERS = 36;
const SVG = "http://www.w3.org/2000/svg";

/** Return black or white, whichever stands out more on a colour, by the relative luminance of WCAG 2.1. */
function ink(color: string): string {
  const [r, g, b] = (color.startsWith("#") ? [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) : (color.match(/[\d.]+/g) ?? []).map(Number))
    .map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b! > 0.179 ? "#000" : "#fff";
}

/** Return stripes for squares that were not measured, over whatever lies below. */
function stripes(): SVGElement {
  const made = (tag: string, attributes: Record<string, string>, ...children: SVGElement[]): SVGElement => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const stripe = made("rect", { width: "1.6", height: "5", fill: "var(--ground)" });
  return made("defs", {}, made("pattern", { id: "stripes", width: "5", height: "5", patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, stripe));
}

/** Draw a heatmap; what its squares hold is a number or a sign, and not a colour alone. */
export function heatmap(chart: Chart, width: number): SVGSVGElement | HTMLElement {
  const most = chart.options.most ?? 1;
  const colors = scale({ color: most > 1 ? { type: "linear", scheme: "cividis", domain: [0, most] } : { type: "linear", scheme: "PuRd", domain: [0, 0.5], clamp: true } });
  const columns = [...new Set(chart.points.map((point) => point.column!))];
  const rows = [...new Set(chart.points.map((point) => point.name))];
  const numbers = columns.length <= NUMBERS;
  const left = 12 + 6.4 * Math.max(...rows.map((name) => name.length));
  const wide = Math.max(left + 10 + columns.length * (numbers ? 34 : 8), Math.min(width, left + 10 + columns.length * 64));
  const measured = chart.points.filter((point) => point.value !== null);
  const fill = (point: Point) => String(colors.apply(point.value));
  const filled = measured.filter((point) => point.state === "filled");
  const firm = measured.filter((point) => point.state !== "filled");
  const said = (point: Point) => (most > 1 ? point.value!.toFixed(1) : String(Math.round(100 * point.value!)));
  const at = { x: "column", y: "name" };
  const every = Math.ceil((columns.length * 40) / (wide - left));
  return plot({
    width: wide,
    height: rows.length * 30 + 50,
    marginLeft: left,
    marginRight: 10,
    x: { domain: columns, label: null },
    y: { domain: rows, label: null },
    marks: [
      stripes,
      cell(chart.points, { ...at, fill: "var(--panel)", inset: 0.5 }),
      cell(firm, { ...at, fill, inset: 0.5, title: (point: Point) => `${point.name}, ${point.column}: ${point.told}` }),
      cell(filled, { ...at, fill, fillOpacity: 0.45, inset: 0.5 }),
      cell(filled, { ...at, fill: "url(#stripes)", inset: 0.5, title: (point: Point) => `${point.name}, ${point.column}: ${point.told}` }),
      text(chart.points.filter((point) => point.value === null), { ...at, text: (point: Point) => point.sign ?? "", fill: "var(--muted)", title: (point: Point) => `${point.name}, ${point.column}: ${point.told}` }),
      ...(numbers ? [text(firm, { ...at, text: said, fill: (point: Point) => ink(fill(point)), fontSize: 11, pointerEvents: "none" })] : []),
      dot(firm.filter((point) => point.state === "few"), { ...at, r: 2, dx: numbers ? 12 : 0, dy: numbers ? -9 : 0, fill: (point: Point) => ink(fill(point)), pointerEvents: "none" }),
      axisY({ tickSize: 0, label: null }),
      axisX({ ticks: columns.filter((_, i) => i % every === 0), tickSize: 3, label: null }),
    ],
  });
}

/** Draw values against days, each with its interval. */
export function against(chart: Chart, width: number): SVGSVGElement | HTMLElement {
  const most = chart.options.most ?? 1;
  const intervals = chart.points.filter((point) => point.low !== null);
  const title = (point: Point) => `${point.name}: ${most > 1 ? point.value?.toFixed(2) : `${Math.round(100 * (point.value ?? 0))} %`}`;
  return plot({
    width,
    height: 240,
    x: { label: chart.options.unit ?? null, nice: true, insetRight: 6, domain: [0, Math.max(...chart.points.map((point) => point.day!))] },
    y: { domain: [0, most], label: null, grid: true, ...(most > 1 ? {} : { tickFormat: (d: number) => `${Math.round(100 * d)} %` }) },
    marks: [
      ruleX(intervals, { x: "day", y1: "low", y2: "high", stroke: "var(--muted)", strokeWidth: 2 }),
      lineY(chart.points, { x: "day", y: "value", stroke: "var(--accent)", strokeWidth: 1.5 }),
      dot(chart.points, { x: "day", y: "value", fill: "var(--accent)", r: 4, title }),
    ],
  });
}

/** Return the points of a question at its checkpoints as a picture, or nothing where there is one only. */
export function history(steps: { label: string; points: number | null; failing: boolean }[], most: number, width: number): Element | null {
  if (steps.filter((step) => step.points !== null).length < 2) return null;
  const every = Math.ceil((steps.length * 44) / width);
  const drawn = plot({
    width,
    height: 140,
    x: { type: "point", domain: steps.map((step) => step.label), label: null },
    y: { domain: [0, most], label: "points", grid: true, ticks: 3, tickFormat: String },
    marks: [
      axisX({ ticks: steps.map((step) => step.label).filter((_, i) => i % every === 0), label: null }),
      lineY(steps, { x: "label", y: "points", stroke: "var(--muted)" }),
      dot(steps.filter((step) => step.points !== null), { x: "label", y: "points", r: 4,
        symbol: (step: { failing: boolean }) => (step.failing ? "times" : "circle"), stroke: (step: { failing: boolean }) => (step.failing ? "var(--fail)" : "var(--pass)") }),
      text(steps.filter((step) => step.points === null), { x: "label", y: () => 0, text: () => "!", fill: "var(--warn)", dy: -8, fontWeight: "bold" }),
    ],
  });
  return picture(drawn, `Its points at ${steps.length} checkpoints`);
}
