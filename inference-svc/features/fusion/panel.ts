/** The panel of a fusion run: several models answer the same request concurrently and independently. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { throwIfAborted } from "../../turn/abort.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type Trace, actionTaken } from "../../turn/trace.ts";
import type { Turn } from "../../turn/turn.ts";
import {
  type PartCaller,
  PartCall,
  type TextListener,
  type WebSourceLink,
  partRequest,
} from "../model-tools/part-call.ts";
import type { FusionSettings } from "./settings.ts";

/** Time limits of a fusion run in milliseconds. */
export interface PanelTimeouts {
  /** Time limit of one panel answer. */
  readonly memberMs: number;
  /** Time after which the answers of half of the panel are enough. */
  readonly quorumMs: number;
  /** Time for the rest of the panel after half of it has answered. */
  readonly graceMs: number;
  /** Time limit of the analyst's comparison, including retries. */
  readonly analystMs: number;
}

/** Default time limits. Most answers with some searches take less than a minute; a model is given up after two. */
export const panelTimeouts: PanelTimeouts = { memberMs: 120_000, quorumMs: 60_000, graceMs: 15_000, analystMs: 60_000 };

/** Maximum duration of a run in milliseconds. */
export const runMs = ({ memberMs, analystMs }: PanelTimeouts): number => memberMs + analystMs + betweenMs;

/** Milliseconds reserved between the panel's and the analyst's step and after them, for a busy process. */
const betweenMs = 5_000;

export interface PanelDeps {
  readonly settings: FusionSettings;
  /** Calls a model through the key's guardrails, with tools. */
  readonly callModel: Turn;
  /** Limits a number of output tokens to the model's maximum. */
  readonly room: (model: string, wanted: number) => number;
  readonly timeouts: PanelTimeouts;
}

export interface PanelAnswer {
  readonly model: string;
  readonly content: string;
  readonly sources: readonly WebSourceLink[];
  readonly ms: number;
  readonly toolCalls: number;
}

export interface PanelFailure {
  readonly model: string;
  readonly error: string;
  readonly status: number;
  readonly ms: number;
  readonly toolCalls: number;
}

export type PanelOutcome = PanelAnswer | PanelFailure;

export const isAnswered = (outcome: PanelOutcome): outcome is PanelAnswer => "content" in outcome;

/** Receives the deltas and the final outcome of each model of the panel. */
export interface PanelListener {
  readonly onDelta: (model: string, ...delta: Parameters<TextListener>) => void;
  readonly over: (outcome: PanelOutcome) => void;
}

/** @returns the panel's results, in the order of the panel @throws Fault when the turn is over */
export async function collectAnswers(
  caller: PartCaller,
  parts: PanelDeps,
  listener: PanelListener,
): Promise<readonly PanelOutcome[]> {
  const { settings, timeouts: limits } = parts;
  const { scope } = caller;
  const startedAt = performance.now();
  const limitMs = Math.min(limits.memberMs, (scope.deadline - startedAt) / 2);
  const memberCalls = settings.panel.map(() => new PartCall(caller, "panel", limitMs));
  let answered = 0;
  let left = memberCalls.length;
  let grace: NodeJS.Timeout | undefined;
  const hurry = () => {
    const isEnough = performance.now() - startedAt >= limits.quorumMs && answered >= Math.ceil(memberCalls.length / 2);
    if (!isEnough || left === 0) return;
    grace ??= setTimeout(() => memberCalls.forEach((memberCall) => memberCall.giveUp()), limits.graceMs);
  };
  const quorum = setTimeout(hurry, limits.quorumMs);
  const members = memberCalls.map(async (memberCall, index) => {
    const model = settings.panel[index] as string;
    const outcome = await outcomeOf(memberCall, model, caller, parts, (...delta) => listener.onDelta(model, ...delta));
    throwIfAborted(scope.signal);
    left--;
    if (isAnswered(outcome)) answered++;
    scope.trace.partNotes.push({ part: "panel", outcome: isAnswered(outcome) ? "answered" : "failed" });
    listener.over(outcome);
    hurry();
    return outcome;
  });
  try {
    return await Promise.all(members);
  } finally {
    clearTimeout(quorum);
    clearTimeout(grace);
  }
}

async function outcomeOf(
  memberCall: PartCall,
  model: string,
  { request }: PartCaller,
  { settings, callModel, room }: PanelDeps,
  listener: TextListener,
): Promise<PanelOutcome> {
  const startedAt = performance.now();
  const figures = () => ({
    model,
    ms: Math.round(performance.now() - startedAt),
    toolCalls: memberCall.trace.toolCalls?.length ?? 0,
  });
  try {
    const own = {
      models: [model],
      instructions: instructionsOf(request),
      input: conversationOf(request.input),
      tools: settings.tools,
      maxToolCalls: settings.maxToolCalls,
      maxOutputTokens: room(model, settings.maxTokens),
      ...settings.manner,
    };
    const { text, sources } = await memberCall.collect(callModel, partRequest(request, own), listener);
    if (text.trim() === "") return { ...figures(), ...silenceOf(memberCall.trace) };
    return { ...figures(), content: text, sources };
  } catch (error) {
    const { message, attemptStatus } = Fault.from(error);
    return { ...figures(), error: message, status: attemptStatus };
  }
}

/**
 * The failure for an answer without text. A guardrail's block after a tool call truncates the answer instead of
 * refusing it, so nothing may be left.
 */
function silenceOf({ stages }: Trace): Pick<PanelFailure, "error" | "status"> {
  const blocked = stages.find((stage) => actionTaken(stage)?.stops);
  const names = blocked?.data?.["patterns"] as readonly string[] | undefined;
  return names
    ? { error: `Blocked by a guardrail: ${names[0]}`, status: 403 }
    : { error: "It said nothing", status: 502 };
}

const task = () =>
  `You are one of several experts who answer the same request independently of each other; nobody but an editor reads your answer. Answer it yourself and completely. Look things up where that helps, give the URLs of what you rely on, and say what you are not sure of. Today is ${new Date().toISOString().slice(0, 10)}.`;

const instructionsOf = ({ instructions }: TurnRequest): string =>
  instructions === undefined ? task() : `${task()}\n\nThe request comes with these instructions:\n${instructions}`;

/** The conversation without tool calls, which make no sense to a panel without those tools. */
const conversationOf = (input: readonly InputItem[]): readonly InputItem[] =>
  input.filter(({ type }) => type === "message");
