/** The one read behind every caller: key, guardrail and generation from a single snapshot. */
import { type Kysely, sql } from "kysely";
import type { Database, StoredFilter } from "./database.ts";
import { rateLimitsOf } from "./rate-limits.ts";

export interface ResolvedKey {
  readonly generation: bigint;
  readonly key?: {
    readonly hash: string;
    readonly workspaceId: string;
    readonly kind: "inference" | "management";
    readonly expiresAt: Date | null;
    readonly hasBudget: boolean;
    /** Null: as the house is configured. */
    readonly rateLimits: ReturnType<typeof rateLimitsOf>;
    readonly guardrail?: { readonly id: string; readonly name: string; readonly contentFilters: StoredFilter[] };
  };
}

/** One statement, so that the generation is that of the rest: two could straddle a commit. */
export async function resolveKey(database: Kysely<Database>, hash: string): Promise<ResolvedKey> {
  const row = await database
    .selectFrom("policy_generation as policy")
    .leftJoin("api_keys as key", (join) =>
      join
        .on("key.hash", "=", hash)
        .on("key.revoked_at", "is", null)
        .on("key.disabled", "=", false)
        .on((on) => on.or([on("key.expires_at", "is", null), on("key.expires_at", ">", sql<Date>`now()`)])),
    )
    .leftJoin("guardrail_key_assignments as assignment", "assignment.key_hash", "key.hash")
    .leftJoin("guardrails as guardrail", "guardrail.id", "assignment.guardrail_id")
    .select([
      "policy.generation",
      "key.hash",
      "key.workspace_id",
      "key.kind",
      "key.expires_at",
      "key.limit_usd",
      "key.requests_per_minute",
      "key.tokens_per_minute",
      "key.concurrent_requests",
      "guardrail.id as guardrail_id",
      "guardrail.name as guardrail_name",
      "guardrail.content_filters",
    ])
    .executeTakeFirstOrThrow();
  const generation = BigInt(row.generation);
  const { hash: keyHash, workspace_id: workspaceId, kind, expires_at: expiresAt } = row;
  if (keyHash === null || workspaceId === null || kind === null) return { generation };
  const { guardrail_id: id, guardrail_name: name, content_filters: contentFilters } = row;
  const held = id !== null && name !== null && contentFilters !== null;
  return {
    generation,
    key: {
      hash: keyHash,
      workspaceId,
      kind,
      expiresAt,
      hasBudget: row.limit_usd !== null,
      rateLimits: rateLimitsOf(row),
      ...(held && { guardrail: { id, name, contentFilters } }),
    },
  };
}
