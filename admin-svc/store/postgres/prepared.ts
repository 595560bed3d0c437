/**
 * Statements that each connection prepares once. Planning a statement for a batch takes longer than executing it: Postgres estimates each value of its arrays in
 * each partition of the ledger, while a prepared statement soon gets a plan for any values.
 */
import { type RawBuilder, sql } from "kysely";
import type { ClientBase } from "pg";

const mark = /^-- prepared as ([a-z_]{1,40})\n/;

/** Starts a statement whose text is always the same. @param name unique among the prepared statements */
export const preparedAs = (name: string): RawBuilder<unknown> => sql.raw(`-- prepared as ${name}\n`);

type Query = (this: unknown, ...args: readonly unknown[]) => unknown;

/** Lets a client prepare marked statements. The library overloads the method six times, so its arguments are passed on as they are. */
export function prepareMarked(client: ClientBase): void {
  const query = client.query.bind(client) as Query;
  const preparing: Query = (...args) => {
    const [text, values] = args;
    const name = typeof text === "string" ? mark.exec(text)?.[1] : undefined;
    return name === undefined ? query(...args) : query({ name, text, values });
  };
  client.query = preparing as ClientBase["query"];
}
