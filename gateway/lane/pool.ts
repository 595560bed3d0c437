/** Lanes to every inference process, and the choice between them: one pair of sessions a process, a large and a small one. */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { mostHanded } from "@sluice/proto/runtime/pressure.js";
import { largeInputBytes } from "@sluice/proto/runtime/outbox.js";
import type { Resolve } from "./addresses.ts";
import { Lane, type TurnControl, type TurnListener } from "./lane.ts";
import type { Transport } from "./link.ts";
import { Outages } from "./outages.ts";

/** New pods get turns within this time. */
const resolveEveryMs = 5_000;
/** A sticky turn leaves its process when that one has a quarter more turns than the average. */
const loadBound = 1.25;

/** After which it is worth asking again for what only a newer process knows: about as long as a pod takes to be replaced. */
const upgradeMs = 30_000;

interface Peer {
  readonly address: string;
  readonly small: Lane;
  readonly large: Lane;
}

/** Where a rollout is half done: somebody will know it soon. */
const unknownYet = (path: string): Fault =>
  new Fault(FaultReason.UNAVAILABLE, `No inference process that is ready knows ${path} yet`, {
    retryAfterMs: upgradeMs,
    origin: FaultOrigin.GATEWAY,
  });

const unavailable = (): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.GATEWAY });

export class LanePool {
  readonly #where: Resolve;
  readonly #transport: (address: string) => Transport;
  readonly #outages: Outages;
  readonly #peers = new Map<string, Peer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(where: Resolve, transport: (address: string) => Transport, log: Logger) {
    this.#where = where;
    this.#transport = transport;
    this.#outages = new Outages(log);
  }

  async start(): Promise<void> {
    await this.#resolve();
    this.#timer = setInterval(() => void this.#resolve(), resolveEveryMs);
    this.#timer.unref();
  }

  /** Processes that take turns. */
  get processes(): number {
    return this.#usable().length;
  }

  /** True while at least one process takes turns. */
  get ready(): boolean {
    return this.processes > 0;
  }

  /** Turns that wait for the process that has begun all but the fewest. */
  get waiting(): number {
    const waiting = this.#usable().map(({ small, large }) => small.waiting.size + large.waiting.size);
    return waiting.length === 0 ? 0 : Math.min(...waiting);
  }

  /** Whether a key has as many turns waiting as its share of what may be handed over, or more. */
  hasItsShareWaiting(keyHash: string): boolean {
    return this.#usable().some(({ small, large }) =>
      [small, large].some(({ waiting }) => waiting.countOf(keyHash) >= Math.max(1, mostHanded / waiting.keys)),
    );
  }

  /** Settles when the first process takes turns: before that the gateway is not ready. */
  async greeted(): Promise<void> {
    while (!this.ready) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /**
   * Opens a turn on the process that its session key points to, otherwise on the one with the fewest open turns.
   * A turn that is lost before it was accepted is opened again elsewhere, unseen by the listener.
   * @throws Fault UNAVAILABLE when no process is ready that knows all of the request
   */
  open(open: Open, listener: TurnListener): TurnControl {
    const large = (open.request?.inputJson.length ?? 0) > largeInputBytes;
    // Forgotten once it cannot be needed again: it may be 32 MiB.
    let again: Open | undefined = open;
    let control = this.#pick(open, large).open(open, {
      accepted: () => {
        again = undefined;
        listener.accepted?.();
      },
      events: (events, cost) => listener.events(events, cost),
      ended: () => listener.ended(),
      failed: (fault, accepted) => {
        if (accepted || !again) return listener.failed(fault, true);
        try {
          // Once: a turn that two processes dropped unaccepted would only find the next outage.
          control = this.#pick(again, large).open(again, listener);
        } catch (error) {
          listener.failed(Fault.from(error), false);
        }
      },
    });
    return { pause: () => control.pause(), resume: () => control.resume(), cancel: () => control.cancel() };
  }

  /**
   * For a request that goes to any of the processes.
   * @throws Fault UNAVAILABLE when one of them does not know all of it
   */
  requireKnown(request: RunTurnRequest): void {
    for (const { small } of this.#usable()) {
      const path = small.unknown(request);
      if (path !== undefined) throw unknownYet(path);
    }
  }

  /** This process has no time left for those that are open. */
  endTurns(): void {
    for (const { small, large } of this.#peers.values())
      for (const lane of [small, large]) lane.endTurns(unavailable());
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const peer of this.#peers.values()) stopPeer(peer);
    this.#peers.clear();
  }

  #usable(): Peer[] {
    return [...this.#peers.values()].filter(isReady);
  }

  #pick(open: Open, large: boolean): Lane {
    const peers = knowing(this.#usable(), open.request);
    const key = open.request?.sessionId ?? open.request?.promptCacheKey;
    const peer = key === undefined ? leastLoaded(peers) : rendezvous(peers, open.keyHash + key);
    if (!peer) throw unavailable();
    return large ? peer.large : peer.small;
  }

  async #resolve(): Promise<void> {
    const found = await this.#where();
    for (const address of found) {
      if (this.#peers.has(address)) continue;
      this.#peers.set(address, {
        address,
        small: new Lane(address, this.#transport(address)),
        large: new Lane(address, this.#transport(address)),
      });
    }
    for (const address of found) {
      const peer = this.#peers.get(address) as Peer;
      this.#outages.look(address, isReady(peer), peer.small.failure ?? peer.large.failure);
    }
    // Names forget a process that ends before it has given its turns away: who is still there serves until another one does.
    if (!this.#usable().some(({ address }) => found.has(address))) return;
    for (const [address, peer] of this.#peers) {
      if (found.has(address)) continue;
      this.#peers.delete(address);
      this.#outages.forget(address);
      stopPeer(peer);
    }
  }
}

const isReady = ({ small, large }: Peer): boolean => small.ready && large.ready;

function stopPeer(peer: Peer): void {
  peer.small.stop();
  peer.large.stop();
}

/** Those that know all of a request. @throws Fault UNAVAILABLE when there are others only */
function knowing(peers: readonly Peer[], request: RunTurnRequest | undefined): readonly Peer[] {
  let path: string | undefined;
  for (const { small } of peers) path ??= small.unknown(request);
  if (path === undefined) return peers;
  const left = peers.filter(({ small }) => small.unknown(request) === undefined);
  if (left.length === 0) throw unknownYet(path);
  return left;
}

const load = (peer: Peer): number => peer.small.openTurns + peer.large.openTurns;

function leastLoaded(peers: readonly Peer[]): Peer | undefined {
  let best: Peer | undefined;
  for (const peer of peers) if (!best || load(peer) < load(best)) best = peer;
  return best;
}

/** The same process for the same key as long as it lives and is not overloaded; a lost process moves only its own keys. */
function rendezvous(peers: readonly Peer[], key: string): Peer | undefined {
  const total = peers.reduce((sum, peer) => sum + load(peer), 0);
  const bound = Math.ceil(((total + 1) / Math.max(1, peers.length)) * loadBound);
  const ranked = peers
    .map((peer) => ({ peer, score: fnv1a(`${key}\n${peer.address}`) }))
    .sort((a, b) => b.score - a.score);
  return ranked.find(({ peer }) => load(peer) < bound)?.peer ?? leastLoaded(peers);
}

/** 32-bit FNV-1a with a final mix, so that addresses that differ in one digit do not rank alike for every key. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
