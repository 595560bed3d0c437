/** Classifies database errors: whether to retry the transaction, to try again later, or to report a bug of Sluice. */
import { DatabaseError } from "pg";

/**
 * SQLSTATE of a serialization failure and of a deadlock: nothing was written, and a retry succeeds with another order
 * of locks.
 */
const conflicts = new Set(["40001", "40P01"]);

const uniqueViolation = "23505";

/** SQLSTATE of a lock not obtained in time. */
export const lockNotAvailable = "55P03";

/** SQLSTATE of a statement that exceeded its time limit. */
const queryCanceled = "57014";

/** SQLSTATE classes and codes of temporary errors. */
const passing = [
  "08", // connection
  "40", // conflict that persisted through retries
  "53", // disk, memory, connections
  "57", // shutdown, start-up, statement_timeout
  "58", // system error
  "25006", // read-only server: a failover is in progress
  "25P03", // idle_in_transaction_session_timeout
  lockNotAvailable,
];

/** Error texts of the driver pg and its pool that have no error code. */
const lostConnection =
  /^(Connection terminated|Connection ended|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** Whether a lock was not obtained in time, or the statement was ended because another statement waited for it. */
export const isLockRefused = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === lockNotAvailable || error.code === "40P01");

/** Whether a statement exceeded its time limit, measured by the server or, for a dead connection, by this process. */
export const isStatementTimeout = (error: unknown): boolean =>
  error instanceof DatabaseError
    ? error.code === queryCanceled
    : error instanceof Error && error.message.startsWith("Query read timeout");

/** Whether the database user lacks the privilege for a statement. */
export const isPermissionDenied = (error: unknown): boolean => error instanceof DatabaseError && error.code === "42501";

/**
 * Unique indexes that only concurrent transactions can violate, because each batch first searches for stored rows of
 * its turns.
 */
const concurrentIndex = /^ledger_\d{8}_turn$/;

/**
 * Whether the transaction conflicted with another one, and nothing was written. A retry sees the rows of the other
 * transaction.
 */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return (
    conflicts.has(error.code ?? "") || (error.code === uniqueViolation && concurrentIndex.test(error.constraint ?? ""))
  );
}

/** Whether the database is unavailable, overloaded or too slow, so the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseError) return passing.some((prefix) => error.code?.startsWith(prefix));
  if (typeof error !== "object" || error === null) return false;
  // Errors of the operating system name a system call; a host with several addresses gives one error per address.
  if ("syscall" in error) return true;
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.every(isOutage);
  return "message" in error && lostConnection.test(String(error.message));
}

/**
 * Whether the error concerns only this statement: the server refused it, or it took too long. The next statement may
 * succeed.
 */
export const isOfStatement = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === queryCanceled || !isOutage(error));

/**
 * Text of an error, or of its causes: a failed connection to a host with several addresses has one cause for each
 * address, and no text of its own.
 */
export function errorReason(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  if ("errors" in error && Array.isArray(error.errors)) return error.errors.map(errorReason).join(", ");
  return "message" in error ? String(error.message) : "unknown error";
}

/** Error text for operators, after waiting for the database. */
export const outageText = (error: unknown): string => `the database cannot be reached: ${errorReason(error)}`;
