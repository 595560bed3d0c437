/** Finds key changes that a database restored from a backup lacks; inference processes remember them on disk. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import {
  type PolicyHistoryChange,
  policyHistoryName,
  readPolicyHistory,
} from "@sluice/proto/lib/policy/policy-history.js";
import { escapeUnprintable, table } from "@sluice/proto/lib/process/cli.js";
import { type Kysely, sql } from "kysely";
import type { Database } from "../store/database.ts";
import { currentGeneration } from "../store/policy.ts";
import { formatTime } from "./terminal.ts";

export interface VoidChanges {
  /** Time of the first lost change. */
  readonly since: Date;
  /** Number of lost changes whose keys are unknown. */
  readonly unnamed: number;
  readonly keys: readonly VoidKey[];
}

interface VoidKey {
  readonly hash: string;
  /** Null for a key that the database does not know. */
  readonly name: string | null;
  /** Whether the key is valid in the restored database. */
  readonly is_valid: boolean;
}

/** @param directory with the spools of inference processes @returns undefined when no change is lost */
export async function findVoidChanges(database: Kysely<Database>, directory: string): Promise<VoidChanges | undefined> {
  const current = await currentGeneration(database);
  const isLost = ({ generation }: PolicyHistoryChange): boolean => BigInt(generation) > current;
  const changes = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path === policyHistoryName || path.endsWith(`/${policyHistoryName}`))
    .map((path) => readPolicyHistory(join(directory, path)))
    .flatMap((kept) => [...kept.void, ...kept.changes.filter(isLost)]);
  if (changes.length === 0) return undefined;
  const hashes = [...new Set(changes.flatMap(({ keys }) => keys ?? []))].toSorted();
  const { rows: keys } = await sql<VoidKey>`
    select sought.hash, name, revoked_at is null and not coalesce(disabled, true) and coalesce(expires_at > now(), true) as is_valid
    from unnest(${hashes}::text[]) as sought (hash) left join api_keys using (hash) order by 1`.execute(database);
  const unnamed = new Set(changes.filter((change) => change.keys === null).map(({ generation }) => generation));
  return { since: new Date(Math.min(...changes.map(({ at }) => at))), unnamed: unnamed.size, keys };
}

export function voidLines({ since, unnamed, keys }: VoidChanges): readonly string[] {
  const stateOf = (key: VoidKey): string => (key.name === null ? "unknown" : key.is_valid ? "valid" : "not valid");
  return [
    `void: changes from ${formatTime(since)} on, of before the restore`,
    ...(unnamed > 0 ? [`${unnamed} of them may concern any key`] : []),
    ...(keys.length > 0
      ? table(
          ["KEY", "NAME", "NOW"],
          keys.map((key) => [key.hash, escapeUnprintable(key.name ?? "-"), stateOf(key)]),
        )
      : []),
  ];
}
