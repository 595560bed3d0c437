/** Decodes the fields of a RunTurnRequest that are no messages. */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { turnRequestTags as tags } from "./tags.ts";
import { type WireReader, none } from "./wire-reader.ts";

/** @returns undefined for a request with another field, within which the reader then has stopped */
export function readTurnRequest(reader: WireReader, end: number): RunTurnRequest | undefined {
  const request = emptyRequest();
  while (reader.at < end) {
    const tag = reader.varint();
    if (!readText(reader, tag, request) && !readNumber(reader, tag, request) && !readJson(reader, tag, request)) return;
  }
  reader.ends(end);
  return request;
}

/** All fields are set, in one order: objects of one shape are read faster wherever they go. */
const emptyRequest = (): RunTurnRequest =>
  ({
    $typeName: "sluice.inference.v1.RunTurnRequest",
    model: "",
    models: [],
    inputJson: none,
    instructions: undefined,
    stream: false,
    maxOutputTokens: undefined,
    temperature: undefined,
    topP: undefined,
    topK: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    topLogprobs: undefined,
    parallelToolCalls: undefined,
    toolsJson: none,
    toolChoiceJson: none,
    textFormatJson: none,
    textVerbosity: "",
    reasoningJson: none,
    include: [],
    maxToolCalls: undefined,
    metadata: {},
    modalities: [],
    user: undefined,
    safetyIdentifier: undefined,
    sessionId: undefined,
    promptCacheKey: undefined,
    serviceTier: "",
    echoUpstreamBody: false,
    serviceMetadata: false,
    truncation: "",
    imageConfigJson: none,
    cacheControl: undefined,
    promptCacheOptionsJson: none,
    traceJson: none,
    stopServerToolsWhenJson: none,
    provider: undefined,
    plugins: [],
    unknownFields: [],
    stop: [],
    seed: undefined,
    logitBias: {},
    predictionJson: none,
    anthropicBetas: [],
    contextManagementJson: none,
    door: "",
    // The types of optional fields leave undefined out.
  }) as unknown as RunTurnRequest;

/** @returns false when the field is of another kind, and was not read */
function readText(reader: WireReader, tag: number, request: RunTurnRequest): boolean {
  if (tag === tags.model) request.model = reader.string();
  else if (tag === tags.models) request.models.push(reader.string());
  else if (tag === tags.instructions) request.instructions = reader.string();
  else if (tag === tags.textVerbosity) request.textVerbosity = reader.string();
  else if (tag === tags.include) request.include.push(reader.string());
  else if (tag === tags.modalities) request.modalities.push(reader.string());
  else if (tag === tags.user) request.user = reader.string();
  else if (tag === tags.safetyIdentifier) request.safetyIdentifier = reader.string();
  else if (tag === tags.sessionId) request.sessionId = reader.string();
  else if (tag === tags.promptCacheKey) request.promptCacheKey = reader.string();
  else if (tag === tags.serviceTier) request.serviceTier = reader.string();
  else if (tag === tags.truncation) request.truncation = reader.string();
  else if (tag === tags.stop) request.stop.push(reader.string());
  else if (tag === tags.anthropicBetas) request.anthropicBetas.push(reader.string());
  else if (tag === tags.door) request.door = reader.string();
  else return false;
  return true;
}

/** @returns false when the field is of another kind, and was not read */
function readNumber(reader: WireReader, tag: number, request: RunTurnRequest): boolean {
  if (tag === tags.stream) request.stream = reader.bool();
  else if (tag === tags.maxOutputTokens) request.maxOutputTokens = reader.int32();
  else if (tag === tags.temperature) request.temperature = reader.double();
  else if (tag === tags.topP) request.topP = reader.double();
  else if (tag === tags.topK) request.topK = reader.int32();
  else if (tag === tags.frequencyPenalty) request.frequencyPenalty = reader.double();
  else if (tag === tags.presencePenalty) request.presencePenalty = reader.double();
  else if (tag === tags.topLogprobs) request.topLogprobs = reader.int32();
  else if (tag === tags.parallelToolCalls) request.parallelToolCalls = reader.bool();
  else if (tag === tags.maxToolCalls) request.maxToolCalls = reader.int32();
  else if (tag === tags.echoUpstreamBody) request.echoUpstreamBody = reader.bool();
  else if (tag === tags.serviceMetadata) request.serviceMetadata = reader.bool();
  else if (tag === tags.seed) request.seed = reader.uint64();
  else return false;
  return true;
}

/** @returns false when the field is of another kind, and was not read */
function readJson(reader: WireReader, tag: number, request: RunTurnRequest): boolean {
  if (tag === tags.inputJson) request.inputJson = reader.counted();
  else if (tag === tags.toolsJson) request.toolsJson = reader.counted();
  else if (tag === tags.toolChoiceJson) request.toolChoiceJson = reader.counted();
  else if (tag === tags.textFormatJson) request.textFormatJson = reader.counted();
  else if (tag === tags.reasoningJson) request.reasoningJson = reader.counted();
  else if (tag === tags.imageConfigJson) request.imageConfigJson = reader.counted();
  else if (tag === tags.promptCacheOptionsJson) request.promptCacheOptionsJson = reader.counted();
  else if (tag === tags.traceJson) request.traceJson = reader.counted();
  else if (tag === tags.stopServerToolsWhenJson) request.stopServerToolsWhenJson = reader.counted();
  else if (tag === tags.predictionJson) request.predictionJson = reader.counted();
  else if (tag === tags.contextManagementJson) request.contextManagementJson = reader.counted();
  else return false;
  return true;
}
