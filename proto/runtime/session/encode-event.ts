/** Encodes the events of a turn: frequent kinds by hand, rare kinds by the schema-driven encoder. */
import { toBinary } from "@bufbuild/protobuf";
import {
  type ArgumentsDelta,
  type ItemEnd,
  type ItemStart,
  ServerToolUseSchema,
  type TextDelta,
  type TurnEnd,
  type TurnEvent,
  TurnEventSchema,
  type Usage,
} from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { BackwardWriter } from "./backward-writer.ts";
import {
  bytesField,
  closePart,
  flagField,
  longField,
  numberField,
  presentNumber,
  presentText,
  textField,
} from "./fields.ts";
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

/** @throws when the contract cannot express the event */
export function writeEvent(writer: BackwardWriter, message: TurnEvent): void {
  const { event } = message;
  const end = writer.length;
  switch (event.case) {
    case "textDelta":
    case "refusalDelta":
    case "reasoningDelta":
    case "summaryDelta":
      writeText(writer, event.value);
      return closePart(writer, end, deltaTags[event.case]);
    case "argumentsDelta":
      writeArguments(writer, event.value);
      return closePart(writer, end, eventTags.argumentsDelta);
    case "start":
      if (event.value.alteredFields.length > 0) return writer.bytes(toBinary(TurnEventSchema, message));
      numberField(writer, event.value.inputTokens, turnStartTags.inputTokens);
      textField(writer, event.value.model, turnStartTags.model);
      return closePart(writer, end, eventTags.start);
    case "itemStart":
    case "itemEnd":
      writeItem(writer, event.value);
      return closePart(writer, end, eventTags[event.case]);
    case "end":
      writeEnd(writer, event.value);
      return closePart(writer, end, eventTags.end);
    default:
      writer.bytes(toBinary(TurnEventSchema, message));
  }
}

function writeText(writer: BackwardWriter, { index, part, delta, logprobsJson }: TextDelta): void {
  bytesField(writer, logprobsJson, textDeltaTags.logprobsJson);
  textField(writer, delta, textDeltaTags.delta);
  numberField(writer, part, textDeltaTags.part);
  numberField(writer, index, textDeltaTags.index);
}

function writeArguments(writer: BackwardWriter, { index, delta }: ArgumentsDelta): void {
  textField(writer, delta, argumentsDeltaTags.delta);
  numberField(writer, index, argumentsDeltaTags.index);
}

function writeItem(writer: BackwardWriter, { index, itemJson }: ItemStart | ItemEnd): void {
  bytesField(writer, itemJson, itemTags.itemJson);
  numberField(writer, index, itemTags.index);
}

function writeEnd(writer: BackwardWriter, value: TurnEnd): void {
  presentText(writer, value.incompleteDetail, turnEndTags.incompleteDetail);
  presentText(writer, value.stopSequence, turnEndTags.stopSequence);
  bytesField(writer, value.alignmentJson, turnEndTags.alignmentJson);
  bytesField(writer, value.serviceMetadataJson, turnEndTags.serviceMetadataJson);
  textField(writer, value.serviceTier, turnEndTags.serviceTier);
  if (value.usage) {
    const end = writer.length;
    writeUsage(writer, value.usage);
    closePart(writer, end, turnEndTags.usage);
  }
  textField(writer, value.incompleteReason, turnEndTags.incompleteReason);
  numberField(writer, value.status, turnEndTags.status);
}

function writeUsage(writer: BackwardWriter, value: Usage): void {
  if (value.cacheWriteHourTokens !== undefined) {
    presentNumber(writer, value.cacheWriteHourTokens, usageTags.cacheWriteHourTokens);
  }
  flagField(writer, value.estimated, usageTags.estimated);
  if (value.cost) {
    const end = writer.length;
    writeCost(writer, value.cost);
    closePart(writer, end, usageTags.cost);
  }
  if (value.serverToolUse) bytesOf(writer, toBinary(ServerToolUseSchema, value.serverToolUse), usageTags.serverToolUse);
  numberField(writer, value.reasoningTokens, usageTags.reasoningTokens);
  numberField(writer, value.outputTokens, usageTags.outputTokens);
  numberField(writer, value.cacheWriteTokens, usageTags.cacheWriteTokens);
  numberField(writer, value.cachedTokens, usageTags.cachedTokens);
  numberField(writer, value.inputTokens, usageTags.inputTokens);
}

/** Writes a message that is present even if it is empty. */
function bytesOf(writer: BackwardWriter, value: Uint8Array, tag: number): void {
  const end = writer.length;
  writer.bytes(value);
  closePart(writer, end, tag);
}

function writeCost(writer: BackwardWriter, value: NonNullable<Usage["cost"]>): void {
  longField(writer, value.serverToolsPicoUsd, costTags.serverToolsPicoUsd);
  longField(writer, value.outputPicoUsd, costTags.outputPicoUsd);
  longField(writer, value.inputPicoUsd, costTags.inputPicoUsd);
}
