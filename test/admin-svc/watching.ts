/** A process that watches the policy, as bytes on a real connection. It acknowledges a change only on command. */
import { create } from "@bufbuild/protobuf";
import type { Client, ClientDuplexStream } from "@grpc/grpc-js";
import {
  AccessService,
  type WatchPolicyRequest,
  WatchPolicyRequestSchema,
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { codec, dial, pathOf, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { serviceToken } from "./installation.ts";

type Call = ClientDuplexStream<WatchPolicyRequest, WatchPolicyResponse>;

export class PolicyWatcher {
  readonly heard: WatchPolicyResponse[] = [];
  readonly #client: Client;
  readonly #call: Call;
  readonly #automatic: boolean;
  #changed = () => {};
  #ended: number | undefined;

  constructor(port: number, { acknowledges = true, process = "test", token = serviceToken } = {}) {
    this.#client = dial(`127.0.0.1:${port}`);
    this.#automatic = acknowledges;
    const { encode } = codec(WatchPolicyRequestSchema);
    const { decode } = codec(WatchPolicyResponseSchema);
    const path = pathOf(AccessService.method.watchPolicy);
    this.#call = this.#client.makeBidiStreamRequest(path, encode, decode, serviceMetadata(token));
    this.#call.write(create(WatchPolicyRequestSchema, { process }));
    this.#call.on("data", (message: WatchPolicyResponse) => {
      this.heard.push(message);
      if (this.#automatic) this.acknowledge(message.generation);
      this.#changed();
    });
    this.#call.on("error", () => {});
    this.#call.on("status", ({ code }) => {
      this.#ended = code;
      this.#changed();
    });
  }

  acknowledge(appliedGeneration: bigint): void {
    this.#call.write(create(WatchPolicyRequestSchema, { appliedGeneration }));
  }

  /** Waits for a matching message. @param from index of the first received message to consider */
  async hear(fits: (message: WatchPolicyResponse) => boolean, from = 0): Promise<WatchPolicyResponse> {
    for (;;) {
      const found = this.heard.slice(from).find(fits);
      if (found) return found;
      if (this.#ended !== undefined) throw new Error(`the watch ended with gRPC status ${this.#ended}`);
      await this.#change();
    }
  }

  /** Waits for the end of the watch. @returns its gRPC status */
  async ended(): Promise<number> {
    while (this.#ended === undefined) await this.#change();
    return this.#ended;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  /** Half-closes the stream: no more acknowledgements follow. */
  halfClose(): void {
    this.#call.end();
  }

  leave(): void {
    this.#call.cancel();
    this.#client.close();
  }
}
