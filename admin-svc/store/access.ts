/** Reads a caller in one query: key, guardrails and policy generation from a single snapshot. */
import { type Kysely, sql } from "kysely";
import type { Database } from "./database.ts";
import type { EnforcedGuardrail } from "./guardrail-columns.ts";
import type { KeyRow } from "./keys.ts";

export interface ResolvedKey {
  readonly generation: bigint;
  readonly key?: {
    readonly hash: string;
    readonly workspaceId: string;
    readonly kind: "inference" | "management";
    readonly expiresAt: Date | null;
    readonly account: boolean;
    readonly hasBudget: boolean;
    /** True when the end user of the key is registered and not active. */
    readonly externalUserInactive: boolean;
    readonly capturesContent: boolean;
    /** Null means the limits of the configuration file. */
    readonly rateLimits: Pick<KeyRow, "requests_per_minute" | "tokens_per_minute" | "concurrent_requests">;
    readonly guardrail?: EnforcedGuardrail;
    /** Guardrails of the account, then of the workspace, each oldest first; the key's own guardrail is not among them. */
    readonly workspaceGuardrails: readonly EnforcedGuardrail[];
  };
}

const limits = ({ mode, limit_usd: limit }: EnforcedGuardrail): boolean => mode === "enforce" && limit !== null;

/** A single statement, so that the generation belongs to the other values: two statements could see two different commits. */
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
    .leftJoin("workspaces as workspace", "workspace.id", "key.workspace_id")
    .leftJoin("guardrail_key_assignments as assignment", "assignment.key_hash", "key.hash")
    .select([
      "policy.generation",
      "key.hash",
      "key.workspace_id",
      "key.kind",
      "key.expires_at",
      "key.account",
      "key.capture_content",
      "key.limit_usd",
      "workspace.limit_usd as workspace_limit_usd",
      "key.requests_per_minute",
      "key.tokens_per_minute",
      "key.concurrent_requests",
      "assignment.guardrail_id",
      sql<boolean>`exists (
        select from end_users as person
        where person.workspace_id = key.workspace_id and person."user" = key.external_user and not person.is_active
      )`.as("external_user_inactive"),
      sql<EnforcedGuardrail[]>`array(
        select to_jsonb(guardrail) from guardrails as guardrail
        where guardrail.id = assignment.guardrail_id or (guardrail.workspace_id = key.workspace_id and guardrail.workspace_default)
          or (key.hash is not null and guardrail.account_default)
        order by guardrail.account_default desc, guardrail.created_at, guardrail.id
      )`.as("guardrails"),
    ])
    .executeTakeFirstOrThrow();
  const generation = BigInt(row.generation);
  const { hash: keyHash, workspace_id: workspaceId, kind, expires_at: expiresAt } = row;
  if (keyHash === null || workspaceId === null || kind === null) return { generation };
  const held = row.guardrails.find(({ id }) => id === row.guardrail_id);
  return {
    generation,
    key: {
      hash: keyHash,
      workspaceId,
      kind,
      expiresAt,
      account: row.account === true,
      hasBudget: row.limit_usd !== null || row.workspace_limit_usd !== null || row.guardrails.some(limits),
      externalUserInactive: row.external_user_inactive,
      capturesContent: row.capture_content === true,
      rateLimits: row,
      ...(held && { guardrail: held }),
      workspaceGuardrails: row.guardrails.filter((guardrail) => guardrail !== held),
    },
  };
}
