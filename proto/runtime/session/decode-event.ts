/** Decodes the events of a turn: frequent kinds by hand, rare kinds by the schema-driven decoder. */
import {
  type ArgumentsDelta,
  type Cost,
  type TextDelta,
  type TurnEnd,
  type TurnEvent,
  TurnEventSchema,
  type TurnStart,
  type Usage,
} from "../../gen/sluice/inference/v1/turn_pb.ts";
import {
  argumentsDeltaTags,
  costTags,
  deltaTags,
  itemTags,
  textDeltaTags,
  turnEndTags,
  eventTags,
  turnStartTags,
  usageTags,
} from "./tags.ts";
import { type WireReader, none, readBySchema, unfamiliar } from "./wire-reader.ts";

export function readEvent(reader: WireReader, end: number): TurnEvent {
  const start = reader.at;
  if (start === end) throw unfamiliar;
  const event = readKind(reader, reader.varint());
  if (event === undefined) return readBySchema(TurnEventSchema, reader, start, end);
  // The contract lets the last of several kinds win.
  reader.ends(end);
  return { $typeName: "sluice.inference.v1.TurnEvent", event };
}

/** @returns undefined for a rare kind of event, which is left to the schema-driven decoder */
function readKind(reader: WireReader, tag: number): TurnEvent["event"] | undefined {
  switch (tag) {
    case deltaTags.textDelta:
      return { case: "textDelta", value: readText(reader, reader.end()) };
    case deltaTags.refusalDelta:
      return { case: "refusalDelta", value: readText(reader, reader.end()) };
    case deltaTags.reasoningDelta:
      return { case: "reasoningDelta", value: readText(reader, reader.end()) };
    case deltaTags.summaryDelta:
      return { case: "summaryDelta", value: readText(reader, reader.end()) };
    case eventTags.argumentsDelta:
      return { case: "argumentsDelta", value: readArguments(reader, reader.end()) };
    case eventTags.start:
      return { case: "start", value: readStart(reader, reader.end()) };
    case eventTags.itemStart:
      return { case: "itemStart", value: readItem(reader, reader.end(), "sluice.inference.v1.ItemStart") };
    case eventTags.itemEnd:
      return { case: "itemEnd", value: readItem(reader, reader.end(), "sluice.inference.v1.ItemEnd") };
    case eventTags.end:
      return { case: "end", value: readEnd(reader, reader.end()) };
    default:
      return undefined;
  }
}

function readText(reader: WireReader, end: number): TextDelta {
  let index = 0;
  let part = 0;
  let delta = "";
  let logprobsJson = none;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === textDeltaTags.index) index = reader.varint();
    else if (tag === textDeltaTags.part) part = reader.varint();
    else if (tag === textDeltaTags.delta) delta = reader.string();
    else if (tag === textDeltaTags.logprobsJson) logprobsJson = reader.counted();
    else throw unfamiliar;
  }
  reader.ends(end);
  return { $typeName: "sluice.inference.v1.TextDelta", index, part, delta, logprobsJson };
}

function readArguments(reader: WireReader, end: number): ArgumentsDelta {
  let index = 0;
  let delta = "";
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === argumentsDeltaTags.index) index = reader.varint();
    else if (tag === argumentsDeltaTags.delta) delta = reader.string();
    else throw unfamiliar;
  }
  reader.ends(end);
  return { $typeName: "sluice.inference.v1.ArgumentsDelta", index, delta };
}

function readStart(reader: WireReader, end: number): TurnStart {
  let model = "";
  let inputTokens = 0;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === turnStartTags.model) model = reader.string();
    else if (tag === turnStartTags.inputTokens) inputTokens = reader.varint();
    else throw unfamiliar;
  }
  reader.ends(end);
  return { $typeName: "sluice.inference.v1.TurnStart", model, inputTokens, alteredFields: [] };
}

function readItem<Name extends string>(reader: WireReader, end: number, $typeName: Name) {
  let index = 0;
  let itemJson = none;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === itemTags.index) index = reader.varint();
    else if (tag === itemTags.itemJson) itemJson = reader.counted();
    else throw unfamiliar;
  }
  reader.ends(end);
  return { $typeName, index, itemJson };
}

function readEnd(reader: WireReader, end: number): TurnEnd {
  const value = {
    $typeName: "sluice.inference.v1.TurnEnd",
    status: 0,
    incompleteReason: "",
    usage: undefined as Usage | undefined,
    serviceTier: "",
    serviceMetadataJson: none,
    alignmentJson: none,
    stopSequence: undefined as string | undefined,
    incompleteDetail: undefined as string | undefined,
  };
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === turnEndTags.status) value.status = reader.int32();
    else if (tag === turnEndTags.incompleteReason) value.incompleteReason = reader.string();
    else if (tag === turnEndTags.serviceTier) value.serviceTier = reader.string();
    else if (tag === turnEndTags.serviceMetadataJson) value.serviceMetadataJson = reader.counted();
    else if (tag === turnEndTags.alignmentJson) value.alignmentJson = reader.counted();
    else if (tag === turnEndTags.stopSequence) value.stopSequence = reader.string();
    else if (tag === turnEndTags.incompleteDetail) value.incompleteDetail = reader.string();
    else if (tag === turnEndTags.usage && !value.usage) value.usage = readUsage(reader, reader.end());
    else throw unfamiliar;
  }
  reader.ends(end);
  // The types leave out undefined for an optional field, and the numbers of later builds for an enum.
  return value as unknown as TurnEnd;
}

function readUsage(reader: WireReader, end: number): Usage {
  const value = {
    $typeName: "sluice.inference.v1.Usage",
    inputTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    reasoningTokens: 0,
    serverToolUse: undefined,
    cost: undefined,
    estimated: false,
    cacheWriteHourTokens: undefined,
    // The types of optional fields leave undefined out.
  } as unknown as Usage;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === usageTags.inputTokens) value.inputTokens = reader.varint();
    else if (tag === usageTags.cachedTokens) value.cachedTokens = reader.varint();
    else if (tag === usageTags.cacheWriteTokens) value.cacheWriteTokens = reader.varint();
    else if (tag === usageTags.outputTokens) value.outputTokens = reader.varint();
    else if (tag === usageTags.reasoningTokens) value.reasoningTokens = reader.varint();
    else if (tag === usageTags.estimated) value.estimated = reader.bool();
    else if (tag === usageTags.cacheWriteHourTokens) value.cacheWriteHourTokens = reader.varint();
    else if (tag === usageTags.cost && !value.cost) value.cost = readCost(reader, reader.end());
    else throw unfamiliar;
  }
  reader.ends(end);
  return value;
}

function readCost(reader: WireReader, end: number): Cost {
  let inputPicoUsd = 0n;
  let outputPicoUsd = 0n;
  let serverToolsPicoUsd = 0n;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === costTags.inputPicoUsd) inputPicoUsd = reader.uint64();
    else if (tag === costTags.outputPicoUsd) outputPicoUsd = reader.uint64();
    else if (tag === costTags.serverToolsPicoUsd) serverToolsPicoUsd = reader.uint64();
    else throw unfamiliar;
  }
  reader.ends(end);
  return { $typeName: "sluice.inference.v1.Cost", inputPicoUsd, outputPicoUsd, serverToolsPicoUsd };
}
