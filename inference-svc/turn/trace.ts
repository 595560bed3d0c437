/** The receipt of a turn, from which the log line and `service_metadata` are made. */
import type { UnansweredKind } from "@sluice/proto/contract/response/provider-error.js";
import type { OperationWord } from "@sluice/proto/lib/ledger/call-operation.js";
import { type ModeWord, type RuleAction, filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import type { AlignedCall } from "./alignment.ts";
import { type Usage, addToolUse, sumUsage } from "./usage.ts";

/** Purposes of calls the operator needs: to judge a text, to moderate a request, to choose a model, or to read scanned pages. */
export const purposes = ["judge", "moderation", "classifier", "ocr"] as const satisfies readonly OperationWord[];
export type Purpose = (typeof purposes)[number];

/** Calls of other models that help to answer a request; the key pays for them as for the answer itself. */
export type RequestPart = Extract<OperationWord, "panel" | "analyst" | "advisor" | "image" | "subagent">;

/** A call of a provider. */
export interface Attempt {
  readonly provider: string;
  readonly model: string;
  /** HTTP status as in Sluice's API: 200, or the status of the failure. */
  readonly status: number;
  /** Kind of error; undefined when there was none, or when the HTTP status of the provider's answer already tells it. */
  readonly error: UnansweredKind | undefined;
}

/** An endpoint that passed all filters. */
export interface CandidateNote {
  readonly provider: string;
  readonly model: string;
  /** Set while the endpoint is ejected for failures, so it is tried after the others. */
  readonly ejected: true | undefined;
  /** Set while no API key of the endpoint's provider can be used, because all are rate limited or refused. */
  readonly rests: "limited" | "refused" | undefined;
}

/** An entry of `service_metadata.pipeline`. */
export interface Stage {
  readonly type: string;
  readonly name: string;
  readonly summary?: string;
  readonly guardrail_id?: string;
  readonly guardrail_scope?: string;
  /** Cost of the stage in USD; null when no price is known. */
  readonly cost_usd?: number | null;
  readonly data?: Readonly<Record<string, unknown>>;
}

const actionsByDone: ReadonlyMap<unknown, RuleAction> = new Map(
  filterActions.rows.map((action) => [action.done, action]),
);

const audit: ModeWord = "audit";

/** Whether the stage only reports what a guardrail in audit mode would have done. */
export const isAuditStage = ({ data }: Stage): boolean => data?.["mode"] === audit;

/** The action in a guardrail's stage. @returns undefined when the guardrail found nothing, failed, or is in audit mode */
export const actionTaken = (stage: Stage): RuleAction | undefined =>
  stage.type !== "guardrail" || isAuditStage(stage) ? undefined : actionsByDone.get(stage.data?.["action"]);

/** A part of the request that is not sent to the endpoint, because its format cannot express it. */
export interface DroppedField {
  /** Path in the request, such as `input.3` or `text.verbosity`. */
  readonly path: string;
  readonly reason: string;
}

/** A call of one of Sluice's own tools. */
export interface ToolCallNote {
  readonly kind: string;
  /** Outcome of the call; `refused` means that it was not run. */
  readonly outcome: "completed" | "failed" | "refused";
}

/** The outcome of one call to a model of a panel or to an analyst. */
export interface PartNote {
  readonly part: "panel" | "analyst";
  /** Outcome of the call; `malformed` means that the answer was not in the requested form. */
  readonly outcome: "answered" | "malformed" | "failed";
}

/** The tokens and the cost of one attempt. */
export interface Bill {
  /** Usage the provider has sent before the end of the answer, which may never come. */
  reported: Usage | undefined;
  /** Usage as far as it is known; undefined while nothing must be paid for. */
  readonly usage: Usage | undefined;
  /** Whether the attempt has come to its end. */
  readonly settled: boolean;
  /** Whether the call was abandoned while the provider worked, so the request must be paid for even without an answer. */
  abandoned: boolean;
}

/** Types of tools that search the web, which are counted separately, like searches run by providers. */
const searchKinds: ReadonlySet<string> = new Set(["service:web_search", "web_search"]);

/** An empty Map that all receipts share: one takes 200 bytes, and most turns need none. */
const none: ReadonlyMap<string, number> = new Map();

/** Fields without which a client may get a shorter answer, prose instead of JSON, or no call. Other settings only shape an answer. */
const decidingFields: ReadonlySet<string> = new Set(["max_output_tokens", "text.format", "tool_choice"]);
const decides = ({ path }: DroppedField): boolean => decidingFields.has(path);

/** A place where a rule of a guardrail has matched. */
export interface RuleMatch {
  readonly guardrailId: string;
  readonly rule: string;
  readonly action: string;
  readonly engine: string;
  /** Start of the match in UTF-16 units of the scanned text. */
  readonly start: number;
  readonly end: number;
}

/** The receipt of a turn, from which the log line and `service_metadata` are made. */
export class Trace {
  readonly startedAt = performance.now();
  readonly policyGeneration: bigint;
  readonly attempts: Attempt[] = [];
  /** Bills of all attempts, in the order of the attempts. */
  readonly bills: Bill[] = [];
  /** Receipts of calls to other models, and to services with a price, that this request needed. */
  readonly parts: Trace[] = [];
  /** Outcomes of the calls in `parts` to models of a panel and to analysts. */
  readonly partNotes: PartNote[] = [];
  readonly stages: Stage[];
  /** Collects the places of matches when a guardrail is tried; undefined for turns, whose receipts have only counts. */
  matches: RuleMatch[] | undefined;
  readonly #whole: Trace | undefined;
  #internalCalls: Map<object, number> | undefined;
  /** Evaluations by the alignment plugin, one for each answer. */
  readonly aligned: AlignedCall[] = [];
  /** Calls of Sluice's own tools; undefined when the model has called none. */
  toolCalls: ToolCallNote[] | undefined;
  /** Parts of the request the last attempt has not sent. */
  droppedFields: DroppedField[] = [];
  /** Unknown fields the last attempt has sent nevertheless. */
  passedFields: readonly string[] = [];
  /** Unknown fields of the request its door has not reported. */
  ignoredFields: readonly string[] = [];
  /** Settings of Sluice's own tools and plugins that none of their services got, by path. */
  #keptBack: Map<string, DroppedField> | undefined;
  /** Bodies of the requests of all attempts so far, without credentials; filled only when the client has requested it. */
  readonly bodies: string[] = [];
  /** Candidate endpoints in the order in which they are tried. */
  candidates: readonly CandidateNote[] = [];
  /** Number of excluded endpoints, by the reason. */
  excluded: ReadonlyMap<string, number> = none;
  /** The requested model without its variant; undefined before the router has decided. */
  primaryModel: string | undefined;
  /** The router that has chosen the models; undefined when the client named them. */
  strategy: "auto" | "fusion" | "pareto" | undefined;
  /** Index in `candidates` of the endpoint that has committed; undefined before the commit. */
  selected: number | undefined;
  /** Milliseconds until the first event was delivered; undefined before it was. */
  firstMs: number | undefined;

  /** @param whole receipt of the turn, if this is the receipt of a part of it */
  constructor(policyGeneration: bigint, stages: Stage[] = [], whole?: Trace) {
    this.policyGeneration = policyGeneration;
    this.stages = stages;
    this.#whole = whole;
  }

  /** Number of calls for the operator's purposes, by role. Calls of a part count as calls of the whole turn. */
  get internalCalls(): Map<object, number> {
    return this.#whole?.internalCalls ?? (this.#internalCalls ??= new Map());
  }

  /** Notes the time of the first event delivered. */
  markFirstEvent(): void {
    this.firstMs ??= performance.now() - this.startedAt;
  }

  /** Usage of all attempts so far, with parts of the request and Sluice's own tools; undefined when nothing is known. */
  get usage(): Usage | undefined {
    const isOne = this.bills.length === 1 && this.parts.length === 0;
    const sum = isOne ? this.bills[0]?.usage : sumUsage([...this.bills, ...this.parts].map(({ usage }) => usage));
    const calls = this.toolCalls;
    if (sum === undefined || calls === undefined) return sum;
    const executed = calls.filter(({ outcome }) => outcome !== "refused").length;
    const searches = calls.filter(({ kind, outcome }) => searchKinds.has(kind) && outcome !== "refused").length;
    const ours = {
      webSearchRequests: searches > 0 ? searches : undefined,
      toolCallsRequested: calls.length,
      toolCallsExecuted: executed,
    };
    return { ...sum, serverToolUse: sum.serverToolUse ? addToolUse(sum.serverToolUse, ours) : ours };
  }

  noteKeptBack(fields: readonly DroppedField[]): void {
    if (fields.length > 0) this.#keptBack ??= new Map();
    for (const field of fields) this.#keptBack?.set(field.path, field);
  }

  /** Parts of the request that neither the last attempt nor Sluice's own tools have used. */
  get notSent(): readonly DroppedField[] {
    return this.#keptBack ? [...this.#keptBack.values(), ...this.droppedFields] : this.droppedFields;
  }

  /**
   * Fields that affect the answer and that the last attempt has not sent unchanged, and unknown fields, with an empty
   * reason. @returns undefined when there are none
   */
  get alteredFields(): readonly DroppedField[] | undefined {
    const { droppedFields: fields, ignoredFields: ignored } = this;
    if (ignored.length === 0) return fields.some(decides) ? fields.filter(decides) : undefined;
    return [...fields.filter(decides), ...ignored.map((path) => ({ path, reason: "" }))];
  }

  /** Calls of tools in this turn and in its parts. */
  allToolCalls(): readonly ToolCallNote[] {
    if (this.parts.length === 0) return this.toolCalls ?? [];
    return [this, ...this.parts].flatMap(({ toolCalls }) => toolCalls ?? []);
  }

  /** Actions guardrails have taken, and those that guardrails in audit mode would have taken. */
  guardrailActions(): { readonly action: string; readonly mode: string }[] {
    return this.stages.flatMap((stage) =>
      stage.type === "guardrail"
        ? [{ action: String(stage.data?.["action"]), mode: isAuditStage(stage) ? "audit" : "enforce" }]
        : [],
    );
  }

  /** Notes usage the provider has sent before the end of the current attempt. */
  report(usage: Usage): void {
    const bill = this.bills.at(-1);
    if (bill) bill.reported = usage;
  }

  /** Notes that the current attempt is abandoned, while its provider may still be working on it. */
  abandon(): void {
    const bill = this.bills.at(-1);
    if (bill) bill.abandoned = true;
  }

  /** Gives the attempt that has committed the status of the turn's failure, unless the attempt was complete. */
  failCommitted(status: number): void {
    const last = this.attempts.at(-1);
    if (this.selected === undefined || !last || this.bills.at(-1)?.settled) return;
    this.attempts[this.attempts.length - 1] = { ...last, status };
  }
}

/** Stages of a turn, each of which is also recorded as an event of the turn's span. */
export class StageEvents extends Array<Stage> {
  readonly #span: Span;

  constructor(span: Span) {
    super();
    this.#span = span;
  }

  /** Lists made by `map` or `filter` are plain arrays, and record no events. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  override push(...stages: Stage[]): number {
    for (const { type, name, guardrail_id: guardrail } of stages) {
      this.#span.event(type, { "sluice.stage.name": name, "sluice.guardrail.id": guardrail });
    }
    return super.push(...stages);
  }
}
