/** Reservations of one workspace wait for one another here and not in the database, where each would hold a connection meanwhile. */
import type { Kysely } from "kysely";
import { type Reservation, type Reserved, dropReservations, reserveBudget } from "../store/budgets.ts";
import type { Database } from "../store/database.ts";
import { Batches, type Waiting } from "./batches.ts";

export class Reservations {
  readonly #database: Kysely<Database>;
  readonly #batches: Batches<Reservation, Reserved>;

  constructor(database: Kysely<Database>) {
    this.#database = database;
    this.#batches = new Batches({ take: (waiting) => waiting.splice(0), work: (batch) => this.#decide(batch) });
  }

  /** @param signal aborted when the caller has given up: then nothing is held for it */
  reserve(workspaceId: string, reservation: Reservation, signal: AbortSignal): Promise<Reserved> {
    return this.#batches.join(workspaceId, reservation, signal);
  }

  async #decide(batch: readonly Waiting<Reservation, Reserved>[]): Promise<void> {
    const decided = await reserveBudget(
      this.#database,
      batch.map(({ item }) => item),
    );
    const lost = batch.filter(({ signal }) => signal.aborted);
    for (const [index, { resolve }] of batch.entries()) resolve(decided[index] as Reserved);
    // A call that nobody makes would hold it for ten minutes. Before the next are decided: one of them may be the same call, asked again.
    if (lost.length > 0)
      await dropReservations(
        this.#database,
        lost.map(({ item }) => item),
      );
  }
}
