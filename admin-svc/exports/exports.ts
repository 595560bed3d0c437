/** Exports: any process of admin-svc delivers turns to sinks, in the order of their records. */
import { toTurnJson } from "@sluice/proto/contract/records/generations.js";
import type { ExportSettings } from "@sluice/proto/config/sinks/exports.js";
import { backoffMs } from "../sinks/backoff.ts";
import { type ExportMetrics, exportMetrics } from "../sinks/metrics.ts";
import type { SinkDeps } from "../sinks/parts.ts";
import { SinkError, post } from "../sinks/post.ts";
import {
  type ExportBatch,
  type ExportLag,
  advanceCursor,
  claimBatch,
  exportLags,
  logSettledTurns,
  openCursors,
  postponeBatch,
  turnsOfBatch,
} from "../store/exports/cursors.ts";
import { toGeneration } from "../store/ledger/turn-messages.ts";
import { buildBatch, maxTurns } from "./targets.ts";

/** Time in milliseconds for which a process claims a batch; longer than the timeout of a delivery attempt. */
const claimMs = 30_000;

export class Exports {
  readonly #parts: SinkDeps;
  readonly #metrics: ExportMetrics;
  #lags: readonly ExportLag[] = [];

  constructor(parts: SinkDeps) {
    this.#parts = parts;
    this.#metrics = exportMetrics(parts.registry, () => this.#lags);
  }

  /** Delivers all due batches until the sinks have them or refuse. */
  async deliver(): Promise<void> {
    const { settings, log, database, now } = this.#parts;
    const { exports } = settings();
    if (exports.length === 0) return;
    const rounds = exports.map((sink) => this.#deliverTo(sink));
    for (const round of await Promise.allSettled(rounds))
      if (round.status === "rejected") log.warn({ err: round.reason }, "sinks cannot be served");
    const lags = await exportLags(database, now());
    this.#lags = lags.filter(({ export: name }) => exports.some((each) => each.name === name));
  }

  async #deliverTo(sink: ExportSettings): Promise<void> {
    const { database, now } = this.#parts;
    await openCursors(database, sink, now());
    await logSettledTurns(database, sink.name, now());
    for (;;) {
      const until = new Date(now().getTime() + claimMs);
      const claim = { name: sink.name, now: now(), until, limit: maxTurns(sink) };
      const batch = await claimBatch(database, claim);
      if (!batch) return;
      if (batch === "busy") continue;
      await this.#attempt(sink, batch);
    }
  }

  async #attempt(sink: ExportSettings, batch: ExportBatch): Promise<void> {
    const { database, now } = this.#parts;
    const rows = await turnsOfBatch(database, batch);
    try {
      const turns = rows.map((row) => toTurnJson(toGeneration(row)));
      if (turns.length > 0) await post(await buildBatch(sink, { batch, turns }, now()));
    } catch (error) {
      if (!(error instanceof SinkError)) throw error;
      await this.#failed(batch, error);
      return;
    }
    this.#metrics.turns.labels({ sink: sink.name }).inc(rows.length);
    this.#metrics.attempts.labels({ sink: sink.name, result: "delivered" }).inc();
    const pauseMs = rows.length < maxTurns(sink) ? sink.every_seconds * 1_000 : 0;
    await advanceCursor(database, batch, new Date(now().getTime() + pauseMs));
  }

  async #failed(batch: ExportBatch, { message: reason }: SinkError): Promise<void> {
    const { database, now, log } = this.#parts;
    const { export: sink, attempts } = batch;
    this.#metrics.attempts.labels({ sink, result: "failed" }).inc();
    log.warn({ sink, attempts, reason }, "a batch was not exported; it is tried again");
    await postponeBatch(database, batch, new Date(now().getTime() + backoffMs(attempts)), reason);
  }
}
