// One case whole: what was asked, answered, judged, retrieved and called, and what it came to before.

import { way } from "./charts";
import { type Case, type Data, type Step, type Text, type Verdict, type Vote, start } from "./data";
import { h, type Child } from "./dom";

const FIRST = 1500;

export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** Return a text as it stands; of a long one the start, and the rest on demand. */
export function text(value: Text, journal: string): HTMLElement {
  const known = start(value);
  const box = h("div", { class: "text" });
  const pre = h("pre", { dir: "auto" }, known.slice(0, FIRST));
  box.append(pre);
  if (known.length > FIRST) {
    const button = h("button", { type: "button" }, `Show all ${number(known.length)} characters`);
    button.addEventListener("click", () => {
      pre.replaceWith(h("pre", { dir: "auto", tabindex: "0" }, known));
      button.remove();
    });
    box.append(button);
  }
  if (typeof value !== "string") {
    box.append(h("p", { class: "warn" }, `Cut here: ${number(known.length)} of ${number(value.of)} characters. All of it is in ${journal}.`));
  }
  return box;
}

export function section(title: string, ...children: Child[]): HTMLElement | null {
  const there = children.filter((child) => child !== null && child !== undefined && child !== false && child !== "");
  return there.length ? h("section", {}, h("h3", {}, title), ...there) : null;
}

export function folded(title: string, ...children: Child[]): HTMLElement {
  return h("details", {}, h("summary", {}, title), ...children);
}

export function table(head: string[], rows: Child[][], label: string): HTMLElement {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label },
    h("table", {},
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell ?? "–")))))));
}

function said(passed: boolean | undefined): string {
  return passed === undefined ? "no verdict" : passed ? "✓ passed" : "✗ failed";
}

function vote(one: Vote, title: string, journal: string): HTMLElement {
  const scores = Object.entries(one.scores ?? {}).map(([name, score]) => `${name} ${score}`).join(", ");
  const name = one.replied && one.replied !== one.model ? `${one.model} (${one.replied})` : one.model;
  return h("li", {}, `${title} ${name ?? ""}: ${said(one.passed)}`, one.score !== undefined && `, score ${one.score}`, scores && ` (${scores})`,
    one.error !== undefined && text(one.error, journal), one.reason !== undefined && text(one.reason, journal));
}

function verdict(one: Verdict, journal: string): HTMLElement {
  const facts = [one.model, one.version && `version ${one.version}`, one.score !== undefined && `score ${Number(one.score.toFixed(4))}`].filter(Boolean).join(", ");
  const votes = (one.votes ?? []).map((v, i) => vote(v, `Vote ${i + 1},`, journal));
  if (one.appeal) votes.push(vote(one.appeal, `Appeal (${one.why ?? ""}),`, journal));
  return h("div", { class: "verdict" },
    h("p", {}, h("strong", { class: one.passed ? "passed" : "failed" }, said(one.passed)), ` ${one.judge ?? "judge"}`, facts && h("span", { class: "muted" }, ` ${facts}`)),
    one.reason !== undefined && text(one.reason, journal),
    votes.length > 0 && folded(`Votes (${votes.length})`, h("ul", {}, ...votes)));
}

function difference(pieces: [string, Text][]): HTMLElement {
  return h("p", { dir: "auto", class: "diff" }, ...pieces.flatMap(([kind, value]): Child[] => {
    const words = start(value);
    const tag = { gone: "del", new: "ins" }[kind];
    return [tag ? h(tag, {}, h("span", { class: "vh" }, `${kind}: `), words) : words, " "];
  }));
}

function calls(one: Case): HTMLElement | null {
  const rows = (one.calls ?? []).map((call) => [
    call.kind, call.source + (call.batched ? ", batched" : ""), call.model,
    Object.entries(call.tokens ?? {}).map(([name, count]) => `${number(count)} ${name.replace("_", " ")}`).join(", ") || "unknown",
    call.cost === undefined ? "unknown" : `${call.estimated ? "~" : ""}$${call.cost.toPrecision(3)}`,
    call.seconds === undefined ? "unknown" : `${call.seconds.toFixed(2)} s`,
    call.trouble ? call.trouble + (call.retried ? ", asked again" : "") : "",
  ]);
  return rows.length ? table(["kind", "source", "model", "tokens", "list price", "time", "trouble"], rows, "Calls of this trial") : null;
}

function taped(one: Case, journal: string): Child {
  const tape = one.taped;
  if (!tape) return null;
  if (tape.problem !== undefined) return h("p", { class: "warn" }, "The cassette could not be read: ", h("bdi", {}, start(tape.problem)));
  const own = one.source === "replayed" ? "" : " This run's answer is not a replay, so its own calls may differ.";
  return h("div", {},
    h("p", { class: "muted" }, `Recorded on ${tape.day || "an unknown day"} in ${tape.path}.${own}`),
    ...(tape.calls ?? []).map((call, i) => folded(
      `Call ${i + 1}: ${call.kind ?? ""}, status ${call.status || "none"}, ${(call.seconds ?? 0).toFixed(2)} s`,
      call.address !== undefined && h("p", { class: "muted" }, start(call.address)),
      h("h4", {}, "Asked"), call.asked === undefined ? h("p", {}, "no text") : text(call.asked, tape.path),
      h("h4", {}, "Answered"), call.answered === undefined ? h("p", {}, "no text") : text(call.answered, tape.path))));
}

function facts(one: Case): HTMLElement {
  const known: [string, Child][] = [
    ["Scenario", one.scenario], ["Dimension", one.dimension], ["Tags", one.tags?.join(", ")], ["Reason", one.reason], ["Boxes", one.move],
    ["Source", one.source], ["Model", one.model], ["Agent's time", one.seconds === undefined ? undefined : `${one.seconds.toFixed(2)} s`],
    ["Usage", Object.entries(one.usage ?? {}).map(([name, count]) => `${number(count)} ${name.replaceAll("_", " ")}`).join(", ")],
    ["Attempts", one.attempts], ["Series", one.series],
    ["Where", one.where && (one.href ? h("a", { href: one.href, rel: "noreferrer" }, one.where) : one.where)],
  ];
  return h("dl", { class: "facts" }, ...known.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** Return the answers of two runs side by side. */
function both(one: Case, base: NonNullable<Case["base"]>, journal: string): HTMLElement | null {
  const side = (title: string, outcome: string | undefined, answer: Text | undefined, note: Text | undefined) =>
    h("div", {}, h("h4", {}, title), h("p", {}, outcome ?? ""),
      answer === undefined ? h("p", { class: "muted" }, "no answer") : text(answer, journal),
      note !== undefined && h("p", { class: "muted" }, h("bdi", {}, start(note))));
  const failed = (one.verdicts ?? []).find((v) => v.passed === false);
  return section("Both runs",
    one.tried && h("p", {}, `Passed ${one.tried[0]} before and ${one.tried[1]} now, of ${one.tried[2]} trials.`),
    h("div", { class: "sides" }, side("Before", base.outcome, base.answer, base.note), side("Now", one.kinds[0], one.answer, failed?.reason)),
    one.change && difference(one.change));
}

/** Return what a case came to in this run and in those before. */
function past(steps: Step[], width: number): Child[] {
  if (steps.length < 2) return [steps.length && "No earlier run of this case is kept here."];
  const known = (value: number | undefined) => (value === undefined ? "–" : String(value));
  const answer = (step: Step, i: number) => {
    const before = steps[i + 1];
    if (step.answer === undefined) return "–";
    return before?.answer !== undefined && start(before.answer) === start(step.answer) ? "the same as before" : start(step.answer);
  };
  const rows = steps.map((step, i) => [
    step.run, step.outcome, step.score, `${known(step.before)} → ${known(step.after)}`, answer(step, i), start(step.note), step.source,
  ]);
  return [way(steps, width), table(["run", "outcome", "score", "box", "answer", "why", "source"], rows, "Its runs")];
}

/** Return a case's details, for a dialog that is `width` pixels wide. */
export function detail(one: Case, data: Data, width: number): HTMLElement {
  const { journal } = data;
  const steps = one.steps ?? [];
  return h("div", {},
    facts(one),
    one.unproven !== undefined && h("p", { class: "warn" }, "This outcome counts for nothing: ", text(one.unproven, journal)),
    one.edited && h("p", { class: "warn" }, "The case was edited since this run: input, reference and judges are those of today."),
    section("Why there is no verdict", one.error !== undefined && text(one.error, journal)),
    section("Likely cause", one.cause && one.cause.label !== "not known" &&
      h("p", {}, h("strong", {}, one.cause.label), `: ${[one.cause.evidence, ...(one.cause.also ?? []).map((also) => `also ${start(also)}`)].map(start).join("; ")}`)),
    section("Input", one.asked === undefined ? "Not known here: no case file has it." : text(one.asked, journal)),
    section("Reference", one.reference !== undefined && text(one.reference, journal)),
    section("Judges", one.criteria && h("ul", {}, ...one.criteria.map((criterion) => h("li", {}, h("code", {}, start(criterion)))))),
    section("Answer", one.answer === undefined ? "There is none." : text(one.answer, journal)),
    section("Verdicts", ...(one.verdicts ?? []).map((v) => verdict(v, journal))),
    one.lastPass && section(`Since its last pass, ${one.lastPass.told}`,
      one.diff ? difference(one.diff) : h("p", {}, "The same answer."), folded("The answer that passed", text(one.lastPass.answer, journal))),
    one.base && both(one, one.base, journal),
    section(`Retrieved passages (${one.passages?.length ?? 0})`, ...(one.passages ?? []).map((passage, i) =>
      folded(`${i + 1}. ${passage.source ?? "no source"}${passage.score === undefined ? "" : `, score ${passage.score}`}`, text(passage.text ?? "", journal)))),
    section("Upstream calls", calls(one), taped(one, journal)),
    section("Its runs, the newest first", ...past(steps, width)),
    section("Notes", one.notes !== undefined && text(one.notes, journal)));
}
