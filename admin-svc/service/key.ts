/** Keys: made, shown, changed, revoked. The answer to a change means that it is in force. */
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  CreateKeyResponseSchema,
  DeleteKeyResponseSchema,
  GetCurrentKeyResponseSchema,
  GetKeyResponseSchema,
  type Key,
  KeySchema,
  type KeyService,
  ListKeysResponseSchema,
  UpdateKeyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { mintKey } from "@sluice/proto/runtime/key.js";
import { type KeySettings, checkKeySettings, isKeyHash } from "../rules/key.ts";

import type { LimitReset } from "../store/database.ts";
import { type KeyChange, type KeyRow, createKey, findKey, pageOfKeys, revokeKey, updateKey } from "../store/keys.ts";
import { rateLimitsOf } from "../store/rate-limits.ts";
import { type Spending, spendingOf } from "../store/spending.ts";
import { administering, requireKey, requireOwn } from "./caller.ts";
import { untilEnforced } from "./enforcement.ts";
import { masked } from "./mask.ts";
import { orRetryLater } from "./outage.ts";
import { pageOf } from "./page.ts";
import type { Parts } from "./parts.ts";
import { rateLimitSettings, rateLimitsMessage } from "./rate-limits.ts";

/** Keys of a page when no limit is given. */
const usualPage = 100;

export function keyService(parts: Parts): ServiceImpl<typeof KeyService> {
  const { reads, writes, serviceToken } = parts;
  const administer = administering(parts);

  /** Management keys are administered on the command line only: a program that keeps a list of keys must not lock itself out. */
  const find = async (workspaceId: string, hash: string): Promise<KeyRow> => {
    const row = isKeyHash(hash) ? await findKey(reads, workspaceId, hash) : undefined;
    if (row?.kind !== "inference") throw keyNotFound();
    return row;
  };

  /** With what they have spent. */
  const shown = async (rows: readonly KeyRow[]): Promise<Key[]> => {
    const spending = await spendingOf(
      reads,
      rows.map(({ hash }) => hash),
    );
    return rows.map((row) => keyOf(row, spending.get(row.hash)));
  };

  return {
    listKeys: ({ offset, limit, includeDisabled, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const filter = { workspaceId: administrator.workspaceId, includeDisabled };
        const { rows, total } = await pageOfKeys(reads, filter, pageOf({ offset, limit }, usualPage));
        return create(ListKeysResponseSchema, { keys: await shown(rows), totalCount: BigInt(total) });
      }),
    createKey: ({ name, expiresAt, externalUser, limitUsd, limitReset, rateLimits, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const settings = {
          name,
          expiresAt: dateOf(expiresAt),
          externalUser: externalUser ?? null,
          limitUsd: limitUsd ?? null,
          limitReset: resetOf(limitReset),
          ...rateLimitSettings(rateLimits),
        };
        checkKeySettings(settings);
        const secret = mintKey(KeyKind.INFERENCE);
        const made = await createKey(writes, administrator, { ...settings, key: secret });
        if (!made) throw new Error("a freshly minted key exists already");
        await untilEnforced(parts, administrator, made);
        const [key] = await shown([made.row]);
        return create(CreateKeyResponseSchema, { ...(key && { key }), secret, generation: made.generation });
      }),
    getKey: ({ keyHash }, context) =>
      administer(context, async ({ workspaceId }) => {
        const row = await find(workspaceId, keyHash);
        if (row.revoked_at !== null) throw keyNotFound();
        const [key] = await shown([row]);
        return create(GetKeyResponseSchema, { ...(key && { key }) });
      }),
    updateKey: ({ key, updateMask }, context) =>
      administer(context, async (administrator) => {
        const settings = settingsOf(key, updateMask?.paths ?? []);
        checkKeySettings(settings);
        const { hash } = await find(administrator.workspaceId, key?.hash ?? "");
        const changed = await updateKey(writes, administrator, hash, settings);
        if (!changed) throw keyNotFound();
        await untilEnforced(parts, administrator, changed);
        const [after] = await shown([changed.row]);
        return create(UpdateKeyResponseSchema, { ...(after && { key: after }), generation: changed.generation });
      }),
    deleteKey: ({ keyHash }, context) =>
      administer(context, async (administrator) => {
        const { hash } = await find(administrator.workspaceId, keyHash);
        const change = await revokeKey(writes, administrator, hash);
        if (!change) throw keyNotFound();
        await untilEnforced(parts, administrator, change);
        return create(DeleteKeyResponseSchema, { generation: change.generation });
      }),
    getCurrentKey: (_, { requestHeader }) =>
      orRetryLater(async () => {
        const row = await requireKey(reads, requestHeader, serviceToken);
        const [key] = await shown([row]);
        return create(GetCurrentKeyResponseSchema, { ...(key && { key }) });
      }),
  };
}

const keyNotFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "Key not found");

const dateOf = (time: Timestamp | undefined): Date | null => (time ? timestampDate(time) : null);

/** What the mask names, absent fields as null. @throws Fault INVALID_REQUEST */
const settingsOf = (key: Key | undefined, mask: readonly string[]): KeySettings & KeyChange =>
  masked<KeySettings & KeyChange>(mask, {
    name: () => ({ name: key?.name ?? "" }),
    disabled: () => ({ disabled: key?.disabled ?? false }),
    expires_at: () => ({ expiresAt: dateOf(key?.expiresAt) }),
    external_user: () => ({ externalUser: key?.externalUser ?? null }),
    limit_usd: () => ({ limitUsd: key?.limitUsd ?? null }),
    limit_reset: () => ({ limitReset: resetOf(key?.limitReset ?? "") }),
    "rate_limits.requests_per_minute": () => ({ requestsPerMinute: key?.rateLimits?.requestsPerMinute ?? null }),
    "rate_limits.tokens_per_minute": () => ({ tokensPerMinute: key?.rateLimits?.tokensPerMinute ?? null }),
    "rate_limits.concurrent_requests": () => ({ concurrentRequests: key?.rateLimits?.concurrentRequests ?? null }),
  });

const kinds = { inference: KeyKind.INFERENCE, management: KeyKind.MANAGEMENT } as const;

/** Checked with the other settings. */
const resetOf = (text: string): LimitReset | null => (text === "" ? null : (text as LimitReset));

function keyOf(row: KeyRow, spending: Spending | undefined): Key {
  return create(KeySchema, {
    hash: row.hash,
    workspaceId: row.workspace_id,
    name: row.name,
    label: row.label,
    kind: kinds[row.kind],
    disabled: row.disabled,
    createdAt: timestampFromDate(row.created_at),
    ...(row.expires_at && { expiresAt: timestampFromDate(row.expires_at) }),
    ...(row.external_user !== null && { externalUser: row.external_user }),
    ...(row.updated_at && { updatedAt: timestampFromDate(row.updated_at) }),
    ...(row.limit_usd !== null && { limitUsd: row.limit_usd }),
    limitReset: row.limit_reset ?? "",
    rateLimits: rateLimitsMessage(rateLimitsOf(row)),
    ...(spending && { spending }),
  });
}
