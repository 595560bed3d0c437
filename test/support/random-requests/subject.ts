/**
 * Runs a body through one process, from the socket to the provider and back: it is read, checked, translated into every provider's format, answered,
 * and written in the format of the client.
 */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Door } from "@sluice/gateway/edge/turns/door.js";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { Trace } from "@sluice/inference-svc/turn/trace.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { echo } from "@sluice/inference-svc/models/upstream/echo/turn.js";
import { toWire } from "@sluice/inference-svc/engine/wire.js";
import {
  type RunTurnRequest,
  RunTurnRequestSchema,
  type TurnEvent,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newScope } from "../../inference-svc/asking.ts";
import { type AcceptedRequest, type FuzzedFormat, fuzzDoorContext } from "./format.ts";

const targets: readonly Target[] = [
  { upstreamModel: "large", tier: "default", original: false },
  { upstreamModel: "large", tier: "flex", original: true, reasoningFormat: "openai-responses-v1" },
  {
    upstreamModel: "large",
    tier: "default",
    original: false,
    nativeTools: new Set(["web_search"]),
    supportedParameters: ["temperature", "reasoning.max_tokens"],
  },
];

/** Reads bodies like a door. @throws Fault with the field names of the format if the body is refused */
export const doorReader =
  ({ read }: Pick<Door, "read">): FuzzedFormat["accept"] =>
  (body, members, throughWire) => {
    const answer = read(body, members, fuzzDoorContext);
    try {
      return { turn: toTurn(answer.request, throughWire), answer };
    } catch (error) {
      throw error instanceof Fault && answer.explain ? answer.explain(error) : error;
    }
  };

export const toTurn = (request: RunTurnRequest, throughWire: boolean): TurnRequest =>
  parseTurn(throughWire ? overWire(request) : request);

const overWire = (request: RunTurnRequest): RunTurnRequest =>
  fromBinary(RunTurnRequestSchema, toBinary(RunTurnRequestSchema, request));

/** Translates the turn into every provider's format that can carry it. @throws if a body is not JSON, or a refusal names no field */
export function translateToDialects({ dialects }: FuzzedFormat, { turn }: AcceptedRequest): void {
  for (const dialect of dialects) {
    for (const target of targets) {
      const refusal = dialect.refusal(turn, target);
      if (refusal && (refusal.path === "" || refusal.message === "")) throw new Error("a refusal without a place");
      if (refusal) continue;
      JSON.parse(dialect.body(turn, target, checkLoss));
    }
  }
}

function checkLoss(path: string, reason: string): void {
  if (path === "" || reason === "") throw new Error("a loss without a place");
}

/** Lets the built-in model answer, and compares the answer as one object with the answer as a stream. @throws if an answer is wrong */
export async function answerWithEcho({ folds }: FuzzedFormat, { turn, answer }: AcceptedRequest): Promise<void> {
  if (answer === undefined) return;
  const events = await eventsOfEcho(turn);
  if (folds === undefined) return;
  const whole = answer.whole();
  for (const { event } of events) whole.apply(event);
  const stream = answer.stream();
  const text = stream.open() + stream.events(events);
  if (!stream.over) throw new Error("the stream does not end with the turn");
  const [one, other] = [folds.whole(whole.json() ?? ""), folds.stream(text)].map((told) => JSON.stringify(told));
  if (one !== other) throw new Error(`the stream says ${other}, the object ${one}`);
}

async function eventsOfEcho(turn: TurnRequest): Promise<TurnEvent[]> {
  const { scope } = newScope();
  const events: TurnEvent[] = [];
  let last: string | undefined;
  for await (const batch of echo({ ...turn, stream: false }, scope.with({ trace: new Trace(1n) }))) {
    events.push(...toWire(batch, () => new Uint8Array()).events);
    last = batch.at(-1)?.type;
  }
  if (last !== "end") throw new Error("the built-in model did not come to an end");
  return events;
}
