/** Keeps two lanes to every inference process, for small and for large requests, and picks the process for each turn. */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { maxSentTurns } from "@sluice/proto/lib/load/pressure.js";
import { type FairShares, eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { largeInputBytes } from "@sluice/proto/lib/lane/outbox.js";
import type { Resolve } from "./addresses.ts";
import { Lane } from "./lane.ts";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { Outages } from "./outages.ts";
import { PooledTurn, type TurnAssigner, type TurnProcess } from "./pooled-turn.ts";
import { RecentFailures } from "./recent-failures.ts";
import { TurnsByKey } from "./waiting.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Milliseconds between two lookups of names, within which a new pod gets turns. */
const resolveEveryMs = 5_000;
/** Load of a process, relative to the average, above which sticky sessions leave it. */
const loadBound = 1.25;

/** Retry hint in milliseconds for a request field that only newer processes know: about the time to replace a pod. */
const upgradeMs = 30_000;

/** An inference process with its lanes. */
class Peer implements TurnProcess {
  readonly address: string;
  readonly small: Lane;
  readonly large: Lane;
  readonly #failures = new RecentFailures();

  constructor(address: string, openLane: (address: string) => Lane) {
    this.address = address;
    this.small = openLane(address);
    this.large = openLane(address);
  }

  get isReady(): boolean {
    return this.small.ready && this.large.ready;
  }

  /** Number of open turns, plus the weight of recent failures. */
  get load(): number {
    return this.small.openTurns + this.large.openTurns + this.#failures.load;
  }

  failed(): void {
    this.#failures.note();
  }

  stop(): void {
    this.small.stop();
    this.large.stop();
  }
}

/** The fault of a turn during a rolling upgrade: no ready process knows one of the request's fields, but newer processes will be ready soon. */
const unknownYet = (path: string): Fault =>
  new Fault(FaultReason.UNAVAILABLE, `No inference process that is ready knows ${path} yet`, {
    retryAfterMs: upgradeMs,
    origin: FaultOrigin.GATEWAY,
  });

const unavailable = (): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.GATEWAY });

export class LanePool {
  readonly #resolveAddresses: Resolve;
  readonly #connectorFor: (address: string) => Connect;
  readonly #outages: Outages;
  readonly #loop: FairShares;
  readonly #waiting = new TurnsByKey();
  readonly #peers = new Map<string, Peer>();
  #timer: NodeJS.Timeout | undefined;

  constructor(resolveAddresses: Resolve, connectorFor: (address: string) => Connect, log: Logger, loop = eventLoop) {
    this.#resolveAddresses = resolveAddresses;
    this.#connectorFor = connectorFor;
    this.#outages = new Outages(log);
    this.#loop = loop;
  }

  async start(): Promise<void> {
    await this.#resolve();
    this.#timer = setInterval(() => void this.#resolve(), resolveEveryMs);
    this.#timer.unref();
  }

  /** Number of processes accepting turns. */
  get processes(): number {
    return this.#working().length;
  }

  /** Number of processes with a hindrance. They get no turns, or none while other processes can take them. */
  get hindered(): number {
    return this.#usable().filter(({ small }) => small.hindrance !== undefined).length;
  }

  /** Addresses, as host:port, of the processes that get the next turns. */
  get fittest(): readonly string[] {
    return preferUnhindered(this.#working()).map(({ address }) => address);
  }

  /** Addresses, as host:port, of the processes with a session. */
  get addresses(): readonly string[] {
    return this.#usable().map(({ address }) => address);
  }

  /** True while at least one process accepts turns. */
  get ready(): boolean {
    return this.processes > 0;
  }

  /** Number of waiting turns at the process that has the fewest. */
  get waiting(): number {
    const waiting = this.#working().map(({ small, large }) => small.waiting.size + large.waiting.size);
    return waiting.length === 0 ? 0 : Math.min(...waiting);
  }

  /** Whether the waiting turns of a key use up its share of the turns that may be sent to all processes. */
  hasItsShareWaiting(keyHash: string): boolean {
    const share = (maxSentTurns * this.processes) / this.#waiting.keys;
    return this.#waiting.of(keyHash) >= Math.max(1, share);
  }

  /** Resolves once the first process accepts turns; the gateway is not ready before. */
  async greeted(): Promise<void> {
    while (!this.ready) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /**
   * Opens a turn at the process that its session key selects or, without a session key, at the process with the fewest open turns. If the process
   * could not begin the turn, or its session was lost before the turn was sent, the turn is opened again elsewhere without notice to the listener.
   * @throws Fault UNAVAILABLE if no ready process knows all of the request's fields
   */
  open(open: Open, listener: TurnListener): TurnControl {
    return new PooledTurn(open, listener, this.#places);
  }

  readonly #places: TurnAssigner<Peer> = {
    pick: (open, tried) => {
      const working = this.#working();
      // When a process has failed to begin the turn, only one without a hindrance is worth another try.
      const fit = tried.length === 0 ? preferUnhindered(working) : working.filter((peer) => isFresh(peer, tried));
      const peers = preferFree(selectKnowing(fit, open.request), sizeOf(open), open.keyHash);
      const key = open.request?.sessionId ?? open.request?.promptCacheKey;
      const peer = key === undefined ? leastLoaded(peers) : rendezvous(peers, open.keyHash + key);
      if (!peer) throw unavailable();
      return peer;
    },
    open: (peer, open, listener) => peer[sizeOf(open)].open(open, listener),
  };

  /** Checks that every process that could get a request knows its fields.  @throws Fault UNAVAILABLE if one of them does not */
  requireKnown(request: RunTurnRequest): void {
    for (const { small } of this.#usable()) {
      const path = small.findUnknown(request);
      if (path !== undefined) throw unknownYet(path);
    }
  }

  /** Fails all open turns, since this gateway has no time left for them. */
  endTurns(): void {
    for (const { small, large } of this.#peers.values())
      for (const lane of [small, large]) lane.endTurns(unavailable());
  }

  stop(): void {
    clearInterval(this.#timer);
    for (const peer of this.#peers.values()) peer.stop();
    this.#peers.clear();
  }

  #usable(): Peer[] {
    return [...this.#peers.values()].filter(({ isReady }) => isReady);
  }

  /** Ready processes without a hindrance that prevents all of their work. */
  #working(): Peer[] {
    return [...this.#peers.values()].filter(({ isReady, small }) => isReady && small.hindrance !== "whole");
  }

  readonly #openLane = (address: string): Lane =>
    new Lane(address, this.#connectorFor(address), this.#waiting, this.#loop);

  async #resolve(): Promise<void> {
    const found = await this.#resolveAddresses();
    for (const address of found) {
      if (this.#peers.has(address)) continue;
      this.#peers.set(address, new Peer(address, this.#openLane));
    }
    for (const address of found) {
      const peer = this.#peers.get(address) as Peer;
      this.#outages.look(
        address,
        peer.isReady && peer.small.hindrance !== "whole",
        peer.small.failure ?? peer.large.failure,
      );
    }
    // DNS drops a draining process before its turns have ended. Present processes therefore keep serving until a newly found one is ready.
    if (!this.#usable().some(({ address }) => found.has(address))) return;
    for (const [address, peer] of this.#peers) {
      if (found.has(address)) continue;
      this.#peers.delete(address);
      this.#outages.forget(address);
      peer.stop();
    }
  }
}

const sizeOf = ({ request }: Open): "small" | "large" =>
  (request?.inputJson.length ?? 0) > largeInputBytes ? "large" : "small";

/** The processes without a hindrance; all of them if each has one. */
function preferUnhindered(peers: readonly Peer[]): readonly Peer[] {
  if (peers.every(({ small }) => small.hindrance === undefined)) return peers;
  const unhindered = peers.filter(({ small }) => small.hindrance === undefined);
  return unhindered.length > 0 ? unhindered : peers;
}

const isFresh = (peer: Peer, tried: readonly Peer[]): boolean =>
  peer.small.hindrance === undefined && !tried.includes(peer);

/** The processes that know all fields of a request. @throws Fault UNAVAILABLE if none does */
function selectKnowing(peers: readonly Peer[], request: RunTurnRequest | undefined): readonly Peer[] {
  let path: string | undefined;
  for (const { small } of peers) path ??= small.findUnknown(request);
  if (path === undefined) return peers;
  const left = peers.filter(({ small }) => small.findUnknown(request) === undefined);
  if (left.length === 0) throw unknownYet(path);
  return left;
}

/**
 * The processes that will begin another turn of this key soon; all of them if none will. A process divides its time between keys, so a key with many
 * turns at one process would wait for its own turns while other processes are free.
 */
function preferFree(peers: readonly Peer[], size: "small" | "large", keyHash: string): readonly Peer[] {
  const free = peers.filter((peer) => !peer[size].waiting.isFullFor(keyHash));
  return free.length > 0 ? free : peers;
}

function leastLoaded(peers: readonly Peer[]): Peer | undefined {
  let best: Peer | undefined;
  for (const peer of peers) if (!best || peer.load < best.load) best = peer;
  return best;
}

/**
 * Picks a process by rendezvous hashing: a session key gets the same process as long as that process lives and is not overloaded. The loss of a
 * process moves only its own session keys.
 */
function rendezvous(peers: readonly Peer[], key: string): Peer | undefined {
  const total = peers.reduce((sum, peer) => sum + peer.load, 0);
  const bound = Math.ceil(((total + 1) / Math.max(1, peers.length)) * loadBound);
  const ranked = peers
    .map((peer) => ({ peer, score: fnv1a(`${key}\n${peer.address}`) }))
    .sort((a, b) => b.score - a.score);
  return ranked.find(({ peer }) => peer.load < bound)?.peer ?? leastLoaded(peers);
}

/** 32-bit FNV-1a hash with a final mix. Without the mix, addresses that differ in one digit would rank alike for every key. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ unitAt(text, i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
