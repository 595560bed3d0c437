/** The path of a provider's answer through a dialect and the ladder to a client. */
import { Ladder } from "@sluice/gateway/doors/responses/ladder.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import type { Dialect } from "@sluice/inference-svc/models/upstream/dialect.js";
import { toWire } from "@sluice/inference-svc/engine/wire.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { testRequest } from "../inference-svc/asking.ts";
import { cutBytes, readAtBoundaries } from "../inference-svc/models/dialects/scenes/reading.ts";
import { type Answer, checkLadder } from "../support/answers/ladder-rules.ts";
import { parseSse } from "../support/answers/sse.ts";

const echo = { instructionsJson: "null", beforeTier: '"tools":[]', afterTier: '"store":false' };
const newObject = () => new ResponseObject({ id: "resp_1", createdAt: 1_790_000_000, model: "acme/large-2", echo });
const request = testRequest({ include: ["reasoning.encrypted_content"], topLogprobs: 1 });
const target = { upstreamModel: "large-2", tier: "default", original: false };
const wire = (batch: readonly TurnEvent[]) => toWire(batch, () => new Uint8Array()).events;

const read = (
  dialect: Dialect,
  type: string,
  reads: readonly Uint8Array[],
  taker: (batch: TurnEvent[]) => void,
): void => readAtBoundaries({ dialect, target, request }, type, reads, taker);

/** Decodes a stream by a dialect, with a batch of events for each read. */
export function readStream(dialect: Dialect, reads: readonly Uint8Array[]): TurnEvent[][] {
  const batches: TurnEvent[][] = [];
  read(dialect, dialect.framing.type, reads, (batch) => batches.push(batch));
  return batches.filter(({ length }) => length > 0);
}

/** Decodes a complete answer by a dialect. */
export function readWhole(dialect: Dialect, body: string): TurnEvent[][] {
  const batches: TurnEvent[][] = [];
  read(dialect, "application/json", [Buffer.from(body)], (batch) => batches.push(batch));
  return batches.filter(({ length }) => length > 0);
}

export interface ProviderStream {
  /** Positions at which reads end, taken modulo the length. */
  readonly cuts: readonly number[];
  /** Number of reads after which the connection to the provider is lost, taken modulo their number; absent if it is not lost. */
  readonly lostAfter?: number;
  /** False for a provider that mixes up its items, its parts or its ids. */
  readonly orderly?: boolean;
}

/**
 * The stream of an answer, checked against the rules of order. @throws errors other than the provider's; a failing provider gives a failed response
 */
export function streamAnswer(
  dialect: Dialect,
  stream: string | Uint8Array,
  { cuts, lostAfter, orderly = true }: ProviderStream,
): Answer {
  const batches: TurnEvent[][] = [];
  let fault: Fault | undefined;
  try {
    read(dialect, dialect.framing.type, cutBytes(Buffer.from(stream as string), cuts), (batch) => batches.push(batch));
  } catch (error) {
    if (!(error instanceof Fault) || error.reason === FaultReason.INTERNAL) throw error;
    fault = error;
  }
  if (lostAfter !== undefined) {
    const last = batches.findIndex((batch) => batch.some((event) => event.type === "end"));
    batches.splice(lostAfter % (last + 1));
    fault = new Fault(FaultReason.PROVIDER_FAILED);
  }
  const ladder = new Ladder(newObject());
  const written = batches.map((batch) => ladder.events(wire(batch))).join("");
  return checkLadder(parseSse(fault ? written + ladder.failed(fault) : written), orderly);
}

export function readWholeAnswer(dialect: Dialect, body: string): Answer {
  const object = newObject();
  read(dialect, "application/json", [Buffer.from(body)], (batch) => {
    for (const { event } of wire(batch)) object.apply(event);
  });
  return JSON.parse(object.terminal()?.json ?? "null") as Answer;
}
