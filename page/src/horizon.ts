// The questions of a long-horizon run: what shows which of them, and one of them whole.

import { history } from "./horizoncharts";
import type { Data, Text } from "./data";
import { folded, number, section, table, text } from "./detail";
import { h, type Child } from "./dom";
import { hasWords } from "./filter";
import type { View } from "./link";

type Points = [correctness: number, completeness: number, hallucination: number];

/** A question at a checkpoint; texts are numbers, `at` is the place of the checkpoint among the labels. */
interface Asked {
  at: number; day?: number; kinds: string[]; judge?: string; points?: Points; reason?: number; first?: Points; firstReason?: number;
  before?: number; change?: string; answer: number; by?: string; error?: number; seconds?: number; usd?: number; excerpts?: boolean;
  passages?: [text: number, source: string, score: number | null][]; calls?: number[];
}

export interface Question {
  id: string; persona: string; category: string; difficulty: string; question: number; reference: number; days: number[];
  session?: string; forbidden?: string[]; expected?: string; until?: number; asked: Asked[];
}

export interface Horizon extends Data {
  questions: Question[];
  labels: string[];
  texts: { paragraphs: string[]; entries: number[][] };
  measured: boolean;
  judgeVersion?: string | null;
}

const OF = 6;
const BY: Record<string, string> = { memory: "the memory itself", model: "a model, from what the memory found", passages: "what the memory found, as it stands" };

function sum(points: Points): number {
  return points.reduce((a, b) => a + b, 0);
}

/** What a page of such a run does with its questions. */
export class Questions {
  readonly noun = "question";
  private readonly texts = new WeakMap<Question, string>();

  constructor(private readonly data: Horizon) {}

  /** Return a text by its number. */
  private said(number: number): Text {
    const entry = this.data.texts.entries[number]!;
    const whole = entry.filter((one) => one >= 0).map((one) => this.data.texts.paragraphs[one]).join("\n\n");
    const of = entry.at(-1)!;
    return of < 0 ? { cut: whole, of: -of } : whole;
  }

  private start(number: number | undefined): string {
    if (number === undefined) return "";
    const found = this.said(number);
    return typeof found === "string" ? found : found.cut;
  }

  private searched(one: Question): string {
    let known = this.texts.get(one);
    if (known === undefined) {
      const numbers = new Set([one.question, one.reference, ...one.asked.flatMap((a) => [a.answer, a.reason, a.firstReason, a.error])]);
      known = [one.id, ...[...numbers].map((number) => this.start(number))].join("\n").toLowerCase();
      this.texts.set(one, known);
    }
    return known;
  }

  /** Tell whether an answer is one that the view looks for. */
  private fits(view: View, asked: Asked): boolean {
    return (!view.checkpoint || this.data.labels[asked.at] === view.checkpoint) && (!view.outcome || asked.kinds.includes(view.outcome))
      && (!view.judge || asked.judge === view.judge) && (!view.change || asked.change === view.change);
  }

  /** Tell whether a view shows a question: all that is said of answers has to hold for one and the same of them. */
  shows(view: View, one: Question): boolean {
    return (!view.category || one.category === view.category) && (!view.difficulty || one.difficulty === view.difficulty)
      && (!view.persona || one.persona === view.persona) && one.asked.some((asked) => this.fits(view, asked))
      && (!view.q || hasWords(view.q, this.searched(one)));
  }

  /** Return a question whole, its answer at the checkpoint that the view is about unfolded. */
  detail(one: Question, symbol: string, view: View, width: number): Child[] {
    const last = one.asked.at(-1)!;
    const open = one.asked.filter((asked) => this.fits(view, asked)).at(-1) ?? last;
    const known: [string, Child][] = [
      ["Category", one.category], ["Difficulty", one.difficulty], ["About days", one.days.join(", ")], ["Persona", one.persona],
      ["Asked in", one.session], ["Must not come out", one.forbidden?.join(", ")], ["What is right", one.expected],
      ["Holds up to day", one.until],
    ];
    return [
      h("p", { class: "outcome" }, h("strong", { class: last.kinds[0]!.replace(" ", "-") }, symbol), ` ${last.kinds.join(", ")}, at ${this.data.labels[last.at]}`),
      h("dl", { class: "facts" }, ...known.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      section("Question", this.text(one.question)),
      section("Reference", this.text(one.reference)),
      section("At each checkpoint", history(one.asked.map((a) => ({ label: this.data.labels[a.at]!, points: a.points ? sum(a.points) : null, failing: a.kinds[0] === "failing" })), OF, width), this.table(one)),
      ...one.asked.map((asked) => this.asked(asked, asked === open)),
    ];
  }

  private text(number: number): HTMLElement {
    return text(this.said(number), this.data.journal);
  }

  private table(one: Question): HTMLElement {
    const compared = one.asked.some((asked) => asked.before !== undefined);
    const pointed = one.asked.some((asked) => asked.points);
    const rows = one.asked.map((asked) => {
      const points = asked.points;
      return [
        this.data.labels[asked.at]!,
        ...(pointed ? [points ? sum(points) : "none", points && points[0], points && points[1], points ? this.madeUp(points) : null] : []),
        asked.kinds.join(", "), ...(compared ? [asked.before] : []),
      ];
    });
    const head = ["checkpoint", ...(pointed ? [`points of ${OF}`, "correct of 3", "complete of 2", "made up"] : []), "outcome", ...(compared ? ["in the run before"] : [])];
    return table(head, rows, `${pointed ? "Points" : "Outcome"} at each checkpoint`);
  }

  private madeUp(points: Points): string {
    return this.data.measured ? (points[2] ? "nothing" : "something") : "not measured";
  }

  private asked(asked: Asked, open: boolean): HTMLElement {
    const { points, first } = asked;
    const told = points ? `${sum(points)} of ${OF} points` : asked.kinds[1] ?? "no points";
    const facts = [
      asked.by && `answered by ${BY[asked.by] ?? asked.by}`, asked.seconds !== undefined && `the memory took ${asked.seconds.toFixed(2)} s`,
      `cost ${asked.usd === undefined ? "unknown" : `$${asked.usd.toPrecision(3)}`}`,
    ].filter(Boolean).join("; ");
    const version = this.data.judgeVersion ? `, version ${this.data.judgeVersion}` : "";
    const judge = `${asked.judge || "an unknown judge"}${version}${asked.excerpts ? ", shown excerpts of the days" : ""}`;
    const box = folded(`${this.data.labels[asked.at]}: ${told}`,
      h("p", { class: "muted" }, facts),
      section("Why there are no points", asked.error !== undefined && this.text(asked.error)),
      section("Answer", this.start(asked.answer) ? this.text(asked.answer) : "There is none."),
      points && section("Judge", h("p", {}, `${judge}: ${this.points(points)}`), asked.reason === undefined ? h("p", { class: "muted" }, "No reasoning is written down.") : this.text(asked.reason)),
      first && section("Before the appeal", h("p", {}, `The first judge gave ${this.points(first)}.`), asked.firstReason !== undefined && this.text(asked.firstReason)),
      section(`Retrieved passages (${asked.passages?.length ?? 0})`, ...(asked.passages ?? []).map(([words, source, score], i) =>
        folded(`${i + 1}. ${source || "no source"}${score === null ? "" : `, score ${number(score)}`}`, this.text(words)))),
      section(`Tool calls (${asked.calls?.length ?? 0})`, ...(asked.calls ?? []).map((call) => this.text(call))));
    box.toggleAttribute("open", open);
    box.classList.add("checkpoint");
    return box;
  }

  private points(points: Points): string {
    return `${sum(points)} of ${OF}: correctness ${points[0]} of 3, completeness ${points[1]} of 2, made up ${this.madeUp(points)}`;
  }
}
