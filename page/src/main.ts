// The page: filters, search, the open case and the keys. What it shows follows from the fragment of the address.

import { draw } from "./charts";
import { type Case, type Data, read } from "./data";
import { detail } from "./detail";
import { byId, type Child, h } from "./dom";
import { shows } from "./filter";
import { type Horizon, Questions } from "./horizon";
import * as link from "./link";

async function main(): Promise<void> {
  const data = await read();
  draw(data.charts ?? []);
  if (data.cases) new Cases(data.cases, ofRun(data));
  if (data.questions) new Cases((data as Horizon).questions, new Questions(data as Horizon));
  document.documentElement.dataset.ready = "yes";
  const { stamp } = document.documentElement.dataset;
  if (stamp) setInterval(() => void refresh(stamp), 2000);
}

/** Load the page anew if the run has gone on; while somebody reads a case or writes, offer it instead. */
async function refresh(stamp: string): Promise<void> {
  const found = await fetch("stamp", { cache: "no-store" }).then((answer) => (answer.ok ? answer.text() : stamp)).catch(() => stamp);
  if (found === stamp) return;
  if (document.querySelector("dialog[open]") || document.activeElement?.closest("form")) byId("fresh").hidden = false;
  else location.reload();
}

/** What a page does with its cases: what they are called, which of them a view shows, and one of them whole. */
interface Kind<One> {
  readonly noun: string;
  shows(view: link.View, one: One): boolean;
  detail(one: One, symbol: string, view: link.View, width: number): Child[];
}

function ofRun(data: Data): Kind<Case> {
  return {
    noun: "case",
    shows,
    detail: (one, symbol, _, width) => {
      const [kind] = one.kinds;
      const name = one.standing && one.standing !== kind ? `${kind}, ${one.standing}` : kind;
      return [h("p", { class: "outcome" }, h("strong", { class: kind!.replace(" ", "-") }, symbol), ` ${name}`), detail(one, data, width)];
    },
  };
}

/** Rows that stand on one page of the table. */
const PAGE = 50;

class Cases<One extends { id: string }> {
  readonly rows = [...document.querySelectorAll<HTMLTableRowElement>("#table tbody tr")];
  readonly form = byId<HTMLFormElement>("filters");
  readonly dialog = byId<HTMLDialogElement>("case");
  readonly pages = h("nav", { id: "pages" });
  opener: HTMLElement | null = null;
  /** The cases that fit the filters, by their places, and the first of them that stands on this page. */
  fitting: number[] = [];
  first = 0;

  constructor(readonly cases: One[], readonly kind: Kind<One>) {
    this.form.hidden = false;
    this.pages.setAttribute("aria-label", `Pages of ${kind.noun}s`);
    byId("table").after(this.pages);
    this.form.addEventListener("input", () => this.filter());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.move(1);
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.filter()));
    this.dialog.addEventListener("close", () => this.closed());
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    document.addEventListener("click", (event) => this.clicked(event));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.follow());
    addEventListener("popstate", () => this.follow());
    this.follow();
  }

  /** Show what the address says. */
  follow(): void {
    const view = link.read();
    for (const control of this.controls()) {
      const value = view[control.name] ?? "";
      // A value that no case has, from a link to another run: it is there to be seen, and shows nothing.
      if (control instanceof HTMLSelectElement && value && ![...control.options].some((one) => one.value === value)) {
        control.append(h("option", { value }, `${value} (0)`));
      }
      control.value = value;
    }
    this.apply(view);
    if (view.case !== undefined) this.open(view.case);
    else if (this.dialog.open) this.dialog.close();
  }

  controls(): (HTMLInputElement | HTMLSelectElement)[] {
    return [...this.form.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")];
  }

  /** Take the filters over into the address, and show what fits. */
  filter(): void {
    const view = Object.fromEntries(this.controls().map((control) => [control.name, control.value.trim()]));
    link.write(view);
    this.apply(view);
  }

  apply(view: link.View): void {
    this.fitting = this.cases.flatMap((one, i) => (this.kind.shows(view, one) ? [i] : []));
    const count = this.fitting.length;
    const last = Math.max(0, Math.ceil(count / PAGE) - 1);
    this.first = PAGE * Math.min(last, Math.max(0, (Number.parseInt(view.page ?? "1", 10) || 1) - 1));
    const shown = new Set(this.fitting.slice(this.first, this.first + PAGE));
    this.rows.forEach((row, i) => (row.hidden = !shown.has(i)));
    const all = this.cases.length;
    byId("shown").textContent = count === all ? `${all} ${this.kind.noun}s` : `${count} of ${all} ${this.kind.noun}s`;
    byId("nothing").hidden = count > 0 || all === 0;
    this.turn(count, last);
  }

  /** Show which page of the table this is, and the ways to the others. */
  turn(count: number, last: number): void {
    const page = this.first / PAGE;
    this.pages.hidden = last === 0;
    const way = (name: string, to: number) => {
      const button = h("button", { type: "button", disabled: to < 0 || to > last || to === page }, name);
      button.addEventListener("click", () => this.go(to, name));
      return button;
    };
    const told = `${this.first + 1} to ${Math.min(count, this.first + PAGE)} of ${count}`;
    this.pages.replaceChildren(way("First", 0), way("Previous", page - 1), h("span", { role: "status" }, told), way("Next", page + 1), way("Last", last));
  }

  /** Go to a page of the table, and keep the focus where it was. */
  go(page: number, name = ""): void {
    const { page: _, ...view } = link.read();
    const next = { ...view, ...(page > 0 ? { page: String(page + 1) } : {}) };
    link.write(next);
    this.apply(next);
    const buttons = [...this.pages.querySelectorAll("button")];
    const again = buttons.find((one) => one.textContent === name && !one.disabled) ?? buttons.find((one) => !one.disabled);
    if (name) again?.focus();
    byId("table").scrollIntoView({ block: "start" });
  }

  open(id: string): void {
    const at = this.cases.findIndex((one) => one.id === id);
    const one = this.cases[at];
    const close = h("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
    close.addEventListener("click", () => this.dialog.close());
    const title = h("h2", { id: "case-h", tabindex: "-1" }, h("bdi", {}, id));
    const head = h("div", { class: "head" }, title, close);
    if (!one) {
      const told = `This report has no ${this.kind.noun} with this id. It has ${this.cases.length} ${this.kind.noun}s; the link may be to another run.`;
      this.dialog.replaceChildren(head, h("p", { class: "warn", id: "unknown" }, told));
    } else {
      const width = Math.min(innerWidth - 40, 760);
      const told = this.kind.detail(one, this.symbol(at), link.read(), width);
      this.dialog.replaceChildren(head, ...told.filter((child) => child instanceof Node));
    }
    if (!this.dialog.open) {
      this.opener = document.activeElement as HTMLElement | null;
      this.dialog.showModal();
    }
    this.dialog.scrollTop = 0;
    title.focus();
  }

  symbol(at: number): string {
    return this.rows[at]!.querySelector("[aria-hidden]")?.textContent ?? "";
  }

  closed(): void {
    const { case: id, ...view } = link.read();
    if (id !== undefined) link.write(view);
    const row = this.rows[this.cases.findIndex((one) => one.id === id)];
    const back = this.opener?.isConnected && this.opener !== document.body ? this.opener : row?.querySelector("a");
    back?.focus();
  }

  /** Let a link to a case, or to a filter, keep the rest of the address. */
  clicked(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href^='#']") : null;
    const asked = link.read(target?.getAttribute("href") ?? "");
    if (!Object.keys(asked).length || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    link.write("case" in asked ? { ...link.read(), ...asked } : asked, true);
    this.follow();
    if (!("case" in asked)) byId("cases").scrollIntoView();
  }

  key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === "Escape" && target.closest("#filters")) {
      // Browsers would empty the field, and leave the reader in it.
      event.preventDefault();
      byId("cases").focus();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea")) return;
    const onRow = target.closest("#table") !== null;
    const step = { j: 1, k: -1, ...(onRow ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
    if (event.key === "/" && !this.dialog.open) {
      event.preventDefault();
      this.form.querySelector<HTMLInputElement>("[name=q]")!.focus();
    } else if (step !== undefined) {
      event.preventDefault();
      this.move(step);
    }
  }

  /** Go to the next or the previous of the shown cases. */
  move(step: number): void {
    const open = this.dialog.open ? this.cases.findIndex((one) => one.id === link.read().case) : -1;
    const here = open >= 0 ? open : this.rows.findIndex((row) => row.contains(document.activeElement));
    const place = this.fitting.indexOf(here);
    const to = place < 0 ? (step > 0 ? this.first : Math.min(this.fitting.length, this.first + PAGE) - 1) : place + step;
    const next = this.fitting[to];
    if (next === undefined) return;
    if (to < this.first || to >= this.first + PAGE) this.go(Math.floor(to / PAGE));
    const anchor = this.rows[next]!.querySelector("a")!;
    if (this.dialog.open) {
      this.opener = anchor;
      link.write({ ...link.read(), case: this.cases[next]!.id });
      this.open(this.cases[next]!.id);
    } else {
      anchor.focus();
      anchor.scrollIntoView({ block: "nearest" });
    }
  }
}

main().catch((error: unknown) => {
  const told = "DecompressionStream" in globalThis ? `This page cannot read its data (${String(error)}).` : "This browser is too old to read the details of cases.";
  document.querySelector("header")?.append(h("p", { class: "notice warn", role: "alert" }, told));
});
