/**
 * The plugin `fusion`, for `service/fusion`: a panel of models answers before the answering model. The response
 * contains an item for the panel, and then the answer.
 */
import type { FusionPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { toEndEvents, runFusion } from "./run.ts";
import { type FusionSettings, type SettingsParts, settingsOf } from "./settings.ts";
import { pluginOptions } from "./fusion-options.ts";
import type { AnalystDeps } from "./analyst.ts";
import { findTextPositions } from "../../content/text-places.ts";
import { blockedEndEvent, toFinalFault } from "../../agent-loop/loop/final-failure.ts";
import { scanOutputs, scanItem } from "../../agent-loop/loop/scanned-results.ts";
import { CollectedAnswer, toGeneratedAnswer, holdUntilCommit } from "../../turn/answer-kinds.ts";
import { ProgressBuffer, toNativeEvent } from "../../turn/progress-buffer.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { Answer, Batch, Layer, OutputItem, Turn, TurnEvent } from "../../turn/turn.ts";
import type { CallingFeature, Feature, Kit } from "../kit.ts";
import { fusionSlug, namesFusion } from "../slugs.ts";
import { applies } from "../applies.ts";

/** Feature that replaces the slug with the answering model. */
export const fusionModel: Feature = {
  id: "fusion",
  applies: applies.fusionModel,
  layer: ({ fusionSettings }) =>
    requestLayer((request, scope) => {
      if (!namesFusion(request)) return request;
      const [first = "", ...others] = request.models;
      const found = fusionSlug.exec(first);
      if (!found || others.some((model) => fusionSlug.test(model))) {
        throw invalid("models", "service/fusion can only be the first: no panel stands behind another model");
      }
      const { model } = settingsOf([pluginOptions(request.plugins?.fusion)], fusionSettings, scope);
      scope.trace.strategy = "fusion";
      return { ...request, models: [...new Set([`${model}${found[1] ?? ""}`, ...others])], fused: true };
    }),
  texts: ({ fusion }) => (fusion ? toolTexts(fusion).map((text) => ({ text })) : []),
};

/** Feature that runs the panel before the model answers. */
export const fusionPanel: CallingFeature = {
  id: "fusion",
  applies: applies.fusionPanel,
  layer: ({ fusion, guards, gates }) =>
    panel(fusion.settings, (settings, next, request, scope) => {
      const answer = toGeneratedAnswer(answeredAfter({ ...fusion, guards, gates, settings }, next, request, scope));
      return request.stream ? holdUntilCommit(answer) : new CollectedAnswer(answer);
    }),
  dryRun: ({ fusionSettings }) =>
    panel(fusionSettings, (settings, next, request, scope) => {
      scope.trace.stages.push(notRun(settings));
      return next(request, scope);
    }),
};

/** The strings in the settings of the panel's tools, for guardrails: providers and search engines receive them. */
function toolTexts({ toolsJson }: FusionPlugin): readonly string[] {
  if (toolsJson.length === 0) return [];
  const tools = JSON.parse(Buffer.from(toolsJson).toString()) as readonly InputItem[];
  return tools.flatMap((tool) => [...findTextPositions(tool)].map(({ text }) => text));
}

type RunPanel = (settings: FusionSettings, next: Turn, request: TurnRequest, scope: Scope) => ReturnType<Turn>;

const panel =
  (parts: SettingsParts, run: RunPanel): Layer =>
  (next) =>
  (request, scope) => {
    if (!request.fused) return next(request, scope);
    const { fused: _, ...answering } = request;
    if (!isNewRequest(request.input)) return next(answering, scope);
    const settings = settingsOf([pluginOptions(request.plugins?.fusion)], parts, scope);
    return run(settings, next, answering, scope);
  };

const itemType = "service:fusion";

/** Whether the panel must run. False for a request that continues after a call of the client's functions: its panel has already answered. */
const isNewRequest = (input: readonly InputItem[]): boolean => {
  const last = input.at(-1);
  return last?.type === "message" && last["role"] !== "assistant";
};

/** Output index of the panel's item, the first of the response. */
const place = 0;

async function* answeredAfter(
  parts: AnalystDeps & Pick<Kit, "guards" | "gates">,
  next: Turn,
  request: TurnRequest,
  scope: Scope,
): AsyncGenerator<Batch> {
  const [model = ""] = request.models;
  const id = newId("fu_");
  const { stream } = request;
  const relay = new ProgressBuffer();
  yield [
    { type: "start", model },
    ...(stream
      ? [{ type: "item.start" as const, index: place, item: { type: itemType, id, status: "in_progress" } }]
      : []),
  ];
  try {
    const running = runFusion({ request, scope }, parts, (event) => {
      if (stream) relay.push(event);
    });
    yield* relay.drainUntil(running, place);
    const { item, output: answers, sources, failed } = await running;
    const whole: OutputItem = { type: itemType, id, status: failed ? "incomplete" : "completed", ...item };
    const shown = await scanItem(whole, parts.gates, { request, scope });
    yield [
      ...(stream ? toEndEvents(shown).map((event) => toNativeEvent(place, event)) : []),
      { type: "item.end" as const, index: place, item: shown },
    ];
    const added: InputItem[] = [toOutputItem(answers, failed)];
    await scanOutputs(added, parts.guards, { request, scope });
    const answering = {
      ...request,
      input: [...request.input, ...added],
      sources: [...(request.sources ?? []), ...sources],
    };
    yield* behind(next(answering, scope), model);
  } catch (error) {
    // A retry would pay for another panel, after this one is already paid for.
    const fault = toFinalFault(error);
    const end = stream ? blockedEndEvent(fault, scope.trace.usage) : undefined;
    if (end === undefined) throw fault;
    yield [end];
  }
}

/** Moves the items of the answer behind the panel's item, by their output index. */
async function* behind(batches: Answer, model: string): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    const moved = batch.flatMap((event): TurnEvent[] => {
      // A debug event is valid only before all other events, and the panel's item has already begun.
      if (event.type === "debug" || (event.type === "start" && event.model === model)) return [];
      return "index" in event && event.index !== undefined ? [{ ...event, index: event.index + place + 1 }] : [event];
    });
    if (moved.length > 0) yield moved;
  }
}

const answered =
  "Other models have answered the request above independently of each other; what follows are their answers as JSON, compared where that was possible. Write the answer to the request now, in your own words: " +
  "keep what they agree on, decide by reasons where they contradict each other, keep what only one of them has seen if it holds, and fill what they have missed. Give the URLs of sources that matter. Speak to the user, not of these models or of this message.";

const unanswered =
  "Other models were asked to answer the request above first, and none of them could; what follows says why. Answer the request by yourself.";

const toOutputItem = (output: string, failed: boolean): InputItem => ({
  type: "message",
  role: "user",
  content: `${failed ? unanswered : answered}\n\n${output}`,
});

const notRun = ({ panel, model }: FusionSettings) => ({
  type: "plugin",
  name: "fusion",
  summary: "Not run: a dry run asks no model",
  data: {
    panel: panel.map((member) => ({ model: member, outcome: "not_run" })),
    analyst: { model, outcome: "not_run" },
  },
});
