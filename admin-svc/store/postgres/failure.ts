/** Classifies database errors: retry the transaction, come back later, or a bug of Sluice. */
import { DatabaseError } from "pg";

/** Serialization failure and deadlock: nothing was written, and a retry runs in another order. */
const conflicts = new Set(["40001", "40P01"]);

const uniqueViolation = "23505";

/** SQLSTATE of a lock not obtained in time. */
export const lockNotAvailable = "55P03";

/** SQLSTATE of a statement over its time limit. */
const queryCanceled = "57014";

/** SQLSTATE classes and codes of temporary errors. */
const passing = [
  "08", // connection
  "40", // conflict that outlived its retries
  "53", // disk, memory, connections
  "57", // shutdown, start-up, statement_timeout
  "58", // system error
  "25006", // read-only: a failover is under way
  "25P03", // idle_in_transaction_session_timeout
  lockNotAvailable,
];

/** Error texts of pg and its pool for errors without a code. */
const lostConnection =
  /^(Connection terminated|Connection ended|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** True when a lock was not obtained in time, or another statement was waiting for this statement. */
export const isLockRefused = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === lockNotAvailable || error.code === "40P01");

/** True when a statement exceeded its time limit, on the server or, for a dead connection, on this side. */
export const isStatementTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError
    ? error.code === queryCanceled
    : error instanceof Error && error.message.startsWith("Query read timeout");

/** True when the database user lacks the right. */
export const isPermissionDenied = (error: unknown): boolean => error instanceof DatabaseError && error.code === "42501";

/** Unique indexes that only a concurrent transaction can violate: each batch looks for stored rows of its turns first. */
const concurrentIndex = /^ledger_\d{8}_turn$/;

/** True when the transaction met another one, and nothing was written. A retry sees the other one's rows. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return (
    conflicts.has(error.code ?? "") || (error.code === uniqueViolation && concurrentIndex.test(error.constraint ?? ""))
  );
}

/** True when the database is away, busy or too slow, and the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseError) return passing.some((prefix) => error.code?.startsWith(prefix));
  if (typeof error !== "object" || error === null) return false;
  // Errors of the operating system name a system call; a host with several addresses gives one error per address.
  if ("syscall" in error) return true;
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.every(isOutage);
  return "message" in error && lostConnection.test(String(error.message));
}

/** True when the server refused the statement for what it does, or it took too long. Without it, the next one may succeed. */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === queryCanceled || !isOutage(error));

/** Text of an error. An error that collects one cause for each address has no text itself. */
export function errorReason(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.map(errorReason).join(", ");
  return "message" in error ? String(error.message) : "unknown error";
}

/** Error text for operators, after waiting for the database. */
export const outageText = (error: unknown): string => `the database cannot be reached: ${errorReason(error)}`;
