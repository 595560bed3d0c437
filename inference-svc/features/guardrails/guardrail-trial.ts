/** Tries a guardrail on a text: runs the guardrail layers of the stack around a turn whose request or answer is this text. */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import { toGeneratedAnswer, WholeAnswer } from "../../turn/answer-kinds.ts";
import { bareRequest } from "../../turn/bare-request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type RuleMatch, type Stage, actionTaken } from "../../turn/trace.ts";
import { type Batch, type Layer, type Turn, compose } from "../../turn/turn.ts";
import type { ScannedSide } from "../../turn/applied-guardrails.ts";

export interface TrialText {
  readonly side: ScannedSide;
  /** The deltas of an answer. Joined, they are the text of a request. */
  readonly pieces: readonly string[];
}

/** Gives the response body of POST /guardrails/try. @param scope its caller has the guardrail; its trace collects the matches */
export type TryGuardrail = (text: TrialText, scope: Scope) => Promise<object>;

interface TrialLayers {
  /** Layers that scan requests and answers, in the order of the stack. */
  readonly guards: readonly Layer[];
  readonly gates: readonly Layer[];
}

export const guardrailTrial =
  ({ guards, gates }: TrialLayers): TryGuardrail =>
  async ({ side, pieces }, scope) => {
    const matches: RuleMatch[] = (scope.trace.matches = []);
    const run = side === "input" ? () => runRequest(guards, pieces, scope) : () => runAnswer(gates, pieces, scope);
    const { text, fault, isCut } = await outcomeOf(run);
    const { stages } = scope.trace;
    return {
      decision: decide(stages, fault, isCut),
      text,
      error: fault ? { code: fault.status, message: fault.message, metadata: fault.metadata } : null,
      matches: inCodePoints(matches, pieces.join("")),
      pipeline: stages,
    };
  };

interface TrialOutcome {
  /** The text as delivered; null when a block let nothing through. */
  readonly text: string | null;
  readonly fault?: Fault;
  /** Whether a block ended the answer after a part was delivered. */
  readonly isCut?: boolean;
}

/** Runs a trial, and turns a block into its outcome. @throws Fault from sources other than a guardrail */
async function outcomeOf(run: () => Promise<TrialOutcome>): Promise<TrialOutcome> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { reason } = error;
    if (reason !== FaultReason.GUARDRAIL_BLOCKED && reason !== FaultReason.UNAVAILABLE) throw error;
    return { text: null, fault: error };
  }
}

async function runRequest(guards: readonly Layer[], pieces: readonly string[], scope: Scope): Promise<TrialOutcome> {
  let text: string | null = null;
  const turn = compose(guards, ({ input }) => {
    text = String(input[0]?.["content"]);
    return new WholeAnswer([]);
  });
  const message = { type: "message", role: "user", content: pieces.join("") };
  for await (const _ of turn(bareRequest({ input: [message] }), scope));
  return { text };
}

async function runAnswer(gates: readonly Layer[], pieces: readonly string[], scope: Scope): Promise<TrialOutcome> {
  let text = "";
  let isCut = false;
  const turn = compose(gates, answering(pieces));
  for await (const batch of turn(bareRequest({ stream: true }), scope)) {
    for (const event of batch) {
      if (event.type === "text.delta") text += event.delta;
      if (event.type === "end") isCut = event.outcome.reason === "content_filter";
    }
  }
  return { text, isCut };
}

const item = { type: "message", id: "msg_trial", role: "assistant" } as const;

/** A turn whose answer consists of the pieces, each in a batch. */
const answering = (pieces: readonly string[]): Turn => {
  const content = [{ type: "output_text", text: pieces.join(""), annotations: [], logprobs: [] }];
  async function* batches(): AsyncGenerator<Batch> {
    yield [
      { type: "start", model: "" },
      { type: "item.start", index: 0, item: { ...item, status: "in_progress", content: [] } },
    ];
    for (const delta of pieces) if (delta !== "") yield [{ type: "text.delta", index: 0, part: 0, delta }];
    yield [
      { type: "item.end", index: 0, item: { ...item, status: "completed", content } },
      { type: "end", outcome: { status: "completed", serviceTier: "default" } },
    ];
  }
  return () => toGeneratedAnswer(batches());
};

function decide(stages: readonly Stage[], fault: Fault | undefined, isCut = false): string {
  if (fault?.reason === FaultReason.UNAVAILABLE) return "error";
  if (fault || isCut) return filterActions.of("block").done;
  const taken = new Set(stages.map(actionTaken));
  return filterActions.rows.find((action) => !action.stops && taken.has(action))?.done ?? "allowed";
}

/** The matches with places in code points, as the API counts them. */
function inCodePoints(matches: readonly RuleMatch[], text: string): object[] {
  const ordered = matches.toSorted((a, b) => a.start - b.start || a.end - b.end);
  const places = codePointsAt(text, new Set(ordered.flatMap(({ start, end }) => [start, end])));
  return ordered.map(({ rule, action, engine, start, end }) => ({
    rule,
    action,
    engine,
    start: places.get(start) ?? 0,
    end: places.get(end) ?? 0,
  }));
}

/** Number of code points in front of each of these UTF-16 units. */
function codePointsAt(text: string, units: ReadonlySet<number>): ReadonlyMap<number, number> {
  const counted = new Map<number, number>();
  let codePoints = 0;
  for (let unit = 0; unit <= text.length; unit++) {
    if (units.has(unit)) counted.set(unit, codePoints);
    const isSecondHalf = unit > 0 && (text.codePointAt(unit - 1) ?? 0) > 0xffff;
    if (!isSecondHalf) codePoints++;
  }
  return counted;
}
