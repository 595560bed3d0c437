/**
 * The stream of policy changes from admin-svc. It reconnects automatically, and acknowledges each change once it is in
 * force, because admin-svc answers a write when every connected process has acknowledged it.
 */
import { create } from "@bufbuild/protobuf";
import type { Client, ClientDuplexStream } from "@grpc/grpc-js";
import {
  AccessService,
  type EndpointNews,
  type WatchPolicyRequest,
  WatchPolicyRequestSchema,
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "../../gen/sluice/admin/v1/access_service_pb.ts";
import type { Logger } from "../log/log.ts";
import { codec, pathOf, serviceMetadata } from "../rpc/dial.ts";
import { type SupportedFields, supportedByPeer } from "../rpc/supported-fields.ts";
import type { ServiceToken } from "../rpc/service-token.ts";

export interface PolicyWatchOptions {
  readonly client: Client;
  readonly token: ServiceToken;
  /** Name of this process, unique among running processes. */
  readonly process: string;
  readonly log: Logger;
}

/** Puts a message into force. @returns the generation then in force; a promise if that takes time */
type Apply = (message: WatchPolicyResponse) => bigint | Promise<bigint>;

/** A change in the state of an endpoint, without the fields that only the protobuf message has. */
export type EndpointChange = Pick<EndpointNews, "endpoint" | "failing">;

/**
 * Silence of admin-svc in milliseconds after which news about endpoints are dropped, because they would arrive too late
 * to be useful.
 */
const newsLimitMs = 3_000;
const firstBackoffMs = 50;
const maxBackoffMs = 1_000;
/** Milliseconds after which a silence of admin-svc is logged; after a restart it is back earlier. */
const patienceMs = 10_000;

export class PolicyWatch {
  readonly #options: PolicyWatchOptions;
  readonly #apply: Apply;
  readonly #since = performance.now();
  #heardAt = Number.NEGATIVE_INFINITY;
  /** Whether the silence of admin-svc has been logged. */
  #isMissed = false;
  #knows: SupportedFields = {};
  #onNews: ((news: readonly EndpointChange[]) => void) | undefined;
  #stopped = false;
  #call: ClientDuplexStream<WatchPolicyRequest, WatchPolicyResponse> | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #backoffMs = firstBackoffMs;

  constructor(options: PolicyWatchOptions, apply: Apply) {
    this.#options = options;
    this.#apply = apply;
  }

  /** Milliseconds since the last message; infinite before the first. */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  /** Request fields that admin-svc supports; none before its first message. */
  get knows(): SupportedFields {
    return this.#knows;
  }

  /** Requests endpoint news from other processes. Call it before `start`. */
  onEndpointNews(listener: (news: readonly EndpointChange[]) => void): void {
    this.#onNews = listener;
  }

  /**
   * Sends news about an endpoint to other processes, unless admin-svc is unavailable. @param appliedGeneration the last
   * acknowledged generation
   */
  reportEndpoint(news: EndpointChange, appliedGeneration: bigint): void {
    if (this.silentMs > newsLimitMs) return;
    this.#call?.write(create(WatchPolicyRequestSchema, { appliedGeneration, endpoints: [news] }));
  }

  /** Watches until `stop()`, reconnecting automatically. Settles when the first message is in force, or never. */
  start(): Promise<void> {
    return new Promise((resolve) => this.#connect(resolve));
  }

  #connect(onMessage: () => void): void {
    const { client, token, process, log } = this.#options;
    const request = codec(WatchPolicyRequestSchema);
    const response = codec(WatchPolicyResponseSchema);
    const call = client.makeBidiStreamRequest(
      pathOf(AccessService.method.watchPolicy),
      request.encode,
      response.decode,
      serviceMetadata(token),
    );
    this.#call = call;
    const acknowledge = (appliedGeneration: bigint) =>
      call.write(create(WatchPolicyRequestSchema, { process, appliedGeneration }));
    call.write(create(WatchPolicyRequestSchema, { process, hearsEndpoints: this.#onNews !== undefined }));
    let first = true;
    call.on("data", (message: WatchPolicyResponse) => {
      if (message.endpoints.length > 0) return this.#onNews?.(message.endpoints);
      if (first) this.#knows = supportedByPeer(message.knows);
      first = false;
      this.#heardAt = performance.now();
      this.#backoffMs = firstBackoffMs;
      if (this.#isMissed) log.info("admin-svc answers again");
      this.#isMissed = false;
      const applied = this.#apply(message);
      const inForce = (generation: bigint) => {
        // The connection may have been lost meanwhile.
        if (this.#call === call && !this.#stopped) acknowledge(generation);
        onMessage();
      };
      if (typeof applied === "bigint") inForce(applied);
      else void applied.then(inForce);
    });
    let failure: Error | undefined;
    call.on("error", (error) => {
      failure = error;
      log.debug({ err: error }, "policy watch failed");
    });
    call.on("status", () => {
      this.#call = undefined;
      if (this.#stopped) return;
      this.#lost(failure);
      this.#reconnect = setTimeout(() => this.#connect(onMessage), this.#backoffMs * (0.5 + Math.random()));
      this.#reconnect.unref();
      this.#backoffMs = Math.min(maxBackoffMs, this.#backoffMs * 2);
    });
  }

  #lost(failure: Error | undefined): void {
    if (this.#isMissed || performance.now() - Math.max(this.#heardAt, this.#since) < patienceMs) return;
    this.#isMissed = true;
    this.#options.log.warn({ err: failure }, "admin-svc does not answer");
  }

  stop(): void {
    this.#stopped = true;
    // A closed client throws an error.
    clearTimeout(this.#reconnect);
    this.#call?.end();
  }
}
