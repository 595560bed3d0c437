/** Converts keys between JSON, messages, and the form that is checked and stored. */
import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { KeyKind } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import {
  type CreateKeyRequest,
  CreateKeyRequestSchema,
  type Key,
  KeySchema,
  type UpdateKeyRequest,
  UpdateKeyRequestSchema,
} from "../../gen/sluice/admin/v1/key_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import { type JsonObject, isObject } from "../../lib/validation/fields.ts";
import { invalid } from "../../lib/validation/problems.ts";
import { type CodecRules, jsonCodec } from "../codec/codec.ts";
import { type ModelLimitsJson, modelLimitsJson, modelLimitsMessage } from "./model-limits.ts";
import { type PermissionsJson, permissionsJson, permissionsMessage } from "./permissions.ts";
import { type KeySettingName, keySettingRows, unsetKey } from "./key-settings.ts";

/**
 * Settings as they are checked and stored. An absent setting stays unchanged in a change, and has its default in a new
 * key.
 */
export interface KeySettings {
  readonly name?: string;
  readonly disabled?: boolean;
  readonly expires_at?: Date | null;
  readonly external_user?: string | null;
  /** Limit in USD as a decimal, because a float is not exact. */
  readonly limit_usd?: string | null;
  readonly limit_reset?: string | null;
  readonly requests_per_minute?: number | null;
  readonly tokens_per_minute?: number | null;
  readonly concurrent_requests?: number | null;
  readonly model_limits?: ModelLimitsJson | null;
  readonly permissions?: PermissionsJson | null;
  readonly capture_content?: boolean;
  readonly trace_content?: boolean;
  /** Tags as text, in the form of the header `x-sluice-tags`. */
  readonly tags?: string | null;
  readonly allowed_networks?: readonly string[] | null;
  /** Ids of additional guardrails. */
  readonly further_guardrails?: readonly string[] | null;
}

const rateLimitsField = "rate_limits";
const rateLimitNames: ReadonlySet<string> = new Set(
  KeySchema.fields.find(({ name }) => name === rateLimitsField)?.message?.fields.map(({ name }) => name),
);

const times = { toMessage: timestampFromDate, toJson: timestampDate };
const rules: CodecRules = {
  conversions: {
    expires_at: times,
    created_at: times,
    updated_at: times,
    last_used_at: times,
    permissions: { toMessage: permissionsMessage, toJson: permissionsJson },
    model_limits: { toMessage: modelLimitsMessage, toJson: modelLimitsJson },
  },
  nullable: [...rateLimitNames],
};
const creation = jsonCodec(CreateKeyRequestSchema, rules);
const record = jsonCodec(KeySchema, rules);

/** Path of a setting in the message and in an update mask. */
const pathOf = (name: KeySettingName): string => (rateLimitNames.has(name) ? `${rateLimitsField}.${name}` : name);

/** Converts the body of a creation to a request message. @param body accepted by its shape */
export const newKeyMessage = (body: JsonObject): CreateKeyRequest =>
  creation.message({ ...inMessage(storedValues(body)), workspace_id: body["workspace_id"] });

/** Converts the body of a change to a request message, whose mask names the changed settings. */
export function keyChangeMessage(hash: string, body: JsonObject): UpdateKeyRequest {
  const settings = storedValues(body);
  const paths = Object.keys(settings).map((name) => pathOf(name as KeySettingName));
  const key = record.message({ ...inMessage(settings), hash });
  return create(UpdateKeyRequestSchema, { key, updateMask: { paths } });
}

/** The settings of a body, by their stored names. */
function storedValues(body: JsonObject): JsonObject {
  const named = keySettingRows.flatMap(([name, { givenAs = name, toStored }]) => {
    const value = body[givenAs];
    if (value === undefined) return [];
    return [[name, value === null || !toStored ? value : toStored(value as never)] as const];
  });
  return Object.fromEntries(named);
}

/** Moves the rate limits among the settings into a separate object, as messages have them. */
function inMessage(settings: JsonObject): JsonObject {
  const entries = Object.entries(settings);
  return {
    ...Object.fromEntries(entries.filter(([name]) => !rateLimitNames.has(name))),
    [rateLimitsField]: Object.fromEntries(entries.filter(([name]) => rateLimitNames.has(name))),
  };
}

/** Reads every setting of a message; unset settings get their stored defaults. */
export function storedKeySettings(message: CreateKeyRequest | Key): KeySettings {
  const json = message.$typeName === CreateKeyRequestSchema.typeName ? creation.json(message) : record.json(message);
  const limits = json[rateLimitsField];
  const values = { ...json, ...(isObject(limits) && limits) } as JsonObject;
  return Object.fromEntries(keySettingRows.map(([name]) => [name, values[name] ?? unsetKey[name]]));
}

/**
 * Reads the settings named by an update mask; a named but unset setting is cleared. @throws Fault INVALID_REQUEST for
 * an unknown name
 */
export function maskedKeySettings(message: Key | undefined, mask: readonly string[]): KeySettings {
  const stored: Readonly<Record<string, unknown>> = message ? { ...storedKeySettings(message) } : unsetKey;
  const named = mask.map((path) => {
    const row = keySettingRows.find(([name]) => pathOf(name) === path);
    if (!row) throw invalid("update_mask", `unknown field ${path.slice(0, 64)}`);
    return [row[0], stored[row[0]]] as const;
  });
  return Object.fromEntries(named);
}

/**
 * Builds the message of a key. @param stored every setting, with `hash`, `workspace_id`, `label`, `kind`, `created_at`,
 * `updated_at`, `last_used_at`, `spending`, `external_id`
 */
export const keyRecord = (stored: JsonObject): Key => record.message({ ...stored, ...inMessage(stored) });

/** Converts a key to its JSON in answers to management keys. */
export const toKeyJson = (key: Key): JsonObject => ({
  hash: key.hash,
  label: key.label,
  ...shownSettings(key),
  ...spendingOf(key),
  creator_user_id: null,
  external_id: key.externalId ?? null,
  workspace_id: key.workspaceId,
  created_at: key.createdAt ? instant(key.createdAt) : null,
  updated_at: key.updatedAt ? instant(key.updatedAt) : null,
  last_used_at: key.lastUsedAt ? instant(key.lastUsedAt) : null,
});

/** Converts a key to its JSON in the answer to the key itself. */
export function toCurrentKeyJson(key: Key): JsonObject {
  const isManagement = key.kind === KeyKind.MANAGEMENT;
  const { name: _name, disabled: _disabled, external_user: _user, ...settings } = shownSettings(key);
  return {
    label: key.label,
    is_management_key: isManagement,
    is_provisioning_key: isManagement,
    is_free_tier: false,
    ...settings,
    ...spendingOf(key),
    creator_user_id: null,
    organization_id: null,
    workspace_id: key.workspaceId,
    allowed_data_regions: ["global"],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    rate_limit: { requests: -1, interval: "10s", note: "Out of use: no number of requests is promised here." },
  };
}

function shownSettings(key: Key): JsonObject {
  const stored: Readonly<Record<string, unknown>> = { ...storedKeySettings(key) };
  const shown = keySettingRows.map(([name, { shownAs = name, toShown }]) => {
    const value = stored[name];
    return [shownAs, value === null || !toShown ? value : toShown(value as never)] as const;
  });
  return Object.fromEntries(shown);
}

/** The spending and remaining budget of a key, in USD. */
const spendingOf = ({ spending }: Key) => ({
  limit_remaining: spending?.remaining === undefined ? null : Number(spending.remaining),
  include_byok_in_limit: false,
  usage: Number(spending?.total ?? 0),
  usage_daily: Number(spending?.daily ?? 0),
  usage_weekly: Number(spending?.weekly ?? 0),
  usage_monthly: Number(spending?.monthly ?? 0),
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
});
