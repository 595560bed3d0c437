/** A fusion run: the panel answers, the analyst compares, and the answering model reads both. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { quoteData } from "../../content/quoted-data.ts";
import { truncateMiddle } from "../../turn/truncate.ts";
import type { ItemEvent } from "../../turn/progress-buffer.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { StateKey } from "../../turn/turn-state.ts";
import type { Stage } from "../../turn/trace.ts";
import type { OutputItem } from "../../turn/turn.ts";
import { type Analysis, type AnalystDeps, analyseAnswers } from "./analyst.ts";
import { type PartCaller, type WebSourceLink, showsParts } from "../model-tools/part-call.ts";
import type { SettingsParts } from "./settings.ts";
import { type PanelAnswer, type PanelFailure, type PanelOutcome, collectAnswers, isAnswered } from "./panel.ts";

/** Receives progress events of the run. */
type EventListener = (event: ItemEvent) => void;

/** Dependencies of a fusion run. */
export type FusionRunDeps = Omit<AnalystDeps, "settings"> & { readonly settings: SettingsParts };

export interface FusionResult {
  /** Fields of the client's fusion item in addition to type, id and status. */
  readonly item: JsonObject;
  /** The result as quoted data for the answering model. */
  readonly output: string;
  /** Web pages the answers cite. */
  readonly sources: readonly WebSourceLink[];
  readonly failed: boolean;
}

/** Share of the answering model's context window for the result of the run. */
const outputShare = 0.6;

const event = (step: string, payload: JsonObject = {}): ItemEvent => ({
  name: `response.fusion_call.${step}`,
  payload,
});

/** Whether the turn's panel has already run: a turn has at most one, whether the plugin or the tool starts it. */
export const panelState = new StateKey(() => ({ hasRun: false }));

/** Runs the panel and the analyst. @throws Fault when the turn is over */
export async function runFusion(caller: PartCaller, parts: AnalystDeps, onEvent: EventListener): Promise<FusionResult> {
  const { panel, model } = parts.settings;
  const shows = showsParts(caller.request);
  const progress = (...step: Parameters<typeof event>) => onEvent(event(...step));
  caller.scope.state.get(panelState).hasRun = true;
  progress("in_progress");
  for (const member of panel) progress("panel.added", { model: member });
  const outcomes = await collectAnswers(caller, parts, {
    onDelta(member, kind, delta) {
      if (shows) progress(kind === "text" ? "panel.delta" : "panel.reasoning.delta", { model: member, delta });
    },
    over: (outcome) => progress(...ended(outcome, shows)),
  });
  const answers = outcomes.filter(isAnswered);
  const failures = outcomes.filter((outcome): outcome is PanelFailure => !isAnswered(outcome));
  if (answers.length === 0) {
    caller.scope.trace.stages.push(stageOf(parts, outcomes, "skipped"));
    return noAnswers(failures);
  }
  progress("analysis.in_progress", { analyst_model: model, judge_model: model });
  const analysis = await analyseAnswers(answers, caller, parts);
  const last = caller.scope.trace.partNotes.findLast(({ part }) => part === "analyst");
  caller.scope.trace.stages.push(stageOf(parts, outcomes, last?.outcome ?? "failed"));
  return together(answers, failures, analysis, { shows, room: roomOf(caller.request, parts) });
}

/** The last progress events of a fusion item, built from the client's version of the item. */
export function toEndEvents({ status, analysis }: OutputItem): readonly ItemEvent[] {
  if (status !== "completed") return [];
  return [...(analysis === undefined ? [] : [event("analysis.completed", { analysis })]), event("completed")];
}

/** Maximum characters of the panel's answers for the answering model; the lowest such limit among the request's models. */
const roomOf = ({ models }: TurnRequest, { window }: Pick<AnalystDeps, "window">): number =>
  Math.min(...models.map(window)) * outputShare;

function ended(outcome: PanelOutcome, shows: boolean): Parameters<typeof event> {
  const { model } = outcome;
  if (!isAnswered(outcome)) return ["panel.failed", failureOf(outcome)];
  return ["panel.completed", { model, content: shows ? outcome.content : "" }];
}

const failureOf = ({ model, error, status }: PanelFailure) => ({ model, error, status_code: status });

function together(
  answers: readonly PanelAnswer[],
  failures: readonly PanelFailure[],
  analysis: Analysis | undefined,
  { shows, room }: { readonly shows: boolean; readonly room: number },
): FusionResult {
  const sources = distinct(answers.flatMap((answer) => answer.sources));
  const failed_models = failures.map(failureOf);
  const responses = answers.map(({ model, content }) => ({ model, content }));
  const found = analysis && { analysis };
  return {
    item: {
      responses: shows ? responses : answers.map(({ model }) => ({ model })),
      failed_models,
      ...(shows && found),
      ...(shows && { sources }),
    },
    output: toAnalysisText({ ...found, responses, failed_models, sources }, room),
    sources,
    failed: false,
  };
}

/** The result of a successful run, as text for the answering model. */
function toAnalysisText(
  { responses, ...rest }: JsonObject & { readonly responses: readonly JsonObject[] },
  room: number,
) {
  const each = Math.floor(room / responses.length);
  const cut = responses.map((response) => {
    const { content } = response;
    return typeof content === "string" ? { ...response, content: truncateMiddle(content, each) } : response;
  });
  return quoteData(JSON.stringify({ ...rest, responses: cut }));
}

/** The result of an earlier response's run, as text for the answering model. */
export function describeEarlierRun(item: JsonObject, request: TurnRequest, parts: Pick<AnalystDeps, "window">): string {
  const { analysis, responses, failed_models, sources, error, failure_reason } = item;
  if (typeof error === "string") return quoteData(JSON.stringify({ error, failure_reason, failed_models }));
  const known = Array.isArray(responses) ? responses.filter(isObject) : [];
  return toAnalysisText({ analysis, responses: known, failed_models, sources }, roomOf(request, parts));
}

const distinct = (sources: readonly WebSourceLink[]): readonly WebSourceLink[] => [
  ...new Map(sources.map((source) => [source.url, source])).values(),
];

/** Failure reasons by HTTP status. Only a client can act on these two; any other status is reported as a general failure. */
const reasons: Readonly<Record<number, string>> = { 402: "insufficient_credits", 429: "rate_limited" };

function noAnswers(failures: readonly PanelFailure[]): FusionResult {
  const [first] = failures;
  const isAlike = failures.every(({ status }) => status === first?.status);
  const reason = (isAlike ? reasons[first?.status ?? 0] : undefined) ?? "all_panels_failed";
  const error = "No model of the panel has answered";
  const failed = { error, failure_reason: reason, failed_models: failures.map(failureOf) };
  return { item: failed, output: quoteData(JSON.stringify(failed)), sources: [], failed: true };
}

type AnalystOutcome = "answered" | "malformed" | "failed" | "skipped";

function stageOf({ settings }: AnalystDeps, outcomes: readonly PanelOutcome[], analyst: AnalystOutcome): Stage {
  const answered = outcomes.filter(isAnswered).length;
  return {
    type: "plugin",
    name: "fusion",
    summary: `${answered} of ${outcomes.length} answered${analyst === "answered" ? ", compared" : ""}`,
    data: {
      panel: outcomes.map((outcome) => ({
        model: outcome.model,
        outcome: isAnswered(outcome) ? "answered" : "failed",
        ...(!isAnswered(outcome) && { status: outcome.status }),
        tool_calls: outcome.toolCalls,
        ms: outcome.ms,
      })),
      analyst: { model: settings.model, outcome: analyst },
      tools: settings.tools.map(({ kind }) => kind),
      ...(settings.leftOut.length > 0 && { tools_left_out: settings.leftOut }),
    },
  };
}
