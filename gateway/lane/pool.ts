/** Keeps two lanes to every inference process, a small and a large one, and picks the process for a turn. */
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

/** Interval of name resolution: a new pod gets turns within this time. */
const resolveEveryMs = 5_000;
/** A sticky session leaves its process when the process has a quarter more turns than the average. */
const loadBound = 1.25;

/** Retry-After for a field known only to newer processes: about the time to replace a pod. */
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

  /** Open turns, plus the weight of recent failures. */
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

/** Fault during a rolling upgrade: no ready process knows a field of the request yet, but newer processes will soon be ready. */
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

  /** Number of hindered processes, which get no turns, or none while others can take them. */
  get hindered(): number {
    return this.#usable().filter(({ small }) => small.hindrance !== undefined).length;
  }

  /** Addresses of the processes for the next turns, host:port. */
  get fittest(): readonly string[] {
    return preferUnhindered(this.#working()).map(({ address }) => address);
  }

  /** Addresses of the processes with sessions, host:port. */
  get addresses(): readonly string[] {
    return this.#usable().map(({ address }) => address);
  }

  /** True while at least one process accepts turns. */
  get ready(): boolean {
    return this.processes > 0;
  }

  /** Number of waiting turns of the process with the fewest. */
  get waiting(): number {
    const waiting = this.#working().map(({ small, large }) => small.waiting.size + large.waiting.size);
    return waiting.length === 0 ? 0 : Math.min(...waiting);
  }

  /** Whether the waiting turns of a key use up its share of the turns that may be sent to all processes. */
  hasItsShareWaiting(keyHash: string): boolean {
    const share = (maxSentTurns * this.processes) / this.#waiting.keys;
    return this.#waiting.of(keyHash) >= Math.max(1, share);
  }

  /** Settles when the first process accepts turns; until then the gateway is not ready. */
  async greeted(): Promise<void> {
    while (!this.ready) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /**
   * Opens a turn on the process selected by its session key, or otherwise on the process with the fewest open turns. A turn that its process could not
   * begin, or whose session was lost before it was sent, is opened again elsewhere, unnoticed by the listener.
   * @throws Fault UNAVAILABLE when no ready process knows all of the request's fields
   */
  open(open: Open, listener: TurnListener): TurnControl {
    return new PooledTurn(open, listener, this.#places);
  }

  readonly #places: TurnAssigner<Peer> = {
    pick: (open, tried) => {
      const working = this.#working();
      // After processes that failed to begin the turn, only an unhindered process is worth a try.
      const fit = tried.length === 0 ? preferUnhindered(working) : working.filter((peer) => isFresh(peer, tried));
      const peers = preferFree(selectKnowing(fit, open.request), sizeOf(open), open.keyHash);
      const key = open.request?.sessionId ?? open.request?.promptCacheKey;
      const peer = key === undefined ? leastLoaded(peers) : rendezvous(peers, open.keyHash + key);
      if (!peer) throw unavailable();
      return peer;
    },
    open: (peer, open, listener) => peer[sizeOf(open)].open(open, listener),
  };

  /**
   * Checks a request that may go to any process.
   * @throws Fault UNAVAILABLE when one of them does not know all of its fields
   */
  requireKnown(request: RunTurnRequest): void {
    for (const { small } of this.#usable()) {
      const path = small.findUnknown(request);
      if (path !== undefined) throw unknownYet(path);
    }
  }

  /** Fails all open turns, when this process has no time left for them. */
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

  /** Usable processes that can do their work. */
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
    // DNS drops a draining process before its turns have ended: the remaining processes keep serving until a new one is usable.
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

/** Processes without a reported shortage; all of them when every process is short. */
function preferUnhindered(peers: readonly Peer[]): readonly Peer[] {
  if (peers.every(({ small }) => small.hindrance === undefined)) return peers;
  const unhindered = peers.filter(({ small }) => small.hindrance === undefined);
  return unhindered.length > 0 ? unhindered : peers;
}

const isFresh = (peer: Peer, tried: readonly Peer[]): boolean =>
  peer.small.hindrance === undefined && !tried.includes(peer);

/** Processes that know all fields of a request. @throws Fault UNAVAILABLE when none does */
function selectKnowing(peers: readonly Peer[], request: RunTurnRequest | undefined): readonly Peer[] {
  let path: string | undefined;
  for (const { small } of peers) path ??= small.findUnknown(request);
  if (path === undefined) return peers;
  const left = peers.filter(({ small }) => small.findUnknown(request) === undefined);
  if (left.length === 0) throw unknownYet(path);
  return left;
}

/**
 * Processes that will soon begin another turn of a key; all of them when there is none. Processes divide their time between keys: a key with many turns or
 * sessions at a slow process would wait for its own turns while other processes have time.
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

/** Picks the same process for the same key while that process lives and is not overloaded. The loss of a process moves only its own keys. */
function rendezvous(peers: readonly Peer[], key: string): Peer | undefined {
  const total = peers.reduce((sum, peer) => sum + peer.load, 0);
  const bound = Math.ceil(((total + 1) / Math.max(1, peers.length)) * loadBound);
  const ranked = peers
    .map((peer) => ({ peer, score: fnv1a(`${key}\n${peer.address}`) }))
    .sort((a, b) => b.score - a.score);
  return ranked.find(({ peer }) => peer.load < bound)?.peer ?? leastLoaded(peers);
}

/** 32-bit FNV-1a with a final mix; without the mix, addresses that differ in one digit would rank alike for every key. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ unitAt(text, i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
