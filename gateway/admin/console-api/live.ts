/**
 * Open turns of all inference processes, polled once a second while pages watch them, and ended on demand.
 *
 * Watchers with the same key share the polls and the JSON text: a second page costs next to nothing.
 */
import { type DescMessage, type DescMethodUnary, type MessageShape, create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import {
  type EndTurnResponse,
  InferenceService,
  type ListOpenTurnsResponse,
  type OpenTurn,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type CallOrigin, call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";

const intervalMs = 1_000;
/** Timeout of a process for a snapshot in milliseconds. A slower process is left out of the snapshot. */
const snapshotTimeoutMs = 900;
/** Timeout for ending a turn. A busy process needs longer than a snapshot may take, and still ends turns. */
const endTimeoutMs = 5_000;
/** Maximum turns of a snapshot; the longest are listed. */
const maxTurns = 1_000;

export interface LiveParts {
  readonly pool: { readonly addresses: readonly string[] };
  /** Connects to an inference process. */
  readonly dialInference: (address: string) => Client;
  readonly token: ServiceToken;
}

export interface Watcher {
  /** Takes a snapshot as JSON. */
  see(json: string): void;
  /** Called when this process stops. */
  stop(): void;
}

type Caller = CallOrigin & { readonly keyHash: string };

const { listOpenTurns, endTurn } = InferenceService.method;

export class LiveTurns {
  readonly #parts: LiveParts;
  readonly #clients = new Map<string, Client>();
  /** Watchers by key; the key determines the visible workspace. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  #timer: NodeJS.Timeout | undefined;
  /** Number of pending calls other than polls. */
  #pendingRequests = 0;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  /** Sends snapshots to a watcher. @returns a function that ends the watch */
  watch({ keyHash }: Caller, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(keyHash) ?? new Set();
    this.#watchers.set(keyHash, watchers.add(watcher));
    this.#timer ??= setInterval(() => this.#tellAll(), intervalMs);
    void this.#sendUpdate(keyHash, [watcher]);
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(keyHash);
      this.#rest();
    };
  }

  /** @returns whether a process had the turn, after the first positive answer. @throws Fault when none had it and one did not answer */
  async end(generationId: string, caller: Caller): Promise<boolean> {
    this.#pendingRequests++;
    const answers = this.#request(endTurn, create(endTurn.input, { generationId }), caller, endTimeoutMs);
    const settled = Promise.allSettled(answers).finally(() => {
      this.#pendingRequests--;
      this.#rest();
    });
    if (await hasEnded(answers)) return true;
    const silent = (await settled).find((answer) => answer.status === "rejected");
    if (silent) throw silent.reason;
    return false;
  }

  /** Calls every inference process. @returns the answers received in time */
  async requestAll<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageShape<Input>,
    caller: CallOrigin,
  ): Promise<MessageShape<Output>[]> {
    this.#pendingRequests++;
    const settled = await Promise.allSettled(this.#request(method, request, caller, snapshotTimeoutMs));
    this.#pendingRequests--;
    this.#rest();
    return settled.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  /** Ends all watches, at the stop of this process. */
  stop(): void {
    for (const watcher of [...this.#watchers.values()].flatMap((watchers) => [...watchers])) watcher.stop();
  }

  #tellAll(): void {
    for (const [keyHash, watchers] of this.#watchers) void this.#sendUpdate(keyHash, watchers);
  }

  async #sendUpdate(keyHash: string, watchers: Iterable<Watcher>): Promise<void> {
    const request = create(listOpenTurns.input, { limit: maxTurns });
    const settled = await Promise.allSettled(this.#request(listOpenTurns, request, { keyHash }, snapshotTimeoutMs));
    const answers = settled.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const json = JSON.stringify(merge(answers, settled.length - answers.length));
    for (const watcher of watchers) watcher.see(json);
  }

  #request<Input extends DescMessage, Output extends DescMessage>(
    method: DescMethodUnary<Input, Output>,
    request: MessageShape<Input>,
    caller: CallOrigin,
    timeoutMs: number,
  ): Promise<MessageShape<Output>>[] {
    const metadata = serviceMetadata(this.#parts.token, caller);
    return this.#parts.pool.addresses.map((address) =>
      call(this.#connect(address), method, request, metadata, timeoutMs),
    );
  }

  #connect(address: string): Client {
    const known = this.#clients.get(address) ?? this.#parts.dialInference(address);
    this.#clients.set(address, known);
    return known;
  }

  /** Closes the connections when there are neither watchers nor pending calls. */
  #rest(): void {
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#pendingRequests > 0) return;
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }
}

/** @returns true with the first process that had the turn; false when no remaining process can have it */
async function hasEnded(answers: readonly Promise<EndTurnResponse>[]): Promise<boolean> {
  const hits = answers.map(async (answer) => (await answer).ended || Promise.reject(new Error("not in this process")));
  return await Promise.any(hits).catch(() => false);
}

/** @param silent number of processes without an answer */
function merge(answers: readonly ListOpenTurnsResponse[], silent: number): object {
  const turns = answers.flatMap((answer) => answer.turns).sort((a, b) => b.openMs - a.openMs);
  return {
    at: new Date().toISOString(),
    total: answers.reduce((sum, { total }) => sum + total, 0),
    silent,
    turns: turns.slice(0, maxTurns).map(toShown),
  };
}

const toShown = (turn: OpenTurn): object => ({
  id: turn.generationId,
  key_hash: turn.keyHash,
  door: turn.door,
  requested_model: turn.requestedModel,
  model: turn.model,
  provider: turn.provider,
  user: turn.user,
  open_ms: turn.openMs,
  first_ms: turn.firstMs ?? null,
  text_units: turn.textUnits,
  attempts: turn.attempts,
});
