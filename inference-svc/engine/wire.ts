/** Converts turn events to protobuf messages. Literals with $typeName give the same bytes as create() at half its cost. */
import type { Fault as FaultMessage } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import {
  type AlteredField,
  type NativeEvent,
  type ServerToolUse as WireToolUse,
  type TurnEnd,
  type TurnEvent as WireEvent,
  TurnStatus,
  type Usage as WireUsage,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { eventCost } from "@sluice/proto/lib/lane/outbox.js";
import type { Cancellable } from "../turn/signal.ts";
import type { DroppedField } from "../turn/trace.ts";
import type { Batch, Outcome, TurnEvent } from "../turn/turn.ts";
import type { ServerToolUse, Usage } from "../turn/usage.ts";

const empty = new Uint8Array(0);

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

export interface WireBatch {
  readonly events: WireEvent[];
  /** Size of the batch, approximately in bytes, which is subtracted from the turn's credit. */
  readonly cost: number;
}

export interface AnswerBatch extends WireBatch {
  /** UTF-16 units of text and arguments in the batch. */
  readonly textUnits: number;
}

/** A turn as the engine sees it: it receives the batches of the answer, and can be cancelled from outside. */
export interface EngineTurn extends Cancellable {
  /** Called when the turn is admitted, before any upstream call. */
  accepted(): void;
  /**
   * Takes the next batch; the last one contains the end. @returns undefined while there is room for more, else a
   * promise that settles once there is
   */
  take(batch: WireBatch, last: boolean): Promise<void> | undefined;
}

/** Converts a batch. @param serviceMetadata returns the JSON for the end of the turn; called only if an end is among the events */
export function toWire(batch: Batch, serviceMetadata: () => Uint8Array): AnswerBatch {
  let cost = 0;
  let textUnits = 0;
  const events: WireEvent[] = [];
  for (const event of batch) {
    const wire = wireEvent(event, serviceMetadata);
    const size = sizeOf(wire);
    cost += eventCost + size;
    if (isText(wire.case)) textUnits += size;
    events.push({ $typeName: "sluice.inference.v1.TurnEvent", event: wire });
  }
  return { events, cost, textUnits };
}

type WireCase = Exclude<WireEvent["event"], { case: undefined }>;

const isText = (word: WireCase["case"]): boolean =>
  word === "textDelta" || word === "argumentsDelta" || word === "reasoningDelta" || word === "summaryDelta";

function sizeOf(event: WireCase): number {
  switch (event.case) {
    case "textDelta":
    case "refusalDelta":
    case "reasoningDelta":
    case "summaryDelta":
      return event.value.delta.length + event.value.logprobsJson.length;
    case "argumentsDelta":
      return event.value.delta.length;
    case "itemStart":
    case "itemEnd":
      return event.value.itemJson.length;
    case "annotation":
      return event.value.annotationJson.length;
    case "debug":
      return event.value.upstreamBodyJson.length;
    case "end":
      return event.value.serviceMetadataJson.length + event.value.alignmentJson.length;
    case "start":
      return event.value.model.length;
    case "native":
      return event.value.payloadJson.length;
    case "usage":
      return 0;
  }
}

const noFields: AlteredField[] = [];
const noNames: string[] = [];

const alteredField = ({ path, reason }: DroppedField): AlteredField => ({
  $typeName: "sluice.inference.v1.AlteredField",
  path,
  reason,
});

const deltaCases = {
  "text.delta": "textDelta",
  "refusal.delta": "refusalDelta",
  "reasoning.delta": "reasoningDelta",
  "summary.delta": "summaryDelta",
} as const;

function wireEvent(event: TurnEvent, serviceMetadata: () => Uint8Array): WireCase {
  switch (event.type) {
    case "text.delta":
    case "refusal.delta":
    case "reasoning.delta":
    case "summary.delta":
      return {
        case: deltaCases[event.type],
        value: {
          $typeName: "sluice.inference.v1.TextDelta",
          index: event.index,
          part: event.part,
          // Replaces lone surrogates: UTF-8 cannot encode them, and some clients reject their JSON escape.
          delta: event.delta.toWellFormed(),
          logprobsJson: event.logprobsJson === undefined ? empty : Buffer.from(event.logprobsJson),
        },
      };
    case "arguments.delta":
      return {
        case: "argumentsDelta",
        value: {
          $typeName: "sluice.inference.v1.ArgumentsDelta",
          index: event.index,
          delta: event.delta.toWellFormed(),
        },
      };
    case "item.start":
      return {
        case: "itemStart",
        value: { $typeName: "sluice.inference.v1.ItemStart", index: event.index, itemJson: json(event.item) },
      };
    case "item.end":
      return {
        case: "itemEnd",
        value: { $typeName: "sluice.inference.v1.ItemEnd", index: event.index, itemJson: json(event.item) },
      };
    case "annotation":
      return {
        case: "annotation",
        value: {
          $typeName: "sluice.inference.v1.Annotation",
          index: event.index,
          part: event.part,
          annotationJson: json(event.annotation),
        },
      };
    case "start":
      return {
        case: "start",
        value: {
          $typeName: "sluice.inference.v1.TurnStart",
          model: event.model,
          inputTokens: event.inputTokens ?? 0,
          alteredFields: event.altered?.map(alteredField) ?? noFields,
          passedFields: event.passed ? [...event.passed] : noNames,
        },
      };
    case "debug":
      return {
        case: "debug",
        value: { $typeName: "sluice.inference.v1.Debug", upstreamBodyJson: Buffer.from(event.bodyJson) },
      };
    case "native":
      return { case: "native", value: wireNative(event) };
    case "end":
      return { case: "end", value: wireEnd(event.outcome, serviceMetadata()) };
  }
}

function wireNative({ name, payloadJson, index }: Extract<TurnEvent, { readonly type: "native" }>): NativeEvent {
  const event: NativeEvent = {
    $typeName: "sluice.inference.v1.NativeEvent",
    type: name,
    payloadJson: Buffer.from(payloadJson),
  };
  if (index !== undefined) event.index = index;
  return event;
}

function wireEnd(outcome: Outcome, serviceMetadataJson: Uint8Array): TurnEnd {
  const end: TurnEnd = {
    $typeName: "sluice.inference.v1.TurnEnd",
    status: outcome.status === "completed" ? TurnStatus.COMPLETED : TurnStatus.INCOMPLETE,
    incompleteReason: outcome.reason ?? "",
    serviceTier: outcome.serviceTier,
    serviceMetadataJson,
    alignmentJson: outcome.alignment ? json(outcome.alignment) : empty,
  };
  if (outcome.detail !== undefined) end.incompleteDetail = outcome.detail;
  if (outcome.stopSequence !== undefined) end.stopSequence = outcome.stopSequence;
  if (outcome.usage) end.usage = wireUsage(outcome.usage);
  return end;
}

/** A batch with the usage of a failed turn. */
export const usageBatch = (usage: Usage): WireBatch => ({
  events: [{ $typeName: "sluice.inference.v1.TurnEvent", event: { case: "usage", value: wireUsage(usage) } }],
  cost: eventCost,
});

function wireUsage(usage: Usage): WireUsage {
  const { cost, serverToolUse } = usage;
  const wire: WireUsage = {
    $typeName: "sluice.inference.v1.Usage",
    inputTokens: usage.inputTokens,
    cachedTokens: usage.cachedTokens,
    cacheWriteTokens: usage.cacheWriteTokens,
    outputTokens: usage.outputTokens,
    reasoningTokens: usage.reasoningTokens,
    estimated: usage.estimated ?? false,
  };
  if (cost) {
    wire.cost = {
      $typeName: "sluice.inference.v1.Cost",
      inputPicoUsd: cost.input,
      outputPicoUsd: cost.output,
      serverToolsPicoUsd: cost.serverTools,
    };
  }
  if (usage.cacheWriteHourTokens !== undefined) wire.cacheWriteHourTokens = usage.cacheWriteHourTokens;
  if (serverToolUse) wire.serverToolUse = wireToolUse(serverToolUse);
  return wire;
}

/** Converts counts of tool uses. Unset fields are omitted, because 0 would mean that no use was counted. */
function wireToolUse(use: ServerToolUse): WireToolUse {
  const wire: WireToolUse = { $typeName: "sluice.inference.v1.ServerToolUse" };
  if (use.webSearchRequests !== undefined) wire.webSearchRequests = use.webSearchRequests;
  if (use.toolCallsRequested !== undefined) wire.toolCallsRequested = use.toolCallsRequested;
  if (use.toolCallsExecuted !== undefined) wire.toolCallsExecuted = use.toolCallsExecuted;
  return wire;
}

/** Approximate size of a fault message in bytes. */
export const faultCost = (fault: FaultMessage): number =>
  eventCost + fault.message.length + fault.metadataJson.length + fault.serviceMetadataJson.length;
