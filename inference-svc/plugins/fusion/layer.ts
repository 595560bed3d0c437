/** Has a panel answer before the model does, where `service/fusion` was asked for: one response, with an item for the panel and the answer behind it. */
import { newId } from "@sluice/proto/runtime/id.js";
import { type RunParts, ending, fused } from "../../fusion/run.ts";
import { type FusionSettings, settingsOf } from "../../fusion/settings.ts";
import { pluginWishes } from "../../fusion/wishes.ts";
import type { AnalystParts } from "../../fusion/analyst.ts";
import { settled } from "../../guardrails/output/layer.ts";
import { cutShort, irrevocable } from "../../tools/failure.ts";
import { whole } from "../../tools/loop.ts";
import { checkedOutputs, shownItem } from "../../tools/results.ts";
import { Relay, told } from "../../turn/relay.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Batch, Layer, OutputItem, Turn, TurnEvent } from "../../turn/turn.ts";

export type FusionParts = RunParts & {
  /** What every text is looked at by before a model reads it: what the panel says is one. */
  readonly guards: readonly Layer[];
  /** What every answer is looked at by before the client gets it: what the panel says is a part of it. */
  readonly gates: readonly Layer[];
};

const itemType = "service:fusion";

export const fusion =
  (parts: FusionParts): Layer =>
  (next) =>
  async (request, scope) => {
    if (!request.fused) return next(request, scope);
    const { fused: _, ...answering } = request;
    if (!asksAnew(request.input)) return next(answering, scope);
    const settings = settingsOf([pluginWishes(request.plugins?.fusion)], parts.settings, scope);
    if (scope.dryRun) {
      scope.trace.stages.push(notRun(settings));
      return next(answering, scope);
    }
    const batches = answeredAfter({ ...parts, settings }, next, answering, scope);
    return request.stream ? settled(batches) : whole(batches);
  };

/** What goes on after a call of the client's functions was asked before: its panel has answered then. */
const asksAnew = (input: readonly InputItem[]): boolean => {
  const last = input.at(-1);
  return last?.type === "message" && last["role"] !== "assistant";
};

/** The item of the panel is the first. */
const place = 0;

async function* answeredAfter(
  parts: AnalystParts & Pick<FusionParts, "guards" | "gates">,
  next: Turn,
  request: TurnRequest,
  scope: Scope,
): AsyncGenerator<Batch> {
  const [model = ""] = request.models;
  const id = newId("fu_");
  const { stream } = request;
  const relay = new Relay();
  yield [
    { type: "start", model },
    ...(stream
      ? [{ type: "item.start" as const, index: place, item: { type: itemType, id, status: "in_progress" } }]
      : []),
  ];
  try {
    const running = fused({ request, scope }, parts, (event) => {
      if (stream) relay.push(event);
    });
    yield* relay.until(running, place);
    const { item, told: answers, sources, failed } = await running;
    const whole: OutputItem = { type: itemType, id, status: failed ? "incomplete" : "completed", ...item };
    const shown = await shownItem(whole, parts.gates, { request, scope });
    yield [
      ...(stream ? ending(shown).map((event) => told(place, event)) : []),
      { type: "item.end" as const, index: place, item: shown },
    ];
    const added: InputItem[] = [toldItem(answers, failed)];
    await checkedOutputs(added, parts.guards, { request, scope });
    const answering = {
      ...request,
      input: [...request.input, ...added],
      sources: [...(request.sources ?? []), ...sources],
    };
    yield* behind(await next(answering, scope), model);
  } catch (error) {
    // The panel is paid for: whoever asks again pays for another.
    const fault = irrevocable(error);
    const end = stream ? cutShort(fault, scope.trace.usage) : undefined;
    if (end === undefined) throw fault;
    yield [end];
  }
}

/** The items of the answer come after that of the panel. */
async function* behind(batches: AsyncIterable<Batch>, model: string): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    const moved = batch.flatMap((event): TurnEvent[] => {
      // What was sent is told before anything else, or not at all.
      if (event.type === "debug" || (event.type === "start" && event.model === model)) return [];
      return "index" in event && event.index !== undefined ? [{ ...event, index: event.index + place + 1 }] : [event];
    });
    if (moved.length > 0) yield moved;
  }
}

const answered =
  "Other models have answered the request above independently of each other; what follows are their answers as JSON, compared where that was possible. Write the answer to the request now, in your own words: " +
  "keep what they agree on, decide by reasons where they contradict each other, keep what only one of them has seen if it holds, and fill what they have missed. Give the URLs of sources that matter. Speak to whoever has asked, not of these models or of this message.";

const unanswered =
  "Other models were asked to answer the request above first, and none of them could; what follows says why. Answer the request by yourself.";

const toldItem = (told: string, failed: boolean): InputItem => ({
  type: "message",
  role: "user",
  content: `${failed ? unanswered : answered}\n\n${told}`,
});

const notRun = ({ panel, model }: FusionSettings) => ({
  type: "plugin",
  name: "fusion",
  summary: "Not run: a dry run asks nobody",
  data: {
    panel: panel.map((member) => ({ model: member, outcome: "not_run" })),
    analyst: { model, outcome: "not_run" },
  },
});
