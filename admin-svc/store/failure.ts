/** What an error of the database means: try the transaction again, come back later, or a bug of ours. */
import { DatabaseError } from "pg";

/** Serialisation failure and deadlock: nothing was written, and a second try meets another order. */
const conflicts = new Set(["40001", "40P01"]);

/** SQLSTATE classes and codes that pass by themselves. */
const passing = [
  "08", // connection
  "40", // conflict that outlived its retries
  "53", // disk, memory, connections
  "57", // shutdown, start-up, statement_timeout
  "58", // system error
  "25006", // read-only: a failover is under way
  "25P03", // idle_in_transaction_session_timeout
  "55P03", // lock_timeout
];

/** The texts of pg and its pool, which carry no code. */
const lostConnection =
  /^(Connection terminated|Connection ended|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && conflicts.has(error.code ?? "");
}

/** True when the database is away, busy or too slow, and the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseError) return passing.some((prefix) => error.code?.startsWith(prefix));
  if (typeof error !== "object" || error === null) return false;
  // The system's own errors name their call; a host with several addresses gives one for each.
  if ("syscall" in error) return true;
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.every(isOutage);
  return "message" in error && lostConnection.test(String(error.message));
}

/** An error with one cause for each address tried has no text of its own. */
export function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.map(reasonOf).join(", ");
  return "message" in error ? String(error.message) : "unknown error";
}

/** For people, of an outage that was waited for long enough. */
export const outageText = (error: unknown): string => `the database cannot be reached: ${reasonOf(error)}`;
