/** Providers as they are configured, in the file and in the database, and changes of those in the database. For management keys of the account. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import type { ServiceImpl } from "@connectrpc/connect";
import { ProviderService, StoredProviderSchema } from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import {
  type ConfiguredProvider,
  ConfiguredProviderSchema,
  CreateProviderResponseSchema,
  DeleteProviderResponseSchema,
  type InferenceService,
  ListConfiguredProvidersResponseSchema,
  UpdateProviderResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { namedInFile } from "@sluice/proto/config/stored-providers.js";
import { leftOutReason } from "@sluice/proto/config/left-out.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { personIn, requestIdIn, workspaceHeader } from "@sluice/proto/lib/rpc/caller.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { CurrentConfig } from "../../engine/current-config.ts";
import type { StoredProviders } from "../../engine/stored-providers.ts";
import { type AdministratorDeps, requireManager } from "./administrator.ts";

export interface ConfiguredProvidersDeps extends AdministratorDeps {
  readonly config: CurrentConfig;
  readonly stored: StoredProviders;
  /** Connection to admin-svc. */
  readonly admin: Client;
}

type Handlers = Pick<
  ServiceImpl<typeof InferenceService>,
  "listConfiguredProviders" | "createProvider" | "updateProvider" | "deleteProvider"
>;

/** As for a change of any record: a second for the processes, the rest for the database. */
const timeoutMs = 10_000;
const maxKeys = 100;
const maxKeyLength = 8_192;
/** A shorter key would be mostly shown. */
const minKeyToShow = 12;
const endLength = 4;
const idForm = /^[A-Za-z0-9][\w.-]{0,99}$/;

export const configuredProvidersHandlers = (deps: ConfiguredProvidersDeps): Handlers => ({
  async listConfiguredProviders(_, { requestHeader }) {
    await requireAccount(deps, requestHeader);
    return create(ListConfiguredProvidersResponseSchema, { providers: listConfigured(deps) });
  },
  async createProvider({ settingsJson }, { requestHeader }) {
    const headers = await requireAccount(deps, requestHeader);
    const { id, ...settings } = parse(settingsJson);
    if (typeof id !== "string" || !idForm.test(id)) throw invalid("id", "1 to 100 letters, digits and . _ -");
    await store(deps, headers, { id, settings, revision: 0n });
    return create(CreateProviderResponseSchema, { provider: requireConfigured(deps, id) });
  },
  async updateProvider({ id, settingsJson }, { requestHeader }) {
    const headers = await requireAccount(deps, requestHeader);
    const found = requireStored(deps, id);
    const change = parse(settingsJson);
    if (Object.keys(change).length === 0) throw invalid("body", "at least one setting");
    if ((change["id"] ?? id) !== id) throw invalid("id", "cannot be changed");
    const merged = { ...found.settings, ...change };
    const settings = Object.fromEntries(
      Object.entries(merged).filter(([name, value]) => name !== "id" && value !== null),
    );
    const keepsSealed = !found.isOpen && change["api_keys"] === undefined;
    if (keepsSealed) throw invalid("api_keys", "the stored keys are encrypted with another SLUICE_SECRET: enter them");
    const sealedKeys = change["api_keys"] === undefined ? found.row.sealedKeys : undefined;
    await store(deps, headers, { id, settings, revision: found.row.revision, sealedKeys });
    return create(UpdateProviderResponseSchema, { provider: requireConfigured(deps, id) });
  },
  async deleteProvider({ id }, { requestHeader }) {
    const headers = await requireAccount(deps, requestHeader);
    const method = ProviderService.method.removeStoredProvider;
    await call(deps.admin, method, create(method.input, { id }), headers, timeoutMs);
    await deps.stored.read();
    return create(DeleteProviderResponseSchema);
  },
});

/** @returns the metadata of a call of admin-svc on behalf of the same key and person. @throws Fault */
async function requireAccount(deps: ConfiguredProvidersDeps, headers: Headers) {
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
    workspace,
    ...(requestId !== undefined && { requestId }),
  });
}

/** @throws Fault INVALID_REQUEST */
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
  /** Revision to replace; 0 for a new provider. */
  readonly revision: bigint;
  /** The keys as they are stored, when they do not change. */
  readonly sealedKeys?: string | undefined;
}

/** Checks, encrypts and stores, and waits until it is in force here. @throws Fault */
async function store(
  { admin, stored }: ConfiguredProvidersDeps,
  headers: ReturnType<typeof serviceMetadata>,
  { id, settings: { api_keys: given = [], ...settings }, revision, sealedKeys }: ChangedProvider,
): Promise<void> {
  const keys = requireKeys(given);
  const problem = stored.findProblem({ id, settings: { ...settings, ...(keys.length > 0 && { api_keys: keys }) } });
  if (problem !== undefined) throw refusal(problem, keys);
  const method = ProviderService.method.storeProvider;
  const provider = create(StoredProviderSchema, {
    id,
    settingsJson: Buffer.from(JSON.stringify(settings)),
    sealedKeys: sealedKeys ?? stored.sealKeys(id, keys),
    keyEnds: keys.map((key) => (key.length < minKeyToShow ? "" : key.slice(-endLength))),
  });
  await call(admin, method, create(method.input, { provider, replacedRevision: revision }), headers, timeoutMs);
  await stored.read();
}

/** @throws Fault INVALID_REQUEST */
function requireKeys(given: unknown): string[] {
  const isKey = (key: unknown) => typeof key === "string" && key !== "" && key.length <= maxKeyLength;
  if (!Array.isArray(given) || given.length > maxKeys || !given.every(isKey))
    throw invalid("api_keys", `a list of at most ${maxKeys} keys of 1 to ${maxKeyLength} characters`);
  return given as string[];
}

/** The problem as a fault that names its field. */
function refusal(problem: string, keys: readonly string[]): Fault {
  if (problem === namedInFile) return invalid("id", problem);
  const text = keys.reduce((left, key) => left.replaceAll(key, "***"), problem);
  const [, path = "body", message = text] = /^([\w.]+): (.*)$/s.exec(text) ?? [];
  return invalid(path, message);
}

/** @throws Fault NOT_FOUND */
function requireStored({ stored }: ConfiguredProvidersDeps, id: string) {
  const found = stored.all.find((each) => each.id === id);
  if (!found) throw new Fault(FaultReason.NOT_FOUND, "No provider in the database has this id");
  return found;
}

/** @throws Fault NOT_FOUND when it was deleted meanwhile */
function requireConfigured(deps: ConfiguredProvidersDeps, id: string): ConfiguredProvider {
  requireStored(deps, id);
  return listConfigured(deps).find((each) => each.id === id && each.source === "database") as ConfiguredProvider;
}

function listConfigured({ stored, config }: ConfiguredProvidersDeps): ConfiguredProvider[] {
  const { file, leftOut } = stored.config;
  const served = (id: string) =>
    config.catalog.models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === id)).length;
  const ofFile = file.providers.map((provider) =>
    create(ConfiguredProviderSchema, {
      id: provider.id,
      source: "file",
      settingsJson: Buffer.from(JSON.stringify(shownOfFile(provider))),
      models: served(provider.id),
    }),
  );
  const absent = leftOut.map((left) =>
    create(ConfiguredProviderSchema, {
      id: left.provider,
      source: "file",
      settingsJson: Buffer.from("{}"),
      problem: leftOutReason(left),
    }),
  );
  const ofDatabase = stored.all.map(({ id, row }) => {
    const problem = stored.problemOf(id);
    return create(ConfiguredProviderSchema, {
      id,
      source: "database",
      settingsJson: row.settingsJson,
      keyEnds: row.keyEnds,
      models: problem === undefined ? served(id) : 0,
      ...(problem !== undefined && { problem }),
      ...(row.createdAt && { createdAt: row.createdAt }),
      ...(row.updatedAt && { updatedAt: row.updatedAt }),
    });
  });
  return [...ofFile, ...absent, ...ofDatabase];
}

/** The settings of a provider of the file that hold no secret; its address without what may be one. */
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
