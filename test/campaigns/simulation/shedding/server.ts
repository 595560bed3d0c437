/**
 * A simulated inference process: its end of the lanes, the fair shares of its event loop and its memory are Sluice's code. A turn's processor time
 * before and after the provider's answer is simulated.
 */
import type { Open, SessionRequest } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { Connect, Link, LinkListener } from "@sluice/proto/lib/lane/link.js";
import type { ServerTurn } from "@sluice/inference-svc/entry/lane/server-turn.js";
import { ServerLane, type TurnRunner } from "@sluice/inference-svc/entry/lane/server-lane.js";
import { overloadedFault } from "@sluice/inference-svc/engine/admission.js";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { FairShares } from "@sluice/proto/lib/load/fair-shares.js";
import { Pressure } from "@sluice/proto/lib/load/pressure.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { Random } from "../../../support/random.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { SimulatedProcess } from "./process.ts";
import type { ClientAnswer } from "./request.ts";
import { SimulatedConnection } from "./wire.ts";

/** Share of a turn's processor time before the call of the provider. */
const beginShare = 0.6;
/** Milliseconds to read a message. */
const messageMs = 0.02;
/** Minimum response time of a provider in milliseconds. */
const leastAnswerMs = 100;
const furtherAnswerMs = 200;
export const meanAnswerMs = leastAnswerMs + furtherAnswerMs;
const requestBytes = 8 * 1024;
const memoryBytes = 1024 ** 3;
/** Milliseconds after which every gateway has found a started process: a gateway tries to connect every 0.75 s at least. */
const connectMs = 1_000;

export interface ServerOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly address: string;
  /** Mean processor time of a turn in milliseconds. */
  readonly turnMs: number;
  readonly slowness: number;
  /** Called when a turn begins. @param requestId request id of the turn */
  readonly begun: (requestId: string, now: number) => void;
}

const log = { warn: () => {} };

export class SimulatedServer implements TurnRunner {
  readonly options: ServerOptions;
  /** The running process; undefined while it is lost. */
  process: SimulatedProcess | undefined;
  #loop = new FairShares();
  #budget: ByteBudget | undefined;
  #pressure: Pressure | undefined;
  #startedAt = 0;
  readonly #sessions = new Set<Session>();
  /** Callbacks of unanswered calls that came without a gateway. */
  readonly #direct = new Set<(answer: ClientAnswer) => void>();

  constructor(options: ServerOptions) {
    this.options = options;
    this.start();
  }

  start(): void {
    const { time, slowness } = this.options;
    const process = new SimulatedProcess(time, slowness);
    this.process = process;
    this.#loop = new FairShares({ now: () => process.now, used: () => process.now });
    const registry = new Registry();
    this.#budget = new ByteBudget({ origin: FaultOrigin.INFERENCE, registry, bytes: memoryBytes });
    const pressure = new Pressure({ waiting: () => 0, memory: () => 0, log, registry });
    this.#pressure = pressure;
    this.#startedAt = time.now;
    process.receive(() => pressure.start());
  }

  /** Whether the process has nothing to do, although every gateway has had the time to find it. */
  get isIdle(): boolean {
    return this.process?.isIdle === true && this.options.time.now - this.#startedAt > connectMs;
  }

  /** Kills the process, so its connections break. */
  lose(): void {
    this.process?.kill();
    this.process = undefined;
    for (const session of this.#sessions) session.lost();
    this.#sessions.clear();
    for (const answered of this.#direct) answered({ status: 502, retryAfterMs: 0 });
    this.#direct.clear();
  }

  /** Serves a call that comes without a gateway, like the handler of RunTurn. */
  serve(keyHash: string, id: string, answered: (answer: ClientAnswer) => void): void {
    const { process } = this;
    if (process === undefined) return answered({ status: 502, retryAfterMs: 0 });
    this.#direct.add(answered);
    const answer = (given: ClientAnswer) => {
      if (this.#direct.delete(answered)) answered(given);
    };
    process.receive(() => {
      if (this.#pressure!.refuses()) return answer(overloadedFault());
      void this.#work(keyHash, id, () => {}).then(() => answer({ status: 200, retryAfterMs: 0 }));
    });
  }

  /** Opens sessions for a gateway. */
  connectFrom(gateway: SimulatedProcess): Connect {
    return (listener) => new Session(this, gateway, listener);
  }

  /** @returns the lane of a new session; undefined while the process is lost */
  greet(session: Session): ServerLane | undefined {
    const { process } = this;
    if (process === undefined) return undefined;
    this.#sessions.add(session);
    const { address: instance } = this.options;
    return new ServerLane({ instance, draining: false, messages: session, runner: this, loop: this.#loop });
  }

  async run({ keyHash, requestId }: Open, turn: ServerTurn): Promise<void> {
    await this.#work(keyHash, requestId, () => turn.accepted());
    void turn.take({ events: [], cost: 1_000 }, true);
  }

  /** Runs a turn. @param accepted called when the turn begins */
  async #work(keyHash: string, id: string, accepted: () => void): Promise<void> {
    const { time, random, begun } = this.options;
    const process = this.process!;
    const room = this.#budget!.open(keyHash);
    const workMs = this.#drawWork();
    process.work(beginShare * workMs);
    const waiting = room.grow(requestBytes);
    if (waiting) await waiting;
    accepted();
    begun(id, process.now);
    await new Promise<void>((answered) => {
      time.after(leastAnswerMs + random.exponential(furtherAnswerMs), () => process.receive(answered));
    });
    process.work((1 - beginShare) * workMs);
    room.release();
  }

  /** Random processor time of a turn in milliseconds: at least half of the mean. */
  #drawWork(): number {
    const { random, turnMs } = this.options;
    return turnMs / 2 + random.exponential(turnMs / 2);
  }
}

/** A session between a gateway and an inference process. */
class Session implements Link {
  readonly #server: SimulatedServer;
  readonly #gateway: SimulatedProcess;
  readonly #listener: LinkListener;
  readonly #up: SimulatedConnection;
  readonly #down: SimulatedConnection;
  #process: SimulatedProcess | undefined;
  #lane: ServerLane | undefined;
  #isClosed = false;

  constructor(server: SimulatedServer, gateway: SimulatedProcess, listener: LinkListener) {
    const { time, random } = server.options;
    this.#server = server;
    this.#gateway = gateway;
    this.#listener = listener;
    this.#up = new SimulatedConnection(time, random);
    this.#down = new SimulatedConnection(time, random);
    this.#up.send(() => this.#arrive());
  }

  /** Sends a message; both the gateway and the inference process call it. */
  readonly write = (message: Parameters<Link["write"]>[0] | Parameters<LinkListener["message"]>[0]): boolean => {
    if (message.$typeName === "sluice.inference.v1.SessionRequest") this.#toServer(message);
    else this.#toGateway(() => this.#listener.message(message));
    return true;
  };

  close(): void {
    this.#up.send(() => this.#end(undefined));
  }

  lost(): void {
    this.#end(new Error("the process was lost"));
  }

  #arrive(): void {
    this.#process = this.#server.process;
    if (this.#process === undefined) return this.#end(new Error("refused"));
    this.#process.receive(() => (this.#lane = this.#server.greet(this)));
  }

  #toServer(message: SessionRequest): void {
    this.#up.send(() =>
      this.#process?.receive(() => {
        this.#process?.work(messageMs);
        this.#lane?.receive(message);
      }),
    );
  }

  #toGateway(deliver: () => void): void {
    this.#down.send(() =>
      this.#gateway.receive(() => {
        this.#gateway.work(messageMs);
        deliver();
      }),
    );
  }

  #end(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#toGateway(() => this.#listener.closed(error));
  }
}
