// The data of the page: compressed JSON, as results/report_page writes it.

/** A text, or the start of one that was cut, with its whole length. */
export type Text = string | { cut: string; of: number };

export interface Vote { model?: string; replied?: string; passed?: boolean; score?: number; scores?: Record<string, number>; reason?: Text; error?: Text }
export interface Verdict { judge?: string; passed?: boolean; score?: number; reason?: Text; model?: string; version?: string; votes?: Vote[]; appeal?: Vote; why?: string }
export interface Call { kind?: string; source?: string; model?: string; trouble?: string; batched?: boolean; retried?: boolean; estimated?: boolean; cost?: number; seconds?: number; tokens?: Record<string, number> }
export interface Upstream { kind?: string; address?: Text; status?: string; seconds?: number; asked?: Text; answered?: Text }
/** What a case came to in one run; of the newest runs also what it answered, and why that failed. */
export interface Step { run: string; day: string; outcome: string; before?: number; after?: number; source?: string; score?: string; answer?: Text; note?: Text }

export interface Case {
  id: string;
  kinds: string[];
  reason?: string;
  scenario?: string;
  dimension?: string;
  judges?: string[];
  source?: string;
  flip?: string;
  tags?: string[];
  standing?: string;
  move?: string;
  where?: string;
  href?: string;
  seconds?: number;
  attempts?: number;
  series?: string;
  model?: string;
  error?: Text;
  unproven?: Text;
  asked?: Text;
  reference?: Text;
  criteria?: Text[];
  notes?: Text;
  edited?: boolean;
  answer?: Text;
  passages?: { text?: Text; source?: string; score?: number }[];
  usage?: Record<string, number>;
  verdicts?: Verdict[];
  cause?: { label: string; evidence: Text; also?: Text[] };
  calls?: Call[];
  taped?: { path: string; day?: string; problem?: Text; calls?: Upstream[] };
  steps?: Step[];
  lastPass?: { told: string; answer: Text };
  diff?: [kind: string, text: Text][];
  base?: { outcome: string; note?: Text; answer?: Text };
  change?: [kind: string, text: Text][];
  tried?: [number, number, number];
}

export interface Point { name: string; value?: number | null; low?: number | null; high?: number | null; column?: string; state?: string; sign?: string; told?: string; day?: number; base?: number; head?: number; kind?: string }
export interface Chart { kind: string; title: string; points: Point[]; options: { unit?: string; most?: number } }
export interface Data { charts?: Chart[]; cases?: Case[]; journal: string; questions?: unknown[] }

/** Return the page's data. */
export async function read(): Promise<Data> {
  const packed = document.getElementById("data")!.textContent!;
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text()) as Data;
}

/** Return as much of a text as the page has. */
export function start(text: Text | undefined): string {
  return text === undefined ? "" : typeof text === "string" ? text : text.cut;
}
