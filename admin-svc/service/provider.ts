/**
 * gRPC service for model providers kept in the database: stores what inference processes have checked and encrypted,
 * and announces changes to all processes.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ListStoredProvidersResponseSchema,
  type ProviderService,
  RemoveStoredProviderResponseSchema,
  StoreProviderResponseSchema,
  type StoredProvider,
  StoredProviderSchema,
} from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import {
  type NewStoredProvider,
  type StoredProviderChange,
  type StoredProviderRow,
  createStoredProvider,
  deleteStoredProvider,
  listStoredProviders,
  replaceStoredProvider,
} from "../store/providers.ts";
import { asAdministrator, requireAccountKey } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { untilEnforced } from "./enforcement.ts";
import { withUnavailableOutage } from "./outage.ts";

const maxIdLength = 100;

export function providerService(deps: Deps): ServiceImpl<typeof ProviderService> {
  const { resolution, writes, serviceToken } = deps;
  const administer = asAdministrator(deps);
  return {
    listStoredProviders: (_, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return withUnavailableOutage(async () => {
        const rows = await listStoredProviders(resolution);
        return create(ListStoredProvidersResponseSchema, { providers: rows.map(messageOf) });
      });
    },
    storeProvider: ({ provider, replacedRevision }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return administer(context, async (administrator) => {
        requireAccountKey(administrator, "change providers");
        const given = settingsIn(provider);
        const change =
          replacedRevision === 0n
            ? created(await createStoredProvider(writes, administrator, given))
            : replaced(await replaceStoredProvider(writes, administrator, given, replacedRevision));
        await untilEnforced(deps, administrator, change);
        return create(StoreProviderResponseSchema, {
          provider: messageOf(change.row),
          generation: change.generation,
        });
      });
    },
    removeStoredProvider: ({ id }, context) => {
      requireServiceToken(context.requestHeader, serviceToken);
      return administer(context, async (administrator) => {
        requireAccountKey(administrator, "delete providers");
        const change = await deleteStoredProvider(writes, administrator, id);
        if (!change) throw notFound();
        await untilEnforced(deps, administrator, change);
        return create(RemoveStoredProviderResponseSchema, { generation: change.generation });
      });
    },
  };
}

/** @throws Fault INVALID_REQUEST without settings */
function settingsIn(provider: StoredProvider | undefined): NewStoredProvider {
  const { id = "", settingsJson, sealedKeys = "", keyEnds = [] } = provider ?? {};
  if (id === "" || id.length > maxIdLength) throw invalid("id", `1 to ${maxIdLength} characters`);
  const settings = JSON.parse(Buffer.from(settingsJson ?? []).toString() || "{}") as JsonObject;
  return { id, settings, sealedKeys, keyEnds };
}

/** @throws Fault CONFLICT when the id exists already */
function created(change: StoredProviderChange | undefined): StoredProviderChange {
  if (change) return change;
  throw new Fault(FaultReason.CONFLICT, "Another provider in the database has this id");
}

/** @throws Fault NOT_FOUND for an unknown provider, CONFLICT for one changed meanwhile */
function replaced(change: StoredProviderChange | "missing" | "changed"): StoredProviderChange {
  if (change === "missing") throw notFound();
  if (change === "changed") throw new Fault(FaultReason.CONFLICT, "The provider was changed meanwhile; read it again");
  return change;
}

const notFound = (): Fault => new Fault(FaultReason.NOT_FOUND, "No provider in the database has this id");

const messageOf = (row: StoredProviderRow): StoredProvider =>
  create(StoredProviderSchema, {
    id: row.id,
    settingsJson: Buffer.from(JSON.stringify(row.settings)),
    sealedKeys: row.sealed_keys,
    keyEnds: row.key_ends,
    revision: BigInt(row.revision),
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
