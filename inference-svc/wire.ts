/** Turn events as protobuf messages. Literals with $typeName are the same bytes as create() at half its price. */
import type { Fault as FaultMessage } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import { type TurnEvent as WireEvent, TurnStatus } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Batch, Outcome, TurnEvent, Usage } from "./turn/turn.ts";

const empty = new Uint8Array(0);
/** An event in the gateway and in its stream to a client: what bounds the memory of slow readers is its size there, some ten times that on the wire. */
const overheadBytes = 200;

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

export interface WireBatch {
  readonly events: WireEvent[];
  /** What is charged against the turn's credit: about the size in bytes. */
  readonly cost: number;
}

/** Takes what a turn says. */
export interface TurnSink {
  /** The turn is admitted, and an upstream may be asked. */
  accepted(): void;
  /** The next batch; the last one carries the end. Settles when there is room for more; undefined: there is. */
  take(batch: WireBatch, last: boolean): Promise<void> | undefined;
}

/** @param serviceMetadata the JSON that the end of the turn carries; called only when an end is among the events */
export function toWire(batch: Batch, serviceMetadata: () => Uint8Array): WireBatch {
  let cost = 0;
  const events: WireEvent[] = [];
  for (const event of batch) {
    const wire = wireEvent(event, serviceMetadata);
    cost += overheadBytes + sizeOf(wire);
    events.push({ $typeName: "sluice.inference.v1.TurnEvent", event: wire });
  }
  return { events, cost };
}

type WireCase = Exclude<WireEvent["event"], { case: undefined }>;

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
          delta: event.delta,
          logprobsJson: event.logprobsJson === undefined ? empty : Buffer.from(event.logprobsJson),
        },
      };
    case "arguments.delta":
      return {
        case: "argumentsDelta",
        value: { $typeName: "sluice.inference.v1.ArgumentsDelta", index: event.index, delta: event.delta },
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
      return { case: "start", value: { $typeName: "sluice.inference.v1.TurnStart", model: event.model } };
    case "debug":
      return {
        case: "debug",
        value: { $typeName: "sluice.inference.v1.Debug", upstreamBodyJson: Buffer.from(event.bodyJson) },
      };
    case "native":
      return {
        case: "native",
        value: {
          $typeName: "sluice.inference.v1.NativeEvent",
          type: event.name,
          payloadJson: Buffer.from(event.payloadJson),
          ...(event.index !== undefined && { index: event.index }),
        },
      };
    case "end":
      return { case: "end", value: wireEnd(event.outcome, serviceMetadata()) };
  }
}

function wireEnd(outcome: Outcome, serviceMetadataJson: Uint8Array) {
  return {
    $typeName: "sluice.inference.v1.TurnEnd" as const,
    status: outcome.status === "completed" ? TurnStatus.COMPLETED : TurnStatus.INCOMPLETE,
    incompleteReason: outcome.reason ?? "",
    serviceTier: outcome.serviceTier,
    serviceMetadataJson,
    alignmentJson: outcome.alignment ? json(outcome.alignment) : empty,
    ...(outcome.usage && { usage: wireUsage(outcome.usage) }),
  };
}

/** What a turn consumed before it fails. */
export const usageBatch = (usage: Usage): WireBatch => ({
  events: [{ $typeName: "sluice.inference.v1.TurnEvent", event: { case: "usage", value: wireUsage(usage) } }],
  cost: overheadBytes,
});

const wireUsage = ({ serverToolUse, cost, ...usage }: Usage) => ({
  $typeName: "sluice.inference.v1.Usage" as const,
  inputTokens: usage.inputTokens,
  cachedTokens: usage.cachedTokens,
  cacheWriteTokens: usage.cacheWriteTokens,
  outputTokens: usage.outputTokens,
  reasoningTokens: usage.reasoningTokens,
  estimated: usage.estimated ?? false,
  ...(cost && {
    cost: {
      $typeName: "sluice.inference.v1.Cost" as const,
      inputPicoUsd: cost.input,
      outputPicoUsd: cost.output,
      serverToolsPicoUsd: cost.serverTools,
    },
  }),
  ...(serverToolUse && {
    serverToolUse: { $typeName: "sluice.inference.v1.ServerToolUse" as const, ...serverToolUse },
  }),
});

/** About the size of a fault on the wire. */
export const faultCost = (fault: FaultMessage): number =>
  overheadBytes + fault.message.length + fault.metadataJson.length + fault.serviceMetadataJson.length;
