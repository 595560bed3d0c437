/** Converts the settings of a guardrail between JSON, messages, and the form that is checked and stored. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Guardrail, GuardrailSchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import {
  type CreateGuardrailRequest,
  CreateGuardrailRequestSchema,
  type GuardrailRecord,
  GuardrailRecordSchema,
  type KeyAssignment,
  KeyAssignmentSchema,
  type UpdateGuardrailRequest,
  UpdateGuardrailRequestSchema,
} from "../../gen/sluice/admin/v1/guardrail_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import { formatDollars } from "../../lib/ledger/money.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { invalid } from "../../lib/validation/problems.ts";
import { type CodecRules, jsonCodec } from "../codec/codec.ts";
import { type BuiltinFilter, toBuiltinFilterJson } from "./content-filters.ts";
import { type GuardrailSettingName, type GuardrailSettingsJson, unsetGuardrail } from "./guardrails.ts";
import { type JudgeRule, defaultThreshold } from "./judge-rules.ts";
import {
  type RoutingPolicyChange,
  routingPolicyFields,
  toStoredRoutingPolicyJson,
  parseRoutingPolicy,
  toRoutingPolicyJson,
  expandEnforceZdr,
} from "./routing-policy.ts";

/** The stored type of a setting; it includes null only if null means unset. */
type Stored<Name extends GuardrailSettingName> = (typeof unsetGuardrail)[Name] extends null
  ? GuardrailSettingsJson[Name]
  : NonNullable<GuardrailSettingsJson[Name]>;

/** Settings in their stored form. */
export type StoredGuardrailSettings = { readonly [Name in GuardrailSettingName]: Stored<Name> } & {
  readonly content_filter_builtins: readonly BuiltinFilter[];
  /** Limit in USD as a decimal, because a float is not exact. */
  readonly limit_usd: string | null;
};

/**
 * Settings as they are checked and stored. An absent setting stays unchanged in a change, and has its default in a new
 * guardrail.
 */
export type GuardrailSettings = Partial<Omit<StoredGuardrailSettings, "limit_usd" | "content_filter_builtins">> & {
  readonly content_filter_builtins?: readonly BuiltinFilter[];
  readonly limit_usd?: string | null;
  /** Changed fields of the routing policy; null clears a field. */
  readonly routing_policy?: RoutingPolicyChange;
};

const timestamp = { toMessage: (date: Date): Timestamp => timestampFromDate(date), toJson: instant };

const rules: CodecRules = {
  conversions: {
    routing_policy: { toMessage: parseRoutingPolicy, toJson: toStoredRoutingPolicyJson },
    created_at: timestamp,
    updated_at: timestamp,
  },
  nullable: ["label", "scan_scope", "threshold"],
};

const creation = jsonCodec(CreateGuardrailRequestSchema, rules);
const record = jsonCodec(GuardrailRecordSchema, rules);
const enforced = jsonCodec(GuardrailSchema, rules);
const assignment = jsonCodec(KeyAssignmentSchema, rules);

const settingNames = Object.keys(unsetGuardrail) as GuardrailSettingName[];
const policyPrefix = "routing_policy.";

/** Converts the body of a creation to a request message. @param body accepted by its shape */
export const newGuardrailMessage = (body: JsonObject): CreateGuardrailRequest => creation.message(carried(body));

/** Converts the body of a change to a request message, whose mask names the changed fields. */
export function guardrailChangeMessage(id: string, body: JsonObject): UpdateGuardrailRequest {
  const named = settingNames.filter((name) => body[name] !== undefined);
  const paths = [...named, ...Object.keys(routingFields(body)).map((field) => `${policyPrefix}${field}`)];
  const guardrail = record.message({ ...carried(body), id });
  return create(UpdateGuardrailRequestSchema, { guardrail, updateMask: { paths } });
}

/** Adapts a body to the form of messages: amounts are decimals, and routing fields are in a separate object. */
function carried(body: JsonObject): JsonObject {
  const { limit_usd: limit } = body;
  return {
    ...body,
    ...(typeof limit === "number" && { limit_usd: formatDollars(limit) }),
    routing_policy: routingFields(body),
  };
}

function routingFields(body: JsonObject): RoutingPolicyChange {
  const given = Object.entries(expandEnforceZdr(body as RoutingPolicyChange));
  return Object.fromEntries(given.filter(([field]) => Object.hasOwn(routingPolicyFields, field)));
}

/** Reads every setting of a message; unset settings get their defaults. */
export function storedSettings(message: CreateGuardrailRequest | GuardrailRecord): GuardrailSettings {
  const json =
    message.$typeName === CreateGuardrailRequestSchema.typeName ? creation.json(message) : record.json(message);
  const settings = settingNames.map((name) => [name, json[name] ?? unsetGuardrail[name]] as const);
  const stored = Object.fromEntries(settings) as GuardrailSettings;
  return {
    ...stored,
    judge_rules: (stored.judge_rules ?? []).map(withThreshold),
    routing_policy: (json["routing_policy"] ?? {}) as RoutingPolicyChange,
  };
}

/**
 * Adds the default threshold to a rule. In protobuf an unset threshold is 0, with which every text would break the
 * rule.
 */
const withThreshold = (rule: JudgeRule): JudgeRule => ({ ...rule, threshold: rule.threshold ?? defaultThreshold });

/**
 * Reads the settings named by an update mask; a named but unset setting is cleared. @throws Fault INVALID_REQUEST for
 * an unknown name
 */
export function maskedSettings(message: GuardrailRecord | undefined, mask: readonly string[]): GuardrailSettings {
  if (!message) return {};
  const stored = storedSettings(message);
  const change: Record<string, unknown> = {};
  const policy: Record<string, unknown> = {};
  for (const path of mask) {
    const field = path.startsWith(policyPrefix) ? path.slice(policyPrefix.length) : undefined;
    if (field !== undefined && Object.hasOwn(routingPolicyFields, field)) {
      policy[field] = stored.routing_policy?.[field] ?? null;
    } else if (Object.hasOwn(unsetGuardrail, path)) {
      change[path] = stored[path as GuardrailSettingName];
    } else {
      throw invalid("update_mask", `unknown field ${path.slice(0, policyPrefix.length + 64)}`);
    }
  }
  return { ...change, ...(Object.keys(policy).length > 0 && { routing_policy: policy as RoutingPolicyChange }) };
}

/** Builds the message of a guardrail. @param stored every setting, with id, workspace_id, created_at and updated_at */
export const guardrailRecord = (stored: JsonObject): GuardrailRecord => record.message(stored);

/** Builds the message with the part of a guardrail that processes enforce. @param stored every setting, with the id */
export const enforcedGuardrail = (stored: JsonObject): Guardrail => enforced.message(stored);

/** Converts a guardrail to its JSON in answers, with null for unset values. */
export function toGuardrailJson(message: GuardrailRecord): JsonObject {
  const { id, workspace_id, created_at, updated_at, ...json } = record.json(message);
  const builtins = json["content_filter_builtins"] as readonly BuiltinFilter[] | undefined;
  return {
    id,
    ...Object.fromEntries(settingNames.map((name) => [name, json[name] ?? shownUnset(name)])),
    ...(builtins && { content_filter_builtins: builtins.map(toBuiltinFilterJson) }),
    ...(message.limitUsd !== undefined && { limit_usd: Number(message.limitUsd) }),
    include_byok_in_budgets: false,
    ...toRoutingPolicyJson(message.routingPolicy),
    external_id: message.externalId ?? null,
    workspace_id,
    created_at,
    updated_at,
  };
}

/** Converts an assignment to its JSON in answers. */
export const toAssignmentJson = (message: KeyAssignment): JsonObject => ({
  assigned_by: null,
  ...assignment.json(message),
});

const shownUnset = (name: GuardrailSettingName): unknown => {
  const unset = unsetGuardrail[name];
  return Array.isArray(unset) ? null : unset;
};
