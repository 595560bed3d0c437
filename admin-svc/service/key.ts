/** gRPC service for keys: create, read, change and revoke. A change is answered once all processes enforce it. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { keyRotation } from "@sluice/proto/contract/operations/keys.js";
import {
  type KeySettings,
  keyRecord,
  maskedKeySettings,
  storedKeySettings,
} from "@sluice/proto/contract/records/key-record.js";
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  CreateKeyResponseSchema,
  DeleteKeyResponseSchema,
  GetCurrentKeyResponseSchema,
  GetKeyResponseSchema,
  type Key,
  type KeyService,
  CreateKeyRequestSchema,
  ListKeysResponseSchema,
  PutKeyResponseSchema,
  RotateKeyResponseSchema,
  UpdateKeyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { mintKey } from "@sluice/proto/lib/ids/key.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { checkExternalId } from "../rules/external-id.ts";
import { checkKeySettings, isKeyHash, readKeySearch } from "../rules/key.ts";
import { pageOfKeys } from "../store/key-list.ts";
import { externalIdsOf, putByExternalId } from "../store/external-ids.ts";
import { type ChangedKey, type KeyRow, createKey, findKey, revokeKey, rotateKey, updateKey } from "../store/keys.ts";
import { spendingOf } from "../store/ledger/spending.ts";
import { asAdministrator, asReport, requireKey, requireOwnWorkspace } from "./caller.ts";
import { requireCapture } from "./contents.ts";
import type { Deps } from "./deps.ts";
import { untilEnforced } from "./enforcement.ts";
import { findTarget } from "./external-id.ts";
import { withRetryableOutage } from "./outage.ts";
import { pageFields, resolvePage } from "./reports/page.ts";

type KeyMethods = ServiceImpl<typeof KeyService>;

/** Number of keys in a page when the request gives no limit. */
const defaultPageSize = 100;

export const keyService = (deps: Deps): KeyMethods => ({ ...readMethods(deps), ...changeMethods(deps) });

function readMethods(deps: Deps): Pick<KeyMethods, "listKeys" | "getKey" | "getCurrentKey"> {
  const { reads } = deps;
  const administer = asAdministrator(deps);
  return {
    listKeys: ({ includeDisabled, workspaceId, query, sort, ...page }, context) =>
      asReport(deps, "q")(context, async (administrator, database) => {
        requireOwnWorkspace(workspaceId, administrator);
        const search = readKeySearch({ q: query === "" ? undefined : query, sort: sort === "" ? undefined : sort });
        const filter = { workspaceId: administrator.workspaceId, includeDisabled, ...search };
        const { rows, ...others } = await pageOfKeys(database, filter, resolvePage(page, defaultPageSize));
        return create(ListKeysResponseSchema, {
          keys: await keyMessages({ reads: database }, rows),
          ...pageFields(others),
        });
      }),
    getKey: ({ keyHash, externalId }, context) =>
      administer(context, async ({ workspaceId }) => {
        const target = await findTarget(reads, { workspaceId, kind: "key", externalId }, { key_hash: keyHash });
        const row = await findInferenceKey(deps, workspaceId, target);
        if (row.revoked_at !== null) throw keyNotFound();
        const [key] = await keyMessages(deps, [row]);
        return create(GetKeyResponseSchema, { ...(key && { key }) });
      }),
    getCurrentKey: (_, context) =>
      withRetryableOutage(async () => {
        const row = await requireKey(deps, context);
        const [key] = await keyMessages(deps, [row]);
        return create(GetCurrentKeyResponseSchema, { ...(key && { key }) });
      }),
  };
}

function changeMethods(deps: Deps): Pick<KeyMethods, "createKey" | "putKey" | "updateKey" | "deleteKey" | "rotateKey"> {
  const { writes } = deps;
  const administer = asAdministrator(deps);
  return {
    createKey: (request, context) =>
      administer(context, async (administrator) => {
        requireOwnWorkspace(request.workspaceId, administrator);
        const settings = { ...storedKeySettings(request), name: request.name };
        checkSettings(deps, settings);
        const secret = mintKey(KeyKind.INFERENCE);
        const made = required(await createKey(writes, administrator, { ...settings, key: secret }));
        await untilEnforced(deps, administrator, made);
        const [key] = await keyMessages(deps, [made.row]);
        return create(CreateKeyResponseSchema, { ...(key && { key }), secret, generation: made.generation });
      }),
    putKey: ({ externalId, key: request = create(CreateKeyRequestSchema) }, context) =>
      administer(context, async (administrator) => {
        requireOwnWorkspace(request.workspaceId, administrator);
        checkExternalId(externalId);
        const settings = { ...storedKeySettings(request), name: request.name };
        checkSettings(deps, settings);
        const { disabled: _, ...change } = settings;
        const secret = mintKey(KeyKind.INFERENCE);
        const id = { workspaceId: administrator.workspaceId, kind: "key", externalId } as const;
        const { result, created } = await putByExternalId<ChangedKey>(writes, id, {
          change: (transaction, hash) => updateKey(transaction, administrator, hash, change),
          make: async (transaction) =>
            required(await createKey(transaction, administrator, { ...settings, key: secret })),
          targetOf: ({ row }) => row.hash,
        });
        await untilEnforced(deps, administrator, result);
        const [key] = await keyMessages(deps, [result.row]);
        const { generation } = result;
        const changed = result.isUnchanged !== true;
        return create(PutKeyResponseSchema, {
          ...(key && { key }),
          ...(created && { secret }),
          created,
          changed,
          generation,
        });
      }),
    updateKey: ({ key, updateMask }, context) =>
      administer(context, async (administrator) => {
        const settings = maskedKeySettings(key, updateMask?.paths ?? []);
        checkSettings(deps, settings);
        const { hash } = await findInferenceKey(deps, administrator.workspaceId, key?.hash ?? "");
        const changed = await updateKey(writes, administrator, hash, settings);
        if (!changed) throw keyNotFound();
        await untilEnforced(deps, administrator, changed);
        const [after] = await keyMessages(deps, [changed.row]);
        return create(UpdateKeyResponseSchema, { ...(after && { key: after }), generation: changed.generation });
      }),
    deleteKey: ({ keyHash }, context) =>
      administer(context, async (administrator) => {
        const { hash } = await findInferenceKey(deps, administrator.workspaceId, keyHash);
        const change = await revokeKey(writes, administrator, hash);
        if (!change) throw keyNotFound();
        await untilEnforced(deps, administrator, change);
        return create(DeleteKeyResponseSchema, { generation: change.generation });
      }),
    rotateKey: ({ keyHash, overlapSeconds }, context) =>
      administer(context, async (administrator) => {
        throwProblems((problems) => keyRotation.check({ overlap_seconds: overlapSeconds }, "", problems));
        const { hash } = await findInferenceKey(deps, administrator.workspaceId, keyHash);
        const rotated = await rotateKey(writes, administrator, hash, () => mintKey(KeyKind.INFERENCE), overlapSeconds);
        if (!rotated) throw keyNotFound();
        await untilEnforced(deps, administrator, rotated);
        const [key] = await keyMessages(deps, [rotated.row]);
        const { key: secret, generation } = rotated;
        return create(RotateKeyResponseSchema, { ...(key && { key }), secret, generation });
      }),
  };
}

/** @throws Fault INVALID_REQUEST for content capture without an encryption key, or for invalid settings */
function checkSettings({ capture }: Deps, settings: KeySettings): void {
  checkKeySettings(settings);
  if (settings.capture_content === true) requireCapture(capture(), "capture_content");
}

/** The result of creating a key, which is never undefined: a newly minted key cannot exist already. */
function required(made: ChangedKey | undefined): ChangedKey {
  if (!made) throw new Error("a freshly minted key exists already");
  return made;
}

/**
 * Finds an inference key. Management keys can only be changed on the command line, so a program that manages keys
 * cannot lock itself out.
 */
async function findInferenceKey({ reads }: Deps, workspaceId: string, hash: string): Promise<KeyRow> {
  const row = isKeyHash(hash) ? await findKey(reads, workspaceId, hash) : undefined;
  if (row?.kind !== "inference") throw keyNotFound();
  return row;
}

const keyNotFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "Key not found");

/** Converts keys to messages that include their spending and external ids. */
async function keyMessages({ reads }: Pick<Deps, "reads">, rows: readonly KeyRow[]): Promise<Key[]> {
  const hashes = rows.map(({ hash }) => hash);
  const [spending, externalIds] = await Promise.all([spendingOf(reads, hashes), externalIdsOf(reads, "key", hashes)]);
  return rows.map((row) => {
    const spent = spending.get(row.hash);
    return keyRecord({
      ...row,
      spending: spent,
      last_used_at: spent?.last_used_at,
      external_id: externalIds.get(row.hash),
    });
  });
}
