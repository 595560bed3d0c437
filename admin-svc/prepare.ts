/**
 * Prepares a database for serving: waits until it answers, migrates it to this build's schema, and registers the
 * operator's keys.
 */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Kysely } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import { migrate } from "./store/postgres/migrate.ts";
import type { Author } from "./store/audit.ts";
import { trimAlerts } from "./store/alerts/outbox.ts";
import { dropOldActivity } from "./store/ledger/activity.ts";
import { openDays } from "./store/ledger/days.ts";
import { shiftAfterRestore } from "./store/ledger/ledger-sums.ts";
import { forgetProcesses } from "./store/ledger/holds.ts";
import { dropOldTagSums } from "./store/ledger/tag-accounts.ts";
import { type Database, defaultWorkspaceId } from "./store/database.ts";
import { isOutage, outageText } from "./store/postgres/failure.ts";
import { registerKey } from "./store/first-key.ts";
import { trimPolicyLog } from "./store/policy.ts";
import { dropEndedSessions } from "./store/console/sessions.ts";
import { type Role, migrationConnectionLimits, openDatabase } from "./store/postgres/postgres.ts";
import { grantRuntime, runtimeRole } from "./store/postgres/roles.ts";
import { runInTransaction } from "./store/postgres/transaction.ts";
import { requireSessions } from "./store/postgres/sessions.ts";

const waitLimitMs = 30_000;
/**
 * Pauses in milliseconds between attempts to connect, doubled from the first to the longest: a database that starts at
 * the same time is often ready within a moment.
 */
const pauseMs = { first: 25, longest: 250 };

/**
 * Retries work that a start needs while the database is starting, restarting or too slow. @throws Error when it does
 * not succeed in time
 */
export async function retryUntilAnswered<Result>(log: Logger, work: () => Promise<Result>): Promise<Result> {
  const until = performance.now() + waitLimitMs;
  for (let pause = pauseMs.first; ; pause = Math.min(2 * pause, pauseMs.longest)) {
    try {
      return await work();
    } catch (error) {
      if (!isOutage(error)) throw error;
      if (performance.now() > until) throw new Error(outageText(error), { cause: error });
      log.warn({ err: error }, "waiting for the database");
      await delay(pause);
    }
  }
}

/**
 * Waits for the database, migrates it, and grants the role for serving.
 * @returns the role
 * @throws NewerSchemaError, NoSessionError
 */
export async function prepareSchema(databaseUrl: string, log: Logger): Promise<Role> {
  const database = openDatabase(databaseUrl, migrationConnectionLimits, (error) =>
    log.debug({ err: error }, "connection lost"),
  );
  try {
    return await retryUntilAnswered(log, async () => {
      await requireSessions(databaseUrl);
      await migrate(database, log);
      if (await grantRuntime(database)) return runtimeRole;
      log.warn(
        { role: runtimeRole },
        "the database user cannot take this role, so admin-svc serves with all rights of the user",
      );
      return undefined;
    });
  } finally {
    await database.destroy();
  }
}

const bootstrap: Author = {
  workspaceId: defaultWorkspaceId,
  keyHash: null,
  program: "bootstrap",
  requestId: null,
  ofAccount: true,
};

/** Registers the operator's keys that the database lacks. A known key stays unchanged, even if it was revoked. */
export async function registerKeys(database: Kysely<Database>, keys: readonly string[], log: Logger): Promise<void> {
  for (const key of keys) {
    const created = await registerKey(database, bootstrap, { name: "bootstrap", key });
    if (created) log.info({ label: created.row.label, kind: created.row.kind }, "bootstrap key registered");
  }
}

/**
 * Runs maintenance now and every hour: continues the ledger's numbers after a restore, creates the partitions of its
 * next days, and removes old log entries, lost processes, ended sessions, old alerts, old sums of tags and activity
 * that is no longer reported.
 */
export async function startHourlyCleanup(database: Kysely<Database>, log: Logger): Promise<NodeJS.Timeout> {
  await trimPolicyLog(database);
  await openDays(database);
  await runInTransaction(database, shiftAfterRestore);
  const trim = () => {
    openDays(database).catch((error: unknown) => log.warn({ err: error }, "the next days of the ledger are not made"));
    trimPolicyLog(database).catch((error: unknown) => log.warn({ err: error }, "policy log not trimmed"));
    forgetProcesses(database).catch((error: unknown) => log.warn({ err: error }, "ended processes not forgotten"));
    dropEndedSessions(database).catch((error: unknown) => log.warn({ err: error }, "ended sessions not dropped"));
    dropOldActivity(database).catch((error: unknown) => log.warn({ err: error }, "old activity not removed"));
    dropOldTagSums(database).catch((error: unknown) => log.warn({ err: error }, "old sums of tags not removed"));
    trimAlerts(database).catch((error: unknown) => log.warn({ err: error }, "old alerts not removed"));
  };
  return setInterval(trim, 3_600_000).unref();
}
