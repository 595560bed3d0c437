/** Field tags of the messages of a session: the field number times eight, plus the wire type. */

/** Tag of a varint. */
const number = (field: number): number => field << 3;
/** Tag of eight bytes. */
const eightBytes = (field: number): number => (field << 3) | 1;
/** Tag of a length-prefixed value: a message, text or bytes. */
const lengthPrefixed = (field: number): number => (field << 3) | 2;

export const requestTags = { frames: lengthPrefixed(1) } as const;
export const clientFrameTags = {
  turn: number(1),
  open: lengthPrefixed(2),
  credit: number(3),
  cancel: lengthPrefixed(4),
} as const;
export const openTags = {
  request: lengthPrefixed(1),
  keyHash: lengthPrefixed(2),
  requestId: lengthPrefixed(3),
  policyGeneration: number(4),
  deadlineMs: number(5),
  credit: number(6),
  generationId: lengthPrefixed(7),
  traceparent: lengthPrefixed(8),
  tracestate: lengthPrefixed(9),
  atMostOnce: number(10),
} as const;
/** Fields of a RunTurnRequest, except those with messages or a map as values, which few requests have. */
export const turnRequestTags = {
  model: lengthPrefixed(1),
  models: lengthPrefixed(2),
  inputJson: lengthPrefixed(3),
  instructions: lengthPrefixed(4),
  stream: number(5),
  maxOutputTokens: number(6),
  temperature: eightBytes(7),
  topP: eightBytes(8),
  topK: number(9),
  frequencyPenalty: eightBytes(10),
  presencePenalty: eightBytes(11),
  topLogprobs: number(12),
  parallelToolCalls: number(13),
  toolsJson: lengthPrefixed(14),
  toolChoiceJson: lengthPrefixed(15),
  textFormatJson: lengthPrefixed(16),
  textVerbosity: lengthPrefixed(17),
  reasoningJson: lengthPrefixed(18),
  include: lengthPrefixed(19),
  maxToolCalls: number(20),
  modalities: lengthPrefixed(22),
  user: lengthPrefixed(23),
  safetyIdentifier: lengthPrefixed(24),
  sessionId: lengthPrefixed(25),
  promptCacheKey: lengthPrefixed(26),
  serviceTier: lengthPrefixed(27),
  echoUpstreamBody: number(28),
  serviceMetadata: number(29),
  truncation: lengthPrefixed(30),
  imageConfigJson: lengthPrefixed(31),
  promptCacheOptionsJson: lengthPrefixed(33),
  traceJson: lengthPrefixed(34),
  stopServerToolsWhenJson: lengthPrefixed(35),
  stop: lengthPrefixed(39),
  seed: number(40),
  predictionJson: lengthPrefixed(42),
  anthropicBetas: lengthPrefixed(43),
  contextManagementJson: lengthPrefixed(44),
  door: lengthPrefixed(45),
} as const;

export const responseTags = { frames: lengthPrefixed(1), draining: number(3) } as const;
export const frameTags = {
  turn: number(1),
  batch: lengthPrefixed(2),
  fault: lengthPrefixed(3),
  last: number(4),
} as const;
export const batchTags = { events: lengthPrefixed(1), cost: number(2) } as const;

/** Delta fields of a TurnEvent. */
export const deltaTags = {
  textDelta: lengthPrefixed(3),
  refusalDelta: lengthPrefixed(4),
  reasoningDelta: lengthPrefixed(5),
  summaryDelta: lengthPrefixed(6),
} as const;
export const eventTags = {
  start: lengthPrefixed(1),
  itemStart: lengthPrefixed(2),
  argumentsDelta: lengthPrefixed(7),
  annotation: lengthPrefixed(8),
  itemEnd: lengthPrefixed(9),
  debug: lengthPrefixed(10),
  end: lengthPrefixed(11),
  native: lengthPrefixed(12),
  usage: lengthPrefixed(13),
} as const;
export const turnStartTags = { model: lengthPrefixed(1), inputTokens: number(2) } as const;
/** ItemStart and ItemEnd. */
export const itemTags = { index: number(1), itemJson: lengthPrefixed(2) } as const;
export const textDeltaTags = {
  index: number(1),
  part: number(2),
  delta: lengthPrefixed(3),
  logprobsJson: lengthPrefixed(4),
} as const;
export const argumentsDeltaTags = { index: number(1), delta: lengthPrefixed(2) } as const;
export const turnEndTags = {
  status: number(1),
  incompleteReason: lengthPrefixed(2),
  usage: lengthPrefixed(3),
  serviceTier: lengthPrefixed(4),
  serviceMetadataJson: lengthPrefixed(5),
  alignmentJson: lengthPrefixed(6),
  stopSequence: lengthPrefixed(7),
  incompleteDetail: lengthPrefixed(8),
} as const;
export const usageTags = {
  inputTokens: number(1),
  cachedTokens: number(2),
  cacheWriteTokens: number(3),
  outputTokens: number(4),
  reasoningTokens: number(5),
  serverToolUse: lengthPrefixed(6),
  cost: lengthPrefixed(7),
  estimated: number(8),
  cacheWriteHourTokens: number(9),
} as const;
export const costTags = { inputPicoUsd: number(1), outputPicoUsd: number(2), serverToolsPicoUsd: number(3) } as const;
