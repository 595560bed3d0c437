/** A turn: one request to a model and everything that comes back. The one contract between the rooms of inference-svc. */
import type { TurnRequest } from "./request.ts";
import type { AlignmentReport } from "./alignment.ts";
import type { Scope } from "./scope.ts";

/** A Responses item in its JSON form. Fields that nobody here reads pass through. */
export type OutputItem = { readonly type: string; readonly id: string; readonly [field: string]: unknown };

export type TurnEvent =
  /** Before everything else: the body that is about to be sent, without credentials. Only on request. */
  | { readonly type: "debug"; readonly bodyJson: string }
  /** First, once an endpoint has committed: the slug that serves. */
  | { readonly type: "start"; readonly model: string }
  /** status in_progress, content empty. Indices are 0, 1, 2 ... in the order of `output`. */
  | { readonly type: "item.start"; readonly index: number; readonly item: OutputItem }
  | {
      readonly type: "text.delta" | "refusal.delta" | "reasoning.delta" | "summary.delta";
      readonly index: number;
      /** Index of the part within the item; of the summary part for summary.delta. Nothing more comes of a part once another has begun. */
      readonly part: number;
      readonly delta: string;
      /** JSON array; only text.delta, only on request. */
      readonly logprobsJson?: string;
    }
  /** Of the text that a call carries; which one that is follows from the item's type. */
  | { readonly type: "arguments.delta"; readonly index: number; readonly delta: string }
  /** An event of the provider that passes as it is. */
  | {
      readonly type: "native";
      /** Absent when it belongs to no item. */
      readonly index?: number;
      /** The event's type, such as response.web_search_call.searching. */
      readonly name: string;
      /** JSON object: the payload without type, sequence_number, item_id and output_index. */
      readonly payloadJson: string;
    }
  | { readonly type: "annotation"; readonly index: number; readonly part: number; readonly annotation: unknown }
  /** The whole item; what it says equals the deltas before it. */
  | { readonly type: "item.end"; readonly index: number; readonly item: OutputItem }
  /** Exactly one, last. A turn that fails has none: it throws. */
  | { readonly type: "end"; readonly outcome: Outcome };

export interface Outcome {
  readonly status: "completed" | "incomplete";
  /** Set when incomplete. */
  readonly reason?: "max_output_tokens" | "content_filter";
  /** Absent when nothing is known. */
  readonly usage?: Usage;
  /** The tier that served. */
  readonly serviceTier: string;
  /** Absent without the alignment plugin. */
  readonly alignment?: AlignmentReport;
}

export interface Usage {
  /** Cached ones among them. */
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  /** Of the written ones, those that are kept for an hour instead of five minutes; absent when none are. */
  readonly cacheWriteHourTokens?: number;
  /** Reasoning among them. */
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Of tools that the provider runs itself, where it says. */
  readonly serverToolUse?: ServerToolUse;
  /** Set when the provider left out figures, and some of these were estimated. */
  readonly estimated?: true;
  /** Absent when no price is known. */
  readonly cost?: Cost;
}

/** In 10^-12 USD: whole numbers, so that sums are exact. */
export interface Cost {
  /** Tokens, images, sounds, and the fee of the request. */
  readonly input: bigint;
  /** Reasoning among it, and images. */
  readonly output: bigint;
  /** Tools that the provider ran. */
  readonly serverTools: bigint;
}

export interface ServerToolUse {
  readonly webSearchRequests?: number;
  readonly toolCallsRequested?: number;
  readonly toolCallsExecuted?: number;
}

/** Everything one upstream read made known, in order; never empty. The batch is what keeps layers and frames cheap. */
export type Batch = readonly TurnEvent[];

/**
 * Settles once the first committing batch is in hand, without a stream once the whole answer is: a rejection is an HTTP status, a throw
 * while iterating is a failed event. What settled must be iterated, or its scope aborted: a generator that never started cleans nothing up.
 */
export type Turn = (request: TurnRequest, scope: Scope) => Promise<AsyncIterable<Batch>>;

/** How long one attempt may keep those waiting who could be asked after it. */
export interface Patience {
  /** Until something must have come of it: milliseconds from its beginning; Infinity when the deadline of the turn is the only limit. */
  readonly withinMs: number;
  /** Nobody could be asked after it: it is never cut for a late first event. */
  readonly last: boolean;
}

/** Wraps a turn in another. First in a list is outermost, as in Koa. */
export type Layer = (next: Turn) => Turn;

export const compose = (layers: readonly Layer[], innermost: Turn): Turn =>
  layers.reduceRight<Turn>((next, layer) => layer(next), innermost);

/** Rewrites the request, or refuses it. Nothing is paid per event. */
export const onRequest =
  (rewrite: (request: TurnRequest, scope: Scope) => TurnRequest | Promise<TurnRequest>): Layer =>
  (next) =>
  async (request, scope) =>
    next(await rewrite(request, scope), scope);

/** Maps batches; `open` runs once a turn and returns the step with its state closed over. */
export const onBatch =
  (open: (request: TurnRequest, scope: Scope) => (batch: Batch) => Batch): Layer =>
  (next) =>
  async (request, scope) =>
    map(await next(request, scope), open(request, scope));

async function* map(batches: AsyncIterable<Batch>, step: (batch: Batch) => Batch): AsyncIterable<Batch> {
  for await (const batch of batches) {
    const mapped = step(batch);
    if (mapped.length > 0) yield mapped;
  }
}

/** Whether a client may act on the event. Before the first such event a failure may move to another endpoint, after it never. */
export function commits(event: TurnEvent): boolean {
  switch (event.type) {
    case "debug":
    case "start":
      return false;
    case "item.start":
      return event.item.type !== "message" && event.item.type !== "reasoning";
    default:
      return true;
  }
}
