/**
 * gRPC clients (grpc-js) for the services of Sluice. A new call survives a GOAWAY of the server, and keep-alive PINGs
 * detect connections whose packets are lost.
 */
import { type DescMessage, type DescMethodUnary, type MessageShape, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, type ClientUnaryCall, Metadata, type ServiceError, credentials } from "@grpc/grpc-js";
import type { TraceHeaders } from "../tracing/context.ts";
import { fromServiceError } from "./status.ts";
import type { TlsPeer } from "../tls/client.ts";
import {
  clientAddressHeader,
  keyHashHeader,
  personHeader,
  requestIdHeader,
  serviceTokenHeader,
  workspaceHeader,
} from "./caller.ts";
import { type ServiceToken, tokenToSend } from "./service-token.ts";
import { maxMessageBytes } from "./serve.ts";

const channelOptions = {
  "grpc.enable_channelz": 0,
  "grpc.enable_retries": 0, // The library cannot know whether a call was accepted, so Sluice repeats calls by itself.
  "grpc.use_local_subchannel_pool": 1,
  "grpc-node.flow_control_window": 4 * 1024 * 1024,
  "grpc.max_receive_message_length": maxMessageBytes,
  "grpc.max_send_message_length": maxMessageBytes,
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 500,
};

/**
 * Creates a client. @param address host:port
 * @param peer expected identity of the server; clear text when absent
 */
export function dial(address: string, peer?: TlsPeer): Client {
  if (!peer) return new Client(address, credentials.createInsecure(), channelOptions);
  // TLS does not allow a numeric address as a server name.
  const named = { ...channelOptions, "grpc.ssl_target_name_override": peer.service };
  return new Client(address, peer.credentials, named);
}

const ipv4 = /^\d+\.\d+\.\d+\.\d+:\d+$/;

/**
 * Creates a client that connects to any of several processes. A DNS name stands for all its addresses, and must be the
 * only entry.
 */
export function dialAny(addresses: readonly [string, ...string[]], peer?: TlsPeer): Client {
  const known = addresses.filter((address) => ipv4.test(address));
  return dial(known.length > 1 ? `ipv4:${known.join(",")}` : addresses[0], peer);
}

/** Serializer and parser of a message type, as grpc-js needs them. */
export function codec<Desc extends DescMessage>(schema: Desc) {
  return {
    encode: (message: MessageShape<Desc>): Buffer => {
      const bytes = toBinary(schema, message);
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    decode: (bytes: Buffer): MessageShape<Desc> => fromBinary(schema, bytes),
  };
}

/** Path of a method in HTTP/2 requests. */
export const pathOf = (method: { parent: { typeName: string }; name: string }): string =>
  `/${method.parent.typeName}/${method.name}`;

/** On whose behalf a process calls: the key, and the client's request. */
export interface CallOrigin {
  readonly keyHash?: string;
  readonly requestId?: string;
  /** E-mail address of the person using the key in the console. */
  readonly person?: string | undefined;
  /** Network address of the client; undefined without a client. */
  readonly address?: string | undefined;
  readonly trace?: TraceHeaders | undefined;
  /** Workspace in which an account-wide management key acts; undefined for its own workspace. */
  readonly workspace?: string | undefined;
}

/** Metadata for a call between processes of Sluice. */
export function serviceMetadata(token: ServiceToken, origin: CallOrigin = {}): Metadata {
  const { keyHash, requestId, person, address, trace, workspace } = origin;
  const metadata = new Metadata();
  metadata.set(serviceTokenHeader, tokenToSend(token));
  if (keyHash !== undefined) metadata.set(keyHashHeader, keyHash);
  if (requestId !== undefined) metadata.set(requestIdHeader, requestId);
  if (person !== undefined) metadata.set(personHeader, person);
  if (address !== undefined) metadata.set(clientAddressHeader, address);
  if (workspace !== undefined) metadata.set(workspaceHeader, workspace);
  if (trace && trace.traceparent !== "") {
    metadata.set("traceparent", trace.traceparent);
    if (trace.tracestate !== "") metadata.set("tracestate", trace.tracestate);
  }
  return metadata;
}

/** Makes a unary call. @param signal cancels the call. @throws Fault when the call fails */
export async function call<Input extends DescMessage, Output extends DescMessage>(
  client: Client,
  method: DescMethodUnary<Input, Output>,
  request: MessageShape<Input>,
  metadata: Metadata,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<MessageShape<Output>> {
  return callEncoded(client, method, codec(method.input).encode(request), metadata, timeoutMs, signal);
}

/** Makes a unary call with an encoded request. @param signal cancels the call. @throws Fault when the call fails */
export function callEncoded<Input extends DescMessage, Output extends DescMessage>(
  client: Client,
  method: DescMethodUnary<Input, Output>,
  request: Buffer,
  metadata: Metadata,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<MessageShape<Output>> {
  const { decode } = codec(method.output);
  return new Promise((resolve, reject) => {
    let running: ClientUnaryCall | undefined;
    const cancel = () => running?.cancel();
    const done = (error: ServiceError | null, response?: MessageShape<Output>) => {
      signal?.removeEventListener("abort", cancel);
      if (error) reject(fromServiceError(error));
      else resolve(response as MessageShape<Output>);
    };
    running = client.makeUnaryRequest(
      pathOf(method),
      asTheyAre,
      decode,
      request,
      metadata,
      { deadline: Date.now() + timeoutMs },
      done,
    );
    signal?.addEventListener("abort", cancel);
  });
}

const asTheyAre = (bytes: Buffer): Buffer => bytes;
