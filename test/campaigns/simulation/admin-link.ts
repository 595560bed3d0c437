/**
 * The simulated network between processes and an admin-svc: messages are encoded, counted, and delivered later. At its ends are Sluice's own watch of
 * the policy (PolicyWatch, Access) and its own feed (PolicyFeed, Watcher).
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { PolicyFeed } from "@sluice/admin-svc/service/policy-feed.js";
import {
  type Caller,
  ResolveKeyRequestSchema,
  ResolveKeyResponseSchema,
  WatchPolicyRequestSchema,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type Client, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Random } from "../../support/random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** One-way delay of a message within a cluster, in milliseconds: a minimum, plus a random part with a mean. */
const leastDelayMs = 0.2;
const furtherDelayMs = 0.8;
/** Milliseconds after which the lookup of a key fails (proto/lib/policy/questions.ts). */
const readLimitMs = 2_000;
/** Work for each further key of a call, relative to a call for one key (`node test/dist/campaigns/bench/key-reads.js`). */
const furtherKeyCost = 0.05;

/** Totals of the traffic since the start. */
export interface Traffic {
  messages: number;
  bytes: number;
  /** Time of each attempt to connect, in milliseconds of the simulated clock. */
  readonly connects: number[];
  /** Time of each key lookup, in milliseconds of the simulated clock. */
  readonly reads: number[];
  /** Number of lookup calls; the bytes of these calls and their answers follow. */
  calls: number;
  readBytes: number;
}

export interface AdminLinkOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  /** Single-key calls per second that admin-svc answers; each call waits for those before it. */
  readonly callsPerSecond: number;
  readonly callerOf: (keyHash: string) => Caller;
}

type Listener = (value?: unknown) => void;

export class AdminLink {
  readonly traffic: Traffic = { messages: 0, bytes: 0, connects: [], reads: [], calls: 0, readBytes: 0 };
  /** Time of the last watch message that each client received, in the order of the clients. */
  readonly heardAt: number[] = [];
  readonly #options: AdminLinkOptions;
  /** The feed of the running admin-svc; undefined while none runs. */
  #feed: PolicyFeed | undefined;
  readonly #watches = new Set<WatchCall>();
  /** Time at which admin-svc will have read all requested keys. */
  #busyUntil = 0;
  #workedMs = 0;

  constructor(options: AdminLinkOptions) {
    this.#options = options;
  }

  /** Starts admin-svc. */
  start(feed: PolicyFeed): void {
    this.#feed = feed;
  }

  /** Kills admin-svc: all its connections break. */
  kill(): void {
    this.#feed = undefined;
    for (const watch of this.#watches) watch.lost();
    this.#watches.clear();
  }

  /** The client of one process: its methods are those of grpc-js, and lead to admin-svc. */
  client(): Client {
    const place = this.heardAt.push(Number.NEGATIVE_INFINITY) - 1;
    const heard = () => void (this.heardAt[place] = this.#options.time.now);
    return {
      makeBidiStreamRequest: () => this.#watch(heard),
      makeUnaryRequest: (...[, , decode, request, , , done]: UnaryArguments) => this.#read(decode, request, done),
      close: () => {},
    } as unknown as Client;
  }

  #watch(heard: () => void): WatchCall {
    const { time } = this.#options;
    this.traffic.connects.push(time.now);
    const call = new WatchCall(this, heard);
    time.after(2 * this.delay(), () => {
      if (this.#feed === undefined) return call.lost();
      this.#watches.add(call);
      call.opened(this.#feed);
    });
    return call;
  }

  /** Delay of one message in milliseconds. */
  delay(): number {
    return leastDelayMs + this.#options.random.exponential(furtherDelayMs);
  }

  count(bytes: number): void {
    this.traffic.messages++;
    this.traffic.bytes += bytes;
  }

  after(ms: number, run: () => void): void {
    this.#options.time.after(ms, run);
  }

  #read(decode: (bytes: Buffer) => unknown, bytes: Buffer, done: Done): object {
    const { time, callsPerSecond } = this.#options;
    const request = fromBinary(ResolveKeyRequestSchema, bytes);
    const keyHashes = [request.keyHash, ...request.furtherKeyHashes];
    for (const _ of keyHashes) this.traffic.reads.push(time.now);
    this.traffic.calls++;
    this.traffic.readBytes += bytes.length;
    const feed = this.#feed;
    const begunAt = Math.max(time.now + this.delay(), this.#busyUntil);
    const workMs = ((1 + furtherKeyCost * (keyHashes.length - 1)) * 1_000) / callsPerSecond;
    const readAt = begunAt + workMs;
    const waitMs = readAt - time.now;
    // A key whose reader would have given up before is not read.
    if (feed !== undefined && waitMs <= readLimitMs) {
      this.#busyUntil = readAt;
      this.#workedMs += workMs;
    }
    if (feed === undefined) this.after(this.delay(), () => done(failure(status.UNAVAILABLE)));
    else if (waitMs > readLimitMs) this.after(readLimitMs, () => done(failure(status.DEADLINE_EXCEEDED)));
    else this.after(waitMs, () => this.#answer(keyHashes, feed.generation, (answer) => done(null, decode(answer))));
    return { cancel: () => {} };
  }

  #answer([keyHash = "", ...further]: readonly string[], generation: bigint, done: (answer: Buffer) => void): void {
    const { callerOf } = this.#options;
    const answer = create(ResolveKeyResponseSchema, {
      caller: callerOf(keyHash),
      generation,
      further: further.map((hash) => ({ caller: callerOf(hash) })),
    });
    const bytes = Buffer.from(toBinary(ResolveKeyResponseSchema, answer));
    this.traffic.readBytes += bytes.length;
    this.after(this.delay(), () => done(bytes));
  }

  /** Begins to measure the load of admin-svc. @returns a function to return the figures up to its call */
  measureLoad(saturatedCalls: number): () => { readonly busy: number; readonly saturatedS: number } {
    const { time, callsPerSecond } = this.#options;
    const saturatedMs = (saturatedCalls * 1_000) / callsPerSecond;
    const since = time.now;
    const workedBefore = this.#workedMs;
    let samples = 0;
    let isOver = false;
    time.every(100, () => {
      if (!isOver && this.#busyUntil - time.now >= saturatedMs) samples++;
    });
    return () => {
      isOver = true;
      return { busy: (this.#workedMs - workedBefore) / (time.now - since), saturatedS: samples / 10 };
    };
  }
}

type Done = (error: ServiceError | null, response?: unknown) => void;
type UnaryArguments = [string, unknown, (bytes: Buffer) => unknown, Buffer, unknown, unknown, Done];

const failure = (code: status): ServiceError =>
  Object.assign(new Error("simulated"), { code, details: "", metadata: new Metadata() });

/** A watch as a process gets it from grpc-js; at its other end is a watcher of the feed. */
class WatchCall {
  readonly #link: AdminLink;
  readonly #heard: () => void;
  readonly #listeners = new Map<string, Listener>();
  readonly #unsent: { process: string; appliedGeneration: bigint }[] = [];
  #acknowledge: ((process: string, generation: bigint) => void) | undefined;
  #close = () => {};
  #isLost = false;
  /** Earliest arrival of the next message, since messages of one stream keep their order. */
  #sentMs = 0;

  constructor(link: AdminLink, heard: () => void) {
    this.#link = link;
    this.#heard = heard;
  }

  on(event: string, listener: Listener): this {
    this.#listeners.set(event, listener);
    return this;
  }

  write(message: { process: string; appliedGeneration: bigint }): void {
    if (this.#acknowledge === undefined) this.#unsent.push(message);
    else this.#send(message);
  }

  end(): void {
    this.#close();
  }

  opened(feed: PolicyFeed): void {
    const watcher = feed.join();
    this.#acknowledge = (process, generation) => watcher.acknowledge(process, generation);
    this.#close = () => {
      watcher.close();
      feed.leave(watcher);
    };
    for (const message of this.#unsent) this.#send(message);
    void this.#deliver(watcher.messages());
  }

  lost(): void {
    this.#isLost = true;
    this.#close();
    this.#link.after(this.#link.delay(), () => {
      this.#listeners.get("error")?.(failure(status.UNAVAILABLE));
      this.#listeners.get("status")?.();
    });
  }

  #send(message: { process: string; appliedGeneration: bigint }): void {
    this.#link.count(toBinary(WatchPolicyRequestSchema, create(WatchPolicyRequestSchema, message)).length);
    this.#link.after(this.#link.delay(), () => this.#acknowledge?.(message.process, message.appliedGeneration));
  }

  async #deliver(messages: AsyncIterable<Parameters<typeof toBinary<typeof WatchPolicyResponseSchema>>[1]>) {
    for await (const message of messages) {
      const bytes = toBinary(WatchPolicyResponseSchema, message);
      this.#link.count(bytes.length);
      const delay = this.#link.delay();
      const at = Math.max(performance.now() + delay, this.#sentMs);
      this.#sentMs = at;
      this.#link.after(at - performance.now(), () => {
        if (this.#isLost) return;
        this.#heard();
        this.#listeners.get("data")?.(fromBinary(WatchPolicyResponseSchema, bytes));
      });
    }
  }
}
