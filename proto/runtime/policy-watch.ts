/**
 * The stream on which admin-svc says what changes in the policy. It is kept up, and what has been put into force is acknowledged: admin-svc
 * answers a change once every live process has done so.
 */
import { create } from "@bufbuild/protobuf";
import type { Client, ClientDuplexStream } from "@grpc/grpc-js";
import {
  AccessService,
  type WatchPolicyRequest,
  WatchPolicyRequestSchema,
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "../gen/sluice/admin/v1/access_service_pb.ts";
import type { Logger } from "./log.ts";
import { codec, pathOf, serviceMetadata } from "./rpc/dial.ts";
import { type Knowledge, greeted } from "./rpc/knowledge.ts";
import type { ServiceToken } from "./rpc/service-token.ts";

export interface PolicyWatchOptions {
  readonly client: Client;
  readonly token: ServiceToken;
  /** Name of this process, unique among live ones. */
  readonly process: string;
  readonly log: Logger;
}

/** Puts a message into force. @returns the generation that is in force then */
type Apply = (message: WatchPolicyResponse) => bigint;

const firstBackoffMs = 50;
const longestBackoffMs = 1_000;
/** A process that is replaced is back before. */
const patienceMs = 10_000;

export class PolicyWatch {
  readonly #options: PolicyWatchOptions;
  readonly #apply: Apply;
  readonly #since = performance.now();
  #heardAt = Number.NEGATIVE_INFINITY;
  /** That it is not heard was said. */
  #isMissed = false;
  #knows: Knowledge = {};
  #stopped = false;
  #call: ClientDuplexStream<WatchPolicyRequest, WatchPolicyResponse> | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #backoffMs = firstBackoffMs;

  constructor(options: PolicyWatchOptions, apply: Apply) {
    this.#options = options;
    this.#apply = apply;
  }

  /** Since it was last heard; infinite before. */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  /** What admin-svc knows of the requests of administration; nothing before it has greeted. */
  get knows(): Knowledge {
    return this.#knows;
  }

  /** Until `stop()`; reconnects by itself. Settles when the first message is in force, or never. */
  start(): Promise<void> {
    return new Promise((resolve) => this.#connect(resolve));
  }

  #connect(heard: () => void): void {
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
    acknowledge(0n);
    let first = true;
    call.on("data", (message: WatchPolicyResponse) => {
      if (first) this.#knows = greeted(message.knows);
      first = false;
      this.#heardAt = performance.now();
      this.#backoffMs = firstBackoffMs;
      if (this.#isMissed) log.info("admin-svc is heard");
      this.#isMissed = false;
      acknowledge(this.#apply(message));
      heard();
    });
    let failure: Error | undefined;
    call.on("error", (error) => {
      failure = error;
      log.debug({ err: error }, "policy watch failed");
    });
    call.on("status", () => {
      if (this.#stopped) return;
      this.#lost(failure);
      this.#reconnect = setTimeout(() => this.#connect(heard), this.#backoffMs * (0.5 + Math.random()));
      this.#reconnect.unref();
      this.#backoffMs = Math.min(longestBackoffMs, this.#backoffMs * 2);
    });
  }

  #lost(failure: Error | undefined): void {
    if (this.#isMissed || performance.now() - Math.max(this.#heardAt, this.#since) < patienceMs) return;
    this.#isMissed = true;
    this.#options.log.warn({ err: failure }, "admin-svc is not heard");
  }

  stop(): void {
    this.#stopped = true;
    // A client that is closed throws at whoever calls.
    clearTimeout(this.#reconnect);
    this.#call?.end();
  }
}
