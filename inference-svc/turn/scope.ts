/** What a request brings along unchanged through every layer and attempt. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Unanswered } from "@sluice/proto/contract/unanswered.js";
import type { Span } from "@sluice/proto/runtime/tracing/span.js";
import type { AlignedCall } from "./alignment.ts";
import type { TurnRequest } from "./request.ts";
import type { TurnSignal } from "./signal.ts";
import type { Usage } from "./turn.ts";
import { sumOf, toolsTogether } from "./usage.ts";

/** What the house asks for on its own: to judge a text, to moderate a request, or to choose a model for it. */
export type Purpose = "judge" | "moderation" | "classifier";

/** What is asked of other models to answer a request; for this the key pays as ever. */
export type Part = "panel" | "analyst";

export interface Scope {
  /** Aborted when the turn is cut short: by the client, a deadline, or a failure. Sockets hang on it. */
  readonly signal: TurnSignal;
  /** The key with its policy. */
  readonly caller: Caller;
  readonly requestId: string;
  /** performance.now() at which the turn is cut short; Infinity when it is not. */
  readonly deadline: number;
  /** Set when nobody is asked in the end: then nothing may be done that others would notice. */
  readonly dryRun?: true;
  /** Set when the house asks for its own purposes: then it pays, and nothing of the key is held or counted. */
  readonly purpose?: Purpose;
  /** Set beside `purpose` when the operator's calls for the request are used up: then the key pays, from its budgets. */
  readonly charged?: true;
  /** Set when a part of the request is asked. */
  readonly part?: Part;
  /**
   * Set when the endpoint that `trace.selected` names, which has answered before, is asked once more: `first` before all others, `alone` in the
   * place of all others, `once` so that nobody is asked when it fails, because something was done that cannot be undone.
   */
  readonly again?: "first" | "alone" | "once";
  /** UUID version 7. */
  readonly turnId: string;
  /** By what the client can ask for the record of the turn. */
  readonly generationId: string;
  /** The end user, as the client named it: for the record, never for a provider. */
  readonly user?: string;
  readonly trace: Trace;
  /** For what is asked on behalf of the turn; absent where nobody traces. */
  readonly span?: Span;
}

/** One upstream call. */
export interface Attempt {
  /** Display name of the provider. */
  readonly provider: string;
  readonly model: string;
  /** HTTP status of the contract: 200, or what the failure would be answered with. */
  readonly status: number;
  /** Why there was no HTTP answer; absent where there was one. */
  readonly error?: Unanswered;
}

/** An endpoint that was left after filtering. */
export interface CandidateNote {
  readonly provider: string;
  readonly model: string;
  /** It fails at the moment, and is asked after those that do not. */
  readonly ejected?: true;
  /** No key may be asked with at the moment: they have asked too often, or are not taken. */
  readonly rests?: "limited" | "refused";
}

/** One entry of `service_metadata.pipeline`. */
export interface Stage {
  readonly type: string;
  readonly name: string;
  readonly summary?: string;
  readonly guardrail_id?: string;
  readonly guardrail_scope?: string;
  /** What it cost the house; null when no price is known. */
  readonly cost_usd?: number | null;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Something that was asked for and that the endpoint was not told, because its format has no words for it. */
export interface Loss {
  /** As in the request: `input.3`, `text.verbosity`. */
  readonly path: string;
  readonly reason: string;
}

/** A call of one of the house's tools. */
export interface ToolCallNote {
  /** Type of the tool. */
  readonly kind: string;
  /** refused: it was not run. */
  readonly outcome: "completed" | "failed" | "refused";
}

/** How a model answered that was asked for a part of a request. */
export interface PartNote {
  readonly part: Part;
  /** malformed: not in the form that was asked for. */
  readonly outcome: "answered" | "malformed" | "failed";
}

/** What one attempt consumed. */
export interface Bill {
  /** Told by the provider before the end, which may never come. */
  reported: Usage | undefined;
  /** As far as it is known now; undefined while nothing has to be paid for. */
  readonly usage: Usage | undefined;
  /** The attempt came to its end. */
  readonly settled: boolean;
  /** The provider was left while it worked: what it was sent is to be paid for, even when it had not answered yet. */
  abandoned: boolean;
}

/** Counted by itself, as of providers. */
const searchKind = "service:web_search";

/** The account of a turn: append only, read by the log line and by service_metadata. */
export class Trace {
  readonly startedAt = performance.now();
  readonly policyGeneration: bigint;
  readonly attempts: Attempt[] = [];
  /** One for each attempt. */
  readonly bills: Bill[] = [];
  /** Accounts of what was asked of other models to answer the request. */
  readonly parts: Trace[] = [];
  /** How they answered. */
  readonly partNotes: PartNote[] = [];
  readonly stages: Stage[];
  /** Calls made for the operator's own purposes, by role; parts of the request count together with it. */
  readonly internalCalls: Map<object, number>;
  /** Answers that the alignment plugin has evaluated; undefined without it. */
  aligned: AlignedCall[] | undefined;
  /** A panel was asked: once a turn, whatever asks it. */
  fused = false;
  /** Of the house's tools; undefined when the model has called none. */
  toolCalls: ToolCallNote[] | undefined;
  /** Of the last attempt. */
  losses: Loss[] = [];
  /** The body of every attempt so far, without credentials; only on request. */
  readonly bodies: string[] = [];
  /** In the order in which they are tried. */
  candidates: readonly CandidateNote[] = [];
  /** How many endpoints of the models may not serve, by the reason. */
  readonly excluded = new Map<string, number>();
  /** The router's own: what it decided last. */
  route: object | undefined;
  /** Endpoints in an outage that this turn was chosen to try: the first of each model at most. */
  tried: Set<object> | undefined;
  /** Slug of the model that was asked for, without a variant; undefined before anything was decided. */
  primaryModel: string | undefined;
  /** How the models were found; undefined where the client named them. */
  strategy: "auto" | "fusion" | "pareto" | undefined;
  /** Where the model that answers is remembered for the session: by the slug that stands for it, and by the request as it was then. */
  keptFor: { readonly slug: string; readonly request: TurnRequest } | undefined;
  /** Index into `candidates` of the one that committed. */
  selected: number | undefined;
  /** Until something was given out; undefined before. */
  firstMs: number | undefined;

  /** @param whole of which this is a part */
  constructor(policyGeneration: bigint, stages: Stage[] = [], whole?: Trace) {
    this.policyGeneration = policyGeneration;
    this.stages = stages;
    this.internalCalls = whole?.internalCalls ?? new Map();
  }

  /** Something is given out. */
  given(): void {
    this.firstMs ??= performance.now() - this.startedAt;
  }

  /** What all attempts consumed until now, those for parts of the request and the work of tools among it; undefined when nothing is known. */
  get usage(): Usage | undefined {
    const sum = sumOf([...this.bills, ...this.parts].map(({ usage }) => usage));
    const calls = this.toolCalls;
    if (sum === undefined || calls === undefined) return sum;
    const executed = calls.filter(({ outcome }) => outcome !== "refused").length;
    const searches = calls.filter(({ kind, outcome }) => kind === searchKind && outcome !== "refused").length;
    const ours = {
      toolCallsRequested: calls.length,
      toolCallsExecuted: executed,
      ...(searches > 0 && { webSearchRequests: searches }),
    };
    return { ...sum, serverToolUse: sum.serverToolUse ? toolsTogether(sum.serverToolUse, ours) : ours };
  }

  /** Those made for parts of the request among them. */
  allToolCalls(): readonly ToolCallNote[] {
    return [this, ...this.parts].flatMap(({ toolCalls }) => toolCalls ?? []);
  }

  /** What guardrails did, or would have done. */
  deeds(): { readonly action: string; readonly mode: string }[] {
    return this.stages.flatMap(({ type, data }) =>
      type === "guardrail"
        ? [{ action: String(data?.["action"]), mode: data?.["mode"] === "audit" ? "audit" : "enforce" }]
        : [],
    );
  }

  /** The attempt under way was told figures, and came to no end. */
  report(usage: Usage): void {
    const bill = this.bills.at(-1);
    if (bill) bill.reported = usage;
  }

  /** The attempt under way is given up though its provider may be working on it. */
  abandon(): void {
    const bill = this.bills.at(-1);
    if (bill) bill.abandoned = true;
  }

  /** The turn has failed. If the attempt that had committed did not come to its end, it has failed as well. */
  lost(status: number): void {
    const last = this.attempts.at(-1);
    if (this.selected === undefined || !last || this.bills.at(-1)?.settled) return;
    this.attempts[this.attempts.length - 1] = { ...last, status };
  }
}
