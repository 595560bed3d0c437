/**
 * SQL statements that each connection prepares once. Planning a statement for a batch takes longer than running it:
 * Postgres estimates each value of its arrays in each partition of the ledger. A prepared statement soon gets a generic
 * plan instead.
 */
import { type RawBuilder, sql } from "kysely";
import type { ClientBase } from "pg";

const mark = /^-- prepared as ([a-z_]{1,40})\n/;

/** Marks a statement with a constant text to be prepared. @param name unique among the prepared statements */
export const preparedAs = (name: string): RawBuilder<unknown> => sql.raw(`-- prepared as ${name}\n`);

type Query = (this: unknown, ...args: readonly unknown[]) => unknown;

/**
 * Makes a client prepare marked statements. The driver overloads the method six times, so the arguments are passed on
 * unchanged.
 */
export function prepareMarked(client: ClientBase): void {
  const query = client.query.bind(client) as Query;
  const preparing: Query = (...args) => {
    const [text, values] = args;
    const name = typeof text === "string" ? mark.exec(text)?.[1] : undefined;
    return name === undefined ? query(...args) : query({ name, text, values });
  };
  client.query = preparing as ClientBase["query"];
}
