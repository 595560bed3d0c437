/** Encodes the fields of a RunTurnRequest that are no messages. */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { BackwardWriter } from "./backward-writer.ts";
import {
  bytesField,
  flagField,
  presentDouble,
  presentFlag,
  presentNumber,
  presentText,
  textField,
  textsField,
} from "./fields.ts";
import { turnRequestTags as tags } from "./tags.ts";

/** Below this size, a copy costs less than a second write. */
const minInputBytes = 65_536;

/** Whether a request has nothing but the fields that are written here. */
export function isPlain(request: RunTurnRequest): boolean {
  // A loop, because it ends at the first key without an array of all of them.
  for (const _ in request.metadata) return false;
  for (const _ in request.logitBias) return false;
  return (
    request.provider === undefined &&
    request.cacheControl === undefined &&
    request.plugins.length === 0 &&
    request.unknownFields.length === 0 &&
    request.$unknown === undefined &&
    isUnsigned(request.maxOutputTokens) &&
    isUnsigned(request.topK) &&
    isUnsigned(request.topLogprobs) &&
    isUnsigned(request.maxToolCalls) &&
    isShortSeed(request.seed)
  );
}

/** A negative number has ten bytes on the wire. */
const isUnsigned = (value: number | undefined): boolean => value === undefined || (value >= 0 && value <= 0x7fff_ffff);

const isShortSeed = (seed: bigint | undefined): boolean => seed === undefined || (seed >= 0n && seed <= maxSafe);
const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

/** Writes the input before all other fields, which makes it the last one of the message. */
export function writeTurnRequest(writer: BackwardWriter, request: RunTurnRequest): void {
  writeInput(writer, request.inputJson);
  writeJson(writer, request);
  writeTexts(writer, request);
  writeNumbers(writer, request);
}

function writeInput(writer: BackwardWriter, input: Uint8Array): void {
  if (input.length < minInputBytes || writer.length > 0) return bytesField(writer, input, tags.inputJson);
  writer.follow(input);
  writer.varint(input.length);
  writer.varint(tags.inputJson);
}

function writeJson(writer: BackwardWriter, request: RunTurnRequest): void {
  bytesField(writer, request.contextManagementJson, tags.contextManagementJson);
  bytesField(writer, request.predictionJson, tags.predictionJson);
  bytesField(writer, request.stopServerToolsWhenJson, tags.stopServerToolsWhenJson);
  bytesField(writer, request.traceJson, tags.traceJson);
  bytesField(writer, request.promptCacheOptionsJson, tags.promptCacheOptionsJson);
  bytesField(writer, request.imageConfigJson, tags.imageConfigJson);
  bytesField(writer, request.reasoningJson, tags.reasoningJson);
  bytesField(writer, request.textFormatJson, tags.textFormatJson);
  bytesField(writer, request.toolChoiceJson, tags.toolChoiceJson);
  bytesField(writer, request.toolsJson, tags.toolsJson);
}

function writeTexts(writer: BackwardWriter, request: RunTurnRequest): void {
  textField(writer, request.door, tags.door);
  textsField(writer, request.anthropicBetas, tags.anthropicBetas);
  textsField(writer, request.stop, tags.stop);
  textField(writer, request.truncation, tags.truncation);
  textField(writer, request.serviceTier, tags.serviceTier);
  presentText(writer, request.promptCacheKey, tags.promptCacheKey);
  presentText(writer, request.sessionId, tags.sessionId);
  presentText(writer, request.safetyIdentifier, tags.safetyIdentifier);
  presentText(writer, request.user, tags.user);
  textsField(writer, request.modalities, tags.modalities);
  textsField(writer, request.include, tags.include);
  textField(writer, request.textVerbosity, tags.textVerbosity);
  presentText(writer, request.instructions, tags.instructions);
  textsField(writer, request.models, tags.models);
  textField(writer, request.model, tags.model);
}

function writeNumbers(writer: BackwardWriter, request: RunTurnRequest): void {
  if (request.seed !== undefined) writeSeed(writer, Number(request.seed));
  flagField(writer, request.serviceMetadata, tags.serviceMetadata);
  flagField(writer, request.echoUpstreamBody, tags.echoUpstreamBody);
  presentNumber(writer, request.maxToolCalls, tags.maxToolCalls);
  presentFlag(writer, request.parallelToolCalls, tags.parallelToolCalls);
  presentNumber(writer, request.topLogprobs, tags.topLogprobs);
  presentDouble(writer, request.presencePenalty, tags.presencePenalty);
  presentDouble(writer, request.frequencyPenalty, tags.frequencyPenalty);
  presentNumber(writer, request.topK, tags.topK);
  presentDouble(writer, request.topP, tags.topP);
  presentDouble(writer, request.temperature, tags.temperature);
  presentNumber(writer, request.maxOutputTokens, tags.maxOutputTokens);
  flagField(writer, request.stream, tags.stream);
}

/** @param seed a whole number from 0 to 2^53 - 1 */
function writeSeed(writer: BackwardWriter, seed: number): void {
  writer.varint(seed);
  writer.varint(tags.seed);
}
