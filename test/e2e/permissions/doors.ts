/** Requests at every door: over HTTP, over a WebSocket and over gRPC. */
import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import { fromServiceError } from "@sluice/proto/lib/rpc/status.js";
import { runTurn } from "../../support/answers/run-turn.ts";
import { SocketClient } from "../../support/answers/socket-client.ts";
import type { Installation } from "../../support/installation.ts";

export interface DoorAnswer {
  readonly status: number;
  readonly text: string;
}

/** A way to send bodies of one schema to the service. */
export interface DoorWay {
  readonly name: string;
  /** Name of the schema in the published document. */
  readonly schema: string;
  /** Fields of every body. */
  readonly base: object;
  /** Whether the service answers without calling a provider. */
  readonly isDry: boolean;
  readonly ask: (key: string, body: object) => Promise<DoorAnswer>;
}

const user = { role: "user", content: "Hi" };
const bases = {
  ResponseRequest: { input: "Hi" },
  ChatCompletionRequest: { messages: [user] },
  MessagesRequest: { messages: [user], max_tokens: 9 },
  MessagesCountTokensRequest: { messages: [user] },
} as const;

const paths = [
  ["/responses/dry-run", "ResponseRequest"],
  ["/responses/input_tokens", "ResponseRequest"],
  ["/responses", "ResponseRequest"],
  ["/responses/compact", "ResponseRequest"],
  ["/chat/completions", "ChatCompletionRequest"],
  ["/messages", "MessagesRequest"],
  ["/messages/count_tokens", "MessagesCountTokensRequest"],
] as const;

const dryNames = /dry|token/i;

function overHttp({ baseUrl }: Installation, path: string): DoorWay["ask"] {
  return async (key, body) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
}

function overWebSocket({ ports }: Installation): DoorWay["ask"] {
  return async (key, body) => {
    const client = new SocketClient(ports.gateway, { authorization: `Bearer ${key}` });
    await once(client.socket, "open");
    const event = (await client.ask(body)).at(-1);
    client.socket.close();
    return { status: event?.type === "error" ? (event.status ?? 500) : 200, text: JSON.stringify(event) };
  };
}

/** The turn into which the gateway converts a body. */
function turnOf(body: object): RunTurnRequest {
  const bytes = Buffer.from(JSON.stringify(body));
  return parseRequest(bytes, scanObject(bytes, "body"), { serviceMetadata: false }).request;
}

const succeeded: DoorAnswer = { status: 200, text: "" };

function answerOf(error: unknown): DoorAnswer {
  const { status, message } = error instanceof Fault ? error : fromServiceError(error as ServiceError);
  return { status, text: message };
}

function overGrpc({ ports }: Installation): Readonly<Record<string, DoorWay["ask"]>> {
  const { createResponse, dryRun, countTokens } = InferenceService.method;
  const metadataOf = (key: string) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${key}`);
    return metadata;
  };
  // Each call has a connection of its own, since Node closes a connection with many refusals in a short time.
  const settled = async (work: (client: Client) => Promise<unknown>) => {
    const client = dial(`127.0.0.1:${ports.inference}`);
    const answer = await work(client).then(() => succeeded, answerOf);
    client.close();
    return answer;
  };
  const timeoutMs = 20_000;
  return {
    RunTurn: (key, body) => settled((client) => runTurn(client, key, turnOf(body)).over),
    CreateResponse: (key, body) => {
      const request = create(createResponse.input, { request: turnOf(body) });
      return settled((client) => call(client, createResponse, request, metadataOf(key), timeoutMs));
    },
    DryRun: (key, body) => {
      const request = create(dryRun.input, { request: turnOf(body) });
      return settled((client) => call(client, dryRun, request, metadataOf(key), timeoutMs));
    },
    CountTokens: (key, body) => {
      const request = create(countTokens.input, { request: turnOf(body) });
      return settled((client) => call(client, countTokens, request, metadataOf(key), timeoutMs));
    },
  };
}

/** Every way to send tools to an installation. */
export function waysInto(installation: Installation): readonly DoorWay[] {
  const way = (name: string, schema: keyof typeof bases, ask: DoorWay["ask"]): DoorWay => ({
    name,
    schema,
    ask,
    base: bases[schema],
    isDry: dryNames.test(name),
  });
  return [
    ...paths.map(([path, schema]) => way(path, schema, overHttp(installation, path))),
    way("WebSocket", "ResponseRequest", overWebSocket(installation)),
    ...Object.entries(overGrpc(installation)).map(([name, ask]) => way(name, "ResponseRequest", ask)),
  ];
}
