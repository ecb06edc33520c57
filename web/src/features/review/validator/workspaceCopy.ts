/**
 * The session's copy in the workspace: what differs from the last answer is sent, each case on the version last seen.
 *
 * The browser stays the place of work, so a server that is away costs nothing but the copy. A case that somebody changed
 * in the workspace meanwhile is not overwritten: it is kept there, stays as it is here, and is named until the reviewer
 * insists. Which version was seen, and what still waits to be sent, survives a reload.
 */

import { useCallback, useEffect, useRef, useState } from "react";
import { api, unwrap } from "@/api/client";
import type { Content, JsonObject } from "../content";
import { joinRows } from "./imports";
import type { TextStorage } from "./persistence";
import { parseFile, rowA, rowB } from "./rows";
import type { CaseState, Session } from "./session";
import { browserStorage } from "./useValidator";

interface Taken {
  kept: string[];
  problems: string[];
  versions: { [key: string]: number };
}

export interface Parcel {
  rows: JsonObject[];
  versions: { [key: string]: number };
  replace: boolean;
}

type Post = (parcel: Parcel) => Promise<Taken>;

export type CopyState =
  | { state: "copied" }
  | { state: "sending" }
  | { state: "differs"; keys: string[] }
  | { state: "failed"; message: string };

const COPY_KEY = "evergold.evaldata.workspace";
const CASES_AT_ONCE = 200;

/** What the workspace has of a case: the version seen, and whether this browser's state is there. */
type Known = { [key: string]: { version: number; sent: boolean } };

const needs = (content: Content) => ({
  needsQuery: content.query.trim() === "",
  needsBaseCommit: content.baseCommit.trim() === "",
});

/** A row without the needs flags is a validated one; the others carry them, as in the files. */
function rowsOf({ content, validated }: CaseState): JsonObject[] {
  const flags = validated ? {} : needs(content);
  return [rowA(content), rowB(content)].flatMap((row) => (row === null ? [] : [{ ...row, ...flags }]));
}

export class WorkspaceCopy {
  private known: Known;
  private cases: Session["cases"] = {};
  private differing = new Set<string>();
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly local: TextStorage,
    private readonly post: Post,
  ) {
    this.known = this.read();
  }

  /** Cases as the workspace has them, when a session is opened from there. */
  adopt(cases: Session["cases"], versions: { [key: string]: number }): void {
    for (const [key, version] of Object.entries(versions)) this.known[key] = { version, sent: true };
    this.cases = cases;
    this.remember();
  }

  /** The session as it was loaded: what was sent before is sent, the rest waits. */
  start(cases: Session["cases"]): void {
    this.cases = cases;
  }

  /** Send what changed since; calls run one after the other. `replace` insists on cases that others changed. */
  send(cases: Session["cases"], replace = false): Promise<CopyState> {
    this.note(cases);
    const next = this.queue.then(() => this.sendNow(replace));
    this.queue = next;
    return next;
  }

  private note(cases: Session["cases"]): void {
    for (const [key, state] of Object.entries(cases)) {
      const known = this.known[key];
      if (known?.sent && this.cases[key] !== state) this.known[key] = { ...known, sent: false };
      if (this.cases[key] !== state) this.differing.delete(key);
    }
    this.cases = cases;
    this.remember();
  }

  private waiting(replace: boolean): string[] {
    return Object.keys(this.cases).filter((key) => !this.known[key]?.sent && (replace || !this.differing.has(key)));
  }

  private async sendNow(replace: boolean): Promise<CopyState> {
    try {
      const keys = this.waiting(replace);
      for (let at = 0; at < keys.length; at += CASES_AT_ONCE) {
        await this.parcel(keys.slice(at, at + CASES_AT_ONCE), replace);
      }
      const differing = [...this.differing].filter((key) => key in this.cases);
      return differing.length > 0 ? { state: "differs", keys: differing } : { state: "copied" };
    } catch (fault) {
      return { state: "failed", message: fault instanceof Error ? fault.message : String(fault) };
    } finally {
      this.remember();
    }
  }

  private async parcel(keys: string[], replace: boolean): Promise<void> {
    const states = keys.flatMap((key) => (this.cases[key] === undefined ? [] : [[key, this.cases[key]] as const]));
    const versions = Object.fromEntries(
      states.flatMap(([key]) => (this.known[key] === undefined ? [] : [[key, this.known[key].version]])),
    );
    const taken = await this.post({ rows: states.flatMap(([, state]) => rowsOf(state)), versions, replace });
    for (const [key, state] of states) {
      const version = taken.versions[key];
      if (version === undefined) this.differing.add(key);
      else {
        this.differing.delete(key);
        this.known[key] = { version, sent: this.cases[key] === state };
      }
    }
  }

  private read(): Known {
    try {
      return JSON.parse(this.local.getItem(COPY_KEY) ?? "{}") as Known;
    } catch {
      return {}; // nothing is lost: everything is compared with the workspace anew
    }
  }

  private remember(): void {
    const held = Object.fromEntries(Object.entries(this.known).filter(([key]) => key in this.cases));
    try {
      this.local.setItem(COPY_KEY, JSON.stringify(held));
    } catch {
      this.local.removeItem(COPY_KEY); // a full storage is told by the session's own save; this one only saves work
    }
  }
}

const SEND_AFTER_MS = 1200;
/** The copy in the workspace, in React: sent shortly after every change while a server answers. */
export const DATASET = "context";

const post = (parcel: Parcel) =>
  unwrap(
    api.POST("/api/v1/review/rows", {
      body: { ...parcel, dataset: DATASET },
    }),
  );

interface Copy {
  /** Null while there is no workspace, or nothing to copy. */
  copy: CopyState | null;
  /** Put this browser's state over what others changed. */
  insist: () => void;
  /** Every case of the workspace as a session's states. */
  fetchCases: () => Promise<Session["cases"]>;
}

export function useWorkspaceCopy(session: Session, loaded: boolean, present: boolean): Copy {
  const [there] = useState(() => new WorkspaceCopy(browserStorage, post));
  const [copy, setCopy] = useState<CopyState | null>(null);
  const started = useRef(false);
  const { cases } = session;
  const newest = useRef(cases);
  newest.current = cases;

  const send = useCallback(
    async (states: Session["cases"], replace = false) => {
      setCopy({ state: "sending" });
      const answer = await there.send(states, replace);
      // Edits made while the parcel was on its way are not in the workspace: the next parcel's answer speaks for them.
      if (answer.state !== "copied" || states === newest.current) setCopy(answer);
    },
    [there],
  );

  useEffect(() => {
    if (!loaded || !present) return;
    if (!started.current) there.start(cases);
    started.current = true;
    if (Object.keys(cases).length === 0) return setCopy(null);
    setCopy((old) => (old?.state === "differs" ? old : { state: "sending" }));
    const timer = setTimeout(() => void send(cases), SEND_AFTER_MS);
    return () => clearTimeout(timer);
  }, [cases, loaded, present, send, there]);

  const fetchCases = useCallback(async () => {
    const rows = await unwrap(
      api.GET("/api/v1/review/rows", { params: { query: { dataset: DATASET, unvalidated: true } } }),
    );
    const text = (list: unknown[]) => list.map((row) => JSON.stringify(row)).join("\n");
    const { contents } = joinRows([parseFile("workspace A", text(rows.a)), parseFile("workspace B", text(rows.b))]);
    const open = new Set(rows.a.filter((row) => "needsQuery" in row).map((row) => row.caseId));
    const found: Session["cases"] = Object.fromEntries(
      contents.map((content) => {
        const { caseId } = content.identity;
        return [caseId, { imported: content, content, validated: !open.has(caseId) }];
      }),
    );
    there.adopt(found, rows.versions);
    return found;
  }, [there]);

  return { copy, insist: () => void send(cases, true), fetchCases };
}
