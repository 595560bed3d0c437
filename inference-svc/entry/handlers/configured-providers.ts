/** Lists the providers of the configuration file and of the database, and changes those of the database. For management keys of the account. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ProviderService,
  type StoredProvider,
  StoredProviderSchema,
} from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import {
  type ConfiguredProvider,
  ConfiguredProviderSchema,
  CreateProviderResponseSchema,
  DeleteProviderResponseSchema,
  type InferenceService,
  ListConfiguredProvidersResponseSchema,
  UpdateProviderResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { LeftOut, ProviderSettings } from "@sluice/proto/config/config-file.js";
import { destinationOf, namedInFile } from "@sluice/proto/config/stored-providers.js";
import { leftOutReason } from "@sluice/proto/config/left-out.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { personIn, requestIdIn, workspaceHeader } from "@sluice/proto/lib/rpc/caller.js";
import { type Calling, callerAddress } from "@sluice/proto/lib/rpc/peer.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { CurrentConfig } from "../../engine/current-config.ts";
import type { CatalogModel } from "../../models/routing/catalog.ts";
import { type OpenedProvider, type StoredProviders, otherSecret } from "../../engine/stored-providers.ts";
import { type AdministratorDeps, requireManager } from "./administrator.ts";

export interface ConfiguredProvidersDeps extends AdministratorDeps {
  readonly config: CurrentConfig;
  readonly stored: StoredProviders;
  /** Providers of the file that are left out, such as for a missing variable. */
  readonly leftOut: () => readonly LeftOut[];
  /** Connection to admin-svc. */
  readonly admin: Client;
}

type Handlers = Pick<
  ServiceImpl<typeof InferenceService>,
  "listConfiguredProviders" | "createProvider" | "updateProvider" | "deleteProvider"
>;

/** Time limit of a change in milliseconds, equal to the limit of other records: a second for the processes, the rest for the database. */
const timeoutMs = 10_000;
const maxKeys = 100;
const maxKeyLength = 8_192;
/** Minimum length of a key of which the last characters are shown; they would be most of a shorter key. */
const minKeyToShow = 12;
const endLength = 4;
/** Problem of a provider whose new state this process could not read yet. */
const notYetInForce = "stored, and not yet in force in this process, which cannot read it";
const idForm = /^[A-Za-z0-9][\w.-]{0,99}$/;

export const configuredProvidersHandlers = (deps: ConfiguredProvidersDeps): Handlers => ({
  async listConfiguredProviders(_, context) {
    await requireAccount(deps, context);
    return create(ListConfiguredProvidersResponseSchema, { providers: listConfigured(deps) });
  },
  async createProvider({ settingsJson }, context) {
    const headers = await requireAccount(deps, context);
    const { id, ...settings } = parse(settingsJson);
    if (typeof id !== "string" || !idForm.test(id)) throw invalid("id", "1 to 100 letters, digits and . _ -");
    const row = await store(deps, headers, { id, settings, revision: 0n });
    return create(CreateProviderResponseSchema, { provider: ofDatabase(deps, row) });
  },
  async updateProvider({ id, settingsJson }, context) {
    const headers = await requireAccount(deps, context);
    const found = requireStored(deps, id);
    const change = parse(settingsJson);
    if (Object.keys(change).length === 0) throw invalid("body", "at least one setting");
    if ((change["id"] ?? id) !== id) throw invalid("id", "cannot be changed");
    const merged = { ...found.settings, ...change };
    const settings = Object.fromEntries(
      Object.entries(merged).filter(([name, value]) => name !== "id" && value !== null),
    );
    const sealedKeys = change["api_keys"] === undefined ? found.row.sealedKeys : undefined;
    if (sealedKeys !== undefined && sealedKeys !== "") requireSameDestination(found, settings);
    const row = await store(deps, headers, { id, settings, revision: found.row.revision, sealedKeys });
    return create(UpdateProviderResponseSchema, { provider: ofDatabase(deps, row) });
  },
  async deleteProvider({ id }, context) {
    const headers = await requireAccount(deps, context);
    const method = ProviderService.method.removeStoredProvider;
    await call(deps.admin, method, create(method.input, { id }), headers, timeoutMs);
    return create(DeleteProviderResponseSchema);
  },
});

/** @returns headers for a call of admin-svc on behalf of the same key and person @throws Fault */
async function requireAccount(deps: ConfiguredProvidersDeps, calling: Calling) {
  const { requestHeader: headers } = calling;
  const { account, keyHash } = await requireManager(deps, headers);
  if (!account) {
    throw new Fault(
      FaultReason.PERMISSION_DENIED,
      "Only management keys of the account see and change how providers are configured; `keys create --management --account` makes one",
    );
  }
  const requestId = requestIdIn(headers);
  const workspace = headers.get(workspaceHeader) ?? undefined;
  return serviceMetadata(deps.token, {
    keyHash,
    person: personIn(headers, deps.token),
    address: callerAddress(calling, deps.token),
    workspace,
    ...(requestId !== undefined && { requestId }),
  });
}

/** Parses a body. @throws Fault INVALID_REQUEST */
function parse(bytes: Uint8Array): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    value = undefined;
  }
  if (!isObject(value)) throw invalid("body", "must be a JSON object");
  return value;
}

interface ChangedProvider {
  readonly id: string;
  readonly settings: JsonObject;
  /** Revision of the stored provider to replace; 0 for a new provider. */
  readonly revision: bigint;
  /** The keys as they are stored, encrypted, when the change leaves them as they are. */
  readonly sealedKeys?: string | undefined;
}

/**
 * Refuses another address without new keys. Keys can be written, not read: such a change would send the stored keys to
 * another server. @throws Fault INVALID_REQUEST
 */
function requireSameDestination({ id, isOpen, settings: before }: OpenedProvider, settings: JsonObject): void {
  if (!isOpen) throw invalid("api_keys", otherSecret);
  if (destinationOf({ id, settings: before }) === destinationOf({ id, settings })) return;
  throw invalid("api_keys", "required with another address, vendor or format: stored keys are not sent elsewhere");
}

/**
 * Checks, encrypts and stores a provider. admin-svc answers once the change is in effect in every process that the
 * policy watch reaches. @throws Fault
 */
async function store(
  { admin, stored }: ConfiguredProvidersDeps,
  headers: ReturnType<typeof serviceMetadata>,
  { id, settings: { api_keys: given = [], ...settings }, revision, sealedKeys }: ChangedProvider,
): Promise<StoredProvider> {
  const keys = requireKeys(given);
  const problem = stored.findProblem({ id, settings: { ...settings, ...(keys.length > 0 && { api_keys: keys }) } });
  if (problem !== undefined) throw refusal(problem, keys);
  const method = ProviderService.method.storeProvider;
  const provider = create(StoredProviderSchema, {
    id,
    settingsJson: Buffer.from(JSON.stringify(settings)),
    sealedKeys: sealedKeys ?? stored.sealKeys({ id, settings }, keys),
    keyEnds: keys.map((key) => (key.length < minKeyToShow ? "" : key.slice(-endLength))),
  });
  const request = create(method.input, { provider, replacedRevision: revision });
  const { provider: row = provider } = await call(admin, method, request, headers, timeoutMs);
  return row;
}

/** Checks the list of API keys. @throws Fault INVALID_REQUEST */
function requireKeys(given: unknown): string[] {
  const isKey = (key: unknown) => typeof key === "string" && key !== "" && key.length <= maxKeyLength;
  if (!Array.isArray(given) || given.length > maxKeys || !given.every(isKey))
    throw invalid("api_keys", `a list of at most ${maxKeys} keys of 1 to ${maxKeyLength} characters`);
  return given as string[];
}

/** Converts a problem to a fault that names its field. */
function refusal(problem: string, keys: readonly string[]): Fault {
  if (problem === namedInFile) return invalid("id", problem);
  const text = keys.reduce((left, key) => left.replaceAll(key, "***"), problem);
  const [, path = "body", message = text] = /^([\w.]+): (.*)$/s.exec(text) ?? [];
  return invalid(path, message);
}

/** Finds a provider of the database. @throws Fault NOT_FOUND */
function requireStored({ stored }: ConfiguredProvidersDeps, id: string) {
  const found = stored.all.find((each) => each.id === id);
  if (!found) throw new Fault(FaultReason.NOT_FOUND, "No provider in the database has this id");
  return found;
}

function listConfigured(deps: ConfiguredProvidersDeps): ConfiguredProvider[] {
  const { file } = deps.stored.config;
  const absent = new Map(deps.leftOut().map((left) => [left.provider, leftOutReason(left)]));
  const shown = new Map(file.providers.map((provider) => [provider.id, shownOfFile(provider)]));
  const ofFile = [...new Set([...shown.keys(), ...absent.keys()])].map((id) =>
    create(ConfiguredProviderSchema, {
      id,
      source: "file",
      settingsJson: Buffer.from(JSON.stringify(shown.get(id) ?? {})),
      ...problemOrModels(deps, id, absent.get(id)),
    }),
  );
  return [...ofFile, ...deps.stored.all.map(({ row }) => ofDatabase(deps, row))];
}

/** @param row a row of the list, or as admin-svc has just stored it */
function ofDatabase(deps: ConfiguredProvidersDeps, row: StoredProvider): ConfiguredProvider {
  const { id, settingsJson, keyEnds, createdAt, updatedAt } = row;
  const isRead = deps.stored.all.some((each) => each.id === id && each.row.revision === row.revision);
  return create(ConfiguredProviderSchema, {
    id,
    source: "database",
    settingsJson,
    keyEnds,
    ...problemOrModels(deps, id, isRead ? deps.stored.problemOf(id) : notYetInForce),
    ...(createdAt && { createdAt }),
    ...(updatedAt && { updatedAt }),
  });
}

function problemOrModels({ config }: ConfiguredProvidersDeps, id: string, problem: string | undefined) {
  if (problem !== undefined) return { problem };
  const isServed = ({ endpoints }: CatalogModel) => endpoints.some(({ provider }) => provider === id);
  return { models: config.catalog.models.filter(isServed).length };
}

/** The settings of the file's provider that hold no secret; the address is shown without parts that may be secret. */
function shownOfFile({ name, dialect, base_url: url, vendor, region }: ProviderSettings): JsonObject {
  const address = url === undefined ? undefined : new URL(url);
  return {
    ...(name !== undefined && { name }),
    dialect,
    ...(address && { base_url: `${address.origin}${address.pathname}` }),
    ...(vendor !== undefined && { vendor }),
    region,
  };
}
