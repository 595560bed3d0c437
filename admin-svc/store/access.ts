/** Reads the policies of keys in one query: keys, guardrails and policy generation come from the same snapshot. */
import { type Kysely, type QueryCreator, sql } from "kysely";
import type { ModelLimitsJson } from "@sluice/proto/contract/records/model-limits.js";
import type { TagBudgetsJson } from "@sluice/proto/contract/records/tag-budgets.js";
import type { PermissionsJson } from "@sluice/proto/contract/records/permissions.js";
import { modes } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Database } from "./database.ts";
import type { EnforcedGuardrail } from "./guardrail-columns.ts";
import type { KeyRow } from "./keys.ts";

export interface ResolvedKey {
  readonly hash: string;
  readonly workspaceId: string;
  readonly kind: "inference" | "management";
  readonly expiresAt: Date | null;
  readonly account: boolean;
  readonly hasBudget: boolean;
  /** True when the end user of the key is registered and not active. */
  readonly externalUserInactive: boolean;
  readonly capturesContent: boolean;
  readonly tracesContent: boolean;
  /** Ids of the key's additional guardrails, which belong to its workspace. */
  readonly furtherGuardrails: readonly string[];
  /** Tags of the key as text; null for none. */
  readonly tags: string | null;
  /** Names of the tags required by the workspace, as text; null for none. */
  readonly requiredTags: string | null;
  /** Rate limits of the key; null means the limit of the configuration file. */
  readonly rateLimits: Pick<KeyRow, "requests_per_minute" | "tokens_per_minute" | "concurrent_requests">;
  /** Networks from which the key may be used; null allows every address. */
  readonly allowedNetworks: readonly string[] | null;
  /** Rate limits of the key by model; null for none. */
  readonly modelLimits: ModelLimitsJson | null;
  /** Rate limits by model that the keys of the workspace share; null for none. */
  readonly workspaceModelLimits: ModelLimitsJson | null;
  /** Budgets by tag of the workspace; null for none. */
  readonly tagBudgets: TagBudgetsJson | null;
  /** Permissions of the key and of its workspace; absent ones are left out. */
  readonly permissions: readonly PermissionsJson[];
  readonly guardrail?: EnforcedGuardrail;
  /**
   * Guardrails of the account, then the default and additional guardrails of the key, oldest first; without the
   * assigned guardrail.
   */
  readonly workspaceGuardrails: readonly EnforcedGuardrail[];
}

export interface ResolvedKeys {
  readonly generation: bigint;
  /** Usable keys by hash. A guardrail shared by several keys is one object. */
  readonly keys: ReadonlyMap<string, ResolvedKey>;
}

/** A key as Postgres returns it by `to_json`. */
interface FoundKey extends Pick<KeyRow, "requests_per_minute" | "tokens_per_minute" | "concurrent_requests"> {
  readonly hash: string;
  readonly workspace_id: string;
  readonly kind: "inference" | "management";
  readonly expires_at: string | null;
  readonly account: boolean;
  readonly capture_content: boolean;
  readonly trace_content: boolean;
  readonly further_guardrails: readonly string[] | null;
  readonly tags: string | null;
  readonly required_tags: string | null;
  readonly allowed_networks: readonly string[] | null;
  readonly is_limited: boolean;
  readonly external_user_inactive: boolean;
  readonly guardrail_id: string | null;
  readonly model_limits: ModelLimitsJson | null;
  readonly workspace_model_limits: ModelLimitsJson | null;
  readonly tag_budgets: TagBudgetsJson | null;
  readonly permissions: PermissionsJson | null;
  readonly workspace_permissions: PermissionsJson | null;
}

const limits = ({ mode, limit_usd: limit }: EnforcedGuardrail): boolean => modes.of(mode).acts && limit !== null;

/**
 * Resolves keys in a single statement: with two statements, the generation and the policies could belong to different
 * commits.
 */
export async function resolveKeys(database: Kysely<Database>, hashes: readonly string[]): Promise<ResolvedKeys> {
  const { generation, keys, guardrails } = await database
    .with(
      (name) => name("found").materialized(),
      (query) => selectUsable(query, hashes),
    )
    .selectFrom("policy_generation")
    .select([
      "generation",
      sql<readonly FoundKey[]>`array(select to_json(found) from found)`.as("keys"),
      sql<readonly EnforcedGuardrail[]>`array(
        select to_json(guardrail) from guardrails as guardrail
        where guardrail.id in (select guardrail_id from found union all select unnest(further_guardrails)::uuid from found)
          or guardrail.account_default
          or (guardrail.workspace_default and guardrail.workspace_id in (select workspace_id from found))
        order by guardrail.account_default desc, guardrail.created_at, guardrail.id
      )`.as("guardrails"),
    ])
    .executeTakeFirstOrThrow();
  return { generation: BigInt(generation), keys: new Map(keys.map((key) => [key.hash, toResolved(key, guardrails)])) };
}

/** Selects the keys that are neither revoked, disabled nor expired. */
const selectUsable = (database: QueryCreator<Database>, hashes: readonly string[]) =>
  database
    .selectFrom("api_keys as key")
    .innerJoin("workspaces as workspace", "workspace.id", "key.workspace_id")
    .leftJoin("guardrail_key_assignments as assignment", "assignment.key_hash", "key.hash")
    .where("key.hash", "=", sql<string>`any(${hashes}::text[])`)
    .where("key.revoked_at", "is", null)
    .where("key.disabled", "=", false)
    .where((key) => key.or([key("key.expires_at", "is", null), key("key.expires_at", ">", sql<Date>`now()`)]))
    .select([
      "key.hash",
      "key.workspace_id",
      "key.kind",
      "key.expires_at",
      "key.account",
      "key.capture_content",
      "key.trace_content",
      "key.further_guardrails",
      "key.tags",
      "workspace.required_tags",
      "key.allowed_networks",
      "key.requests_per_minute",
      "key.tokens_per_minute",
      "key.concurrent_requests",
      "key.model_limits",
      "workspace.model_limits as workspace_model_limits",
      "workspace.tag_budgets",
      "key.permissions",
      "workspace.permissions as workspace_permissions",
      "assignment.guardrail_id",
      sql<boolean>`key.limit_usd is not null or workspace.limit_usd is not null`.as("is_limited"),
      sql<boolean>`exists (
        select from end_users as person
        where person.workspace_id = key.workspace_id and person."user" = key.external_user and not person.is_active
      )`.as("external_user_inactive"),
    ]);

/** @param all guardrails of all found keys, in their order */
function toResolved(key: FoundKey, all: readonly EnforcedGuardrail[]): ResolvedKey {
  const held = all.find(({ id }) => id === key.guardrail_id);
  const guardrails = all.filter(
    (guardrail) =>
      guardrail === held ||
      guardrail.account_default ||
      (guardrail.workspace_id === key.workspace_id &&
        (guardrail.workspace_default || key.further_guardrails?.includes(guardrail.id) === true)),
  );
  return {
    hash: key.hash,
    workspaceId: key.workspace_id,
    kind: key.kind,
    expiresAt: key.expires_at === null ? null : new Date(key.expires_at),
    account: key.account,
    hasBudget: key.is_limited || guardrails.some(limits),
    externalUserInactive: key.external_user_inactive,
    capturesContent: key.capture_content,
    tracesContent: key.trace_content,
    furtherGuardrails: key.further_guardrails ?? [],
    tags: key.tags,
    requiredTags: key.required_tags,
    allowedNetworks: key.allowed_networks,
    rateLimits: key,
    modelLimits: key.model_limits,
    workspaceModelLimits: key.workspace_model_limits,
    tagBudgets: key.tag_budgets,
    permissions: [key.permissions, key.workspace_permissions].filter((lists) => lists !== null),
    ...(held && { guardrail: held }),
    workspaceGuardrails: guardrails.filter((guardrail) => guardrail !== held),
  };
}
