/**
 * Reservations of one workspace wait for one another here and not in the database, where each would hold a connection meanwhile. Those that
 * have come together while the last ones were decided are decided together.
 */
import type { Kysely } from "kysely";
import { type Reservation, type Reserved, reserveBudget } from "../store/budgets.ts";
import type { Database } from "../store/database.ts";

interface Waiting {
  readonly reservation: Reservation;
  readonly resolve: (reserved: Reserved) => void;
  readonly reject: (error: unknown) => void;
}

export class Reservations {
  readonly #database: Kysely<Database>;
  /** By workspace, while it is being decided about. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(database: Kysely<Database>) {
    this.#database = database;
  }

  reserve(workspaceId: string, reservation: Reservation): Promise<Reserved> {
    return new Promise((resolve, reject) => {
      const entry = { reservation, resolve, reject };
      const waiting = this.#waiting.get(workspaceId);
      if (waiting) return void waiting.push(entry);
      this.#waiting.set(workspaceId, []);
      void this.#decide(workspaceId, [entry]);
    });
  }

  async #decide(workspaceId: string, first: readonly Waiting[]): Promise<void> {
    for (let batch = first; batch.length > 0; batch = this.#waiting.get(workspaceId)?.splice(0) ?? []) {
      try {
        const wanted = batch.map(({ reservation }) => reservation);
        const decided = await reserveBudget(this.#database, wanted);
        for (const [index, { resolve }] of batch.entries()) resolve(decided[index] as Reserved);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#waiting.delete(workspaceId);
  }
}
