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
import { type KeyRow, createKey, findKey, pageOfKeys, revokeKey, updateKey } from "../store/keys.ts";
import { administering, requireKey, requireOwn } from "./caller.ts";
import { masked } from "./mask.ts";
import { orRetryLater } from "./outage.ts";
import { pageOf } from "./page.ts";
import type { Parts } from "./parts.ts";

/** Keys of a page when no limit is given. */
const usualPage = 100;

export function keyService(parts: Parts): ServiceImpl<typeof KeyService> {
  const { reads, writes, policy, serviceToken } = parts;
  const administer = administering(parts);

  /** Management keys are administered on the command line only: a program that keeps a list of keys must not lock itself out. */
  const find = async (workspaceId: string, hash: string): Promise<KeyRow> => {
    const row = isKeyHash(hash) ? await findKey(reads, workspaceId, hash) : undefined;
    if (row?.kind !== "inference") throw keyNotFound();
    return row;
  };

  return {
    listKeys: ({ offset, limit, includeDisabled, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const filter = { workspaceId: administrator.workspaceId, includeDisabled };
        const { rows, total } = await pageOfKeys(reads, filter, pageOf({ offset, limit }, usualPage));
        return create(ListKeysResponseSchema, { keys: rows.map(keyOf), totalCount: BigInt(total) });
      }),
    createKey: ({ name, expiresAt, externalUser, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const settings = { name, expiresAt: dateOf(expiresAt), externalUser: externalUser ?? null };
        checkKeySettings(settings);
        const secret = mintKey(KeyKind.INFERENCE);
        const made = await createKey(writes, { ...settings, workspaceId: administrator.workspaceId, key: secret });
        if (!made) throw new Error("a freshly minted key exists already");
        await policy.enforced(made);
        return create(CreateKeyResponseSchema, { key: keyOf(made.row), secret, generation: made.generation });
      }),
    getKey: ({ keyHash }, context) =>
      administer(context, async ({ workspaceId }) => {
        const row = await find(workspaceId, keyHash);
        if (row.revoked_at !== null) throw keyNotFound();
        return create(GetKeyResponseSchema, { key: keyOf(row) });
      }),
    updateKey: ({ key, updateMask }, context) =>
      administer(context, async ({ workspaceId }) => {
        const settings = settingsOf(key, updateMask?.paths ?? []);
        checkKeySettings(settings);
        const { hash } = await find(workspaceId, key?.hash ?? "");
        const changed = await updateKey(writes, workspaceId, hash, settings);
        if (!changed) throw keyNotFound();
        await policy.enforced(changed);
        return create(UpdateKeyResponseSchema, { key: keyOf(changed.row), generation: changed.generation });
      }),
    deleteKey: ({ keyHash }, context) =>
      administer(context, async ({ workspaceId }) => {
        const { hash } = await find(workspaceId, keyHash);
        const change = await revokeKey(writes, workspaceId, hash);
        if (!change) throw keyNotFound();
        await policy.enforced(change);
        return create(DeleteKeyResponseSchema, { generation: change.generation });
      }),
    getCurrentKey: (_, { requestHeader }) =>
      orRetryLater(async () => {
        const row = await requireKey(reads, requestHeader, serviceToken);
        return create(GetCurrentKeyResponseSchema, { key: keyOf(row) });
      }),
  };
}

const keyNotFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "Key not found");

const dateOf = (time: Timestamp | undefined): Date | null => (time ? timestampDate(time) : null);

/** What the mask names, absent fields as null. @throws Fault INVALID_REQUEST */
const settingsOf = (key: Key | undefined, mask: readonly string[]): KeySettings =>
  masked<KeySettings>(mask, {
    name: () => ({ name: key?.name ?? "" }),
    disabled: () => ({ disabled: key?.disabled ?? false }),
    expires_at: () => ({ expiresAt: dateOf(key?.expiresAt) }),
    external_user: () => ({ externalUser: key?.externalUser ?? null }),
  });

const kinds = { inference: KeyKind.INFERENCE, management: KeyKind.MANAGEMENT } as const;

function keyOf(row: KeyRow): Key {
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
  });
}
