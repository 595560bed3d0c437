/** RunTurn as any grpc-js client calls it: with a path, two codecs, and an API key in the metadata. */
import { create } from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import {
  InferenceService,
  type RunTurnResponse,
  RunTurnResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import {
  type RunTurnRequest,
  RunTurnRequestSchema,
  type TurnEvent,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { codec, pathOf } from "@sluice/proto/lib/rpc/dial.js";
import { fromServiceError } from "@sluice/proto/lib/rpc/status.js";

const request = codec(RunTurnRequestSchema);
const response = codec(RunTurnResponseSchema);

/** A plain request with these fields changed. */
export const turnRequest = (
  model: string,
  input: unknown,
  more: Partial<Omit<RunTurnRequest, "$typeName" | "$unknown">> = {},
): RunTurnRequest => create(RunTurnRequestSchema, { model, inputJson: Buffer.from(JSON.stringify(input)), ...more });

export interface RunningTurn {
  readonly batches: TurnEvent[][];
  /** Resolves with the first batch. */
  readonly begun: Promise<void>;
  /** Resolves at the end of the turn; rejects with the ServiceError. */
  readonly over: Promise<void>;
  cancel(): void;
}

export function runTurn(
  client: Client,
  key: string | undefined,
  turn: RunTurnRequest,
  timeoutMs = 60_000,
  headers: Readonly<Record<string, string>> = {},
): RunningTurn {
  const metadata = new Metadata();
  if (key !== undefined) metadata.set("authorization", `Bearer ${key}`);
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const call = client.makeServerStreamRequest(
    pathOf(InferenceService.method.runTurn),
    request.encode,
    response.decode,
    turn,
    metadata,
    { deadline: Date.now() + timeoutMs },
  );
  const batches: TurnEvent[][] = [];
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const over = new Promise<void>((resolve, reject) => {
    call.on("data", (message: RunTurnResponse) => {
      batches.push(message.events);
      begin();
    });
    call.on("end", resolve);
    call.on("error", reject);
  });
  over.catch(() => {});
  return { batches, begun, over, cancel: () => call.cancel() };
}

/** The fault with which a turn failed. */
export async function faultOf(turn: RunningTurn) {
  const error = await turn.over.then(
    () => undefined,
    (failure: ServiceError) => failure,
  );
  if (!error) throw new Error("the turn did not fail");
  return { code: error.code, fault: fromServiceError(error) };
}
