/**
 * A simulated gateway: its lanes, its choice of an inference process, the fair shares of its event loop, its memory and its refusals are Sluice's
 * code. The processor time of a request is simulated.
 */
import type { IncomingMessage } from "node:http";
import { create } from "@bufbuild/protobuf";
import { LoadShedding } from "@sluice/gateway/edge/http/load-shedding.js";
import { refusalText } from "@sluice/gateway/edge/http/shed.js";
import { LanePool } from "@sluice/gateway/lane/pool.js";
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { FairShares } from "@sluice/proto/lib/load/fair-shares.js";
import { Pressure } from "@sluice/proto/lib/load/pressure.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { VirtualTime } from "../virtual-time.ts";
import { SimulatedProcess } from "./process.ts";
import type { GatewayRequest } from "./request.ts";
import type { SimulatedServer } from "./server.ts";

/** Milliseconds to read a request: of a request of 1 KB, 0.14 ms are the gateway's, and a refusal takes 81 us (docs/operate/overload.md). */
const readMs = 0.09;
const answerMs = 0.05;
const refuseMs = 0.081;
/** Bytes of memory that a gateway reserves for a body of 2 KB. */
const roomBytes = 6 * 1024;
const memoryBytes = 512 * 1024 ** 2;
const log = openLog("simulation", "silent");

export class SimulatedGateway {
  readonly process: SimulatedProcess;
  readonly pool: LanePool;
  readonly pressure: Pressure;
  readonly #shedding: LoadShedding;
  readonly #loop: FairShares;
  readonly #budget: ByteBudget;

  constructor(time: VirtualTime, servers: ReadonlyMap<string, SimulatedServer>) {
    const process = new SimulatedProcess(time);
    const registry = new Registry();
    this.process = process;
    this.#loop = new FairShares({ now: () => process.now, used: () => process.now });
    this.#budget = new ByteBudget({ origin: FaultOrigin.GATEWAY, registry, bytes: memoryBytes });
    const connectorFor = (address: string) => servers.get(address)!.connectFrom(process);
    this.pool = new LanePool(async () => new Set(servers.keys()), connectorFor, log, this.#loop);
    this.pressure = new Pressure({ waiting: () => this.pool.waiting, memory: () => 0, log, registry });
    const { pool, pressure } = this;
    this.#shedding = new LoadShedding({ pool, pressure, cors: undefined, lifecycle: new Lifecycle(log) });
    process.receive(() => {
      void pool.start();
      pressure.start();
    });
  }

  /** Serves a request that has arrived, like the route of turns. */
  serve(request: GatewayRequest): void {
    const message = { headers: request.key.headers, socket: request.key.connection } as unknown as IncomingMessage;
    if (this.#shedding.refuses(message)) return this.#refuse(request);
    void this.#open(request).catch((error: unknown) => answerFault(request, Fault.from(error)));
  }

  #refuse(request: GatewayRequest): void {
    this.process.work(refuseMs);
    const retryAfterMs = Number(/^retry-after-ms: (\d+)\r$/m.exec(refusalText())?.[1]);
    request.answered({ status: 503, retryAfterMs });
  }

  async #open(request: GatewayRequest): Promise<void> {
    const turn = this.#loop.turnOf(request.key.hash);
    if (turn) await turn;
    this.process.work(readMs);
    const room = this.#budget.open(request.key.hash);
    const waiting = room.grow(roomBytes);
    if (waiting) await waiting;
    this.pool.open(toOpen(request), {
      accepted: () => room.release(),
      events: () => {},
      ended: () => {
        this.process.work(answerMs);
        request.answered({ status: 200, retryAfterMs: 0 });
      },
      failed: (fault) => {
        room.release();
        answerFault(request, fault);
      },
    });
  }
}

const answerFault = ({ answered }: GatewayRequest, { status, retryAfterMs }: Fault): void =>
  answered({ status, retryAfterMs });

const inputJson = new Uint8Array(2 * 1024);

const toOpen = ({ id, key, session }: GatewayRequest): Open => ({
  $typeName: "sluice.inference.v1.Open",
  request: create(RunTurnRequestSchema, { inputJson, ...(session !== undefined && { sessionId: session }) }),
  keyHash: key.hash,
  requestId: id,
  generationId: id,
  policyGeneration: 0n,
  deadlineMs: 0,
  credit: 0,
  atMostOnce: true,
  traceparent: "",
  tracestate: "",
});
