/** Starts admin-svc on a real port with its own database, and makes the calls of its tests. */
import {
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  create,
} from "@bufbuild/protobuf";
import { type Client, Metadata } from "@grpc/grpc-js";
import { type AdminOptions, openAdmin } from "@sluice/admin-svc/admin.js";
import type { Author } from "@sluice/admin-svc/store/audit.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { createGuardrail } from "@sluice/admin-svc/store/guardrails.js";
import { createKey } from "@sluice/admin-svc/store/keys.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import {
  AccessService,
  ResolveKeyRequestSchema,
  type ResolveKeyResponse,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  AssignKeysRequestSchema,
  type AssignKeysResponse,
  GuardrailService,
  UnassignKeysRequestSchema,
  type UnassignKeysResponse,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { type Logger, openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type Kysely, sql } from "kysely";
import { type TestDatabase, createMigratedDatabase } from "../support/database.ts";

/** Author of the records made by a test. */
export const testAuthor = (workspaceId = defaultWorkspaceId): Author => ({
  workspaceId,
  keyHash: null,
  program: "cli",
  requestId: null,
});

export const serviceToken = "a-service-token-of-at-least-thirty-two-characters";

export interface AdminInstallation {
  readonly databaseUrl: string;
  readonly port: number;
  readonly log: Logger;
  readonly registry: Registry;
  readonly lifecycle: Lifecycle;
  readonly database: Kysely<Database>;
  readonly client: Client;
  /** Management key of the default workspace. */
  readonly managementKey: string;
  close(): Promise<void>;
}

/**
 * @param via address of the database as the service reaches it, if not directly  @param createDatabase creates a database without the schema of this
 * build
 */
export async function openInstallation(
  via: (databaseUrl: string) => string | Promise<string> = (url) => url,
  createDatabase: () => Promise<TestDatabase> = createMigratedDatabase,
): Promise<AdminInstallation> {
  const created = await createDatabase();
  const { url } = created;
  const log = openLog("test", "silent");
  const lifecycle = new Lifecycle(log);
  const registry = new Registry();
  const managementKey = mintKey(KeyKind.MANAGEMENT);
  const options: AdminOptions = {
    databaseUrl: await via(url),
    port: 0,
    serviceToken,
    bootstrapKeys: [managementKey],
    lifecycle,
    log,
    registry,
  };
  const { port } = await openAdmin(options);
  const database = openDatabase(url, patientLimits, () => {});
  const client = dial(`127.0.0.1:${port}`);
  const close = async () => {
    client.close();
    await lifecycle.drain(0);
    await database.destroy();
    await created.drop();
  };
  return { databaseUrl: url, port, log, registry, lifecycle, database, client, managementKey, close };
}

export function bearerMetadata(key: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${key}`);
  return metadata;
}

/** Deadline of a call in milliseconds; only a call that hangs takes so long. */
export const timeoutMs = 60_000;

/** Time limits for a test's own queries: on a slow machine the service's limits are too short for them. */
const patientLimits = {
  ...writeConnectionLimits,
  connectTimeoutMs: timeoutMs,
  statementTimeoutMs: 0,
  lockTimeoutMs: 0,
};

/**
 * Repeats a write as long as the service answers with a retryable error: on a slow machine, a write may wait for others longer than the lock timeout.
 */
export async function retryUntilWritten<Answer>(write: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof Fault && error.shouldRetry)) throw error;
    }
  }
}

/** Calls an operation with the installation's management key, or with other metadata. */
export const callAsAdministrator = <Input extends DescMessage, Output extends DescMessage>(
  installation: AdminInstallation,
  method: DescMethodUnary<Input, Output>,
  input: MessageInitShape<Input>,
  metadata: Metadata = bearerMetadata(installation.managementKey),
): Promise<MessageShape<Output>> => call(installation.client, method, create(method.input, input), metadata, timeoutMs);

export const assignGuardrail = (
  client: Client,
  guardrailId: string,
  keyHashes: string[],
  metadata: Metadata,
): Promise<AssignKeysResponse> =>
  call(
    client,
    GuardrailService.method.assignKeys,
    create(AssignKeysRequestSchema, { guardrailId, keyHashes }),
    metadata,
    timeoutMs,
  );

export const unassignGuardrail = (
  client: Client,
  guardrailId: string,
  keyHashes: string[],
  metadata: Metadata,
): Promise<UnassignKeysResponse> =>
  call(
    client,
    GuardrailService.method.unassignKeys,
    create(UnassignKeysRequestSchema, { guardrailId, keyHashes }),
    metadata,
    timeoutMs,
  );

export const resolveKey = (client: Client, keyHash: string): Promise<ResolveKeyResponse> =>
  call(
    client,
    AccessService.method.resolveKey,
    create(ResolveKeyRequestSchema, { keyHash, refusesUnknown: true }),
    serviceMetadata(serviceToken),
    timeoutMs,
  );

export interface KeyOptions {
  readonly kind?: KeyKind.INFERENCE | KeyKind.MANAGEMENT;
  readonly workspaceId?: string;
  readonly expiresAt?: Date;
}

/** Adds a key. @returns the key itself, not its hash */
export async function addKey(database: Kysely<Database>, options: KeyOptions = {}): Promise<string> {
  const key = mintKey(options.kind ?? KeyKind.INFERENCE);
  const { workspaceId = defaultWorkspaceId, expiresAt = null } = options;
  await createKey(database, testAuthor(workspaceId), { name: "test", key, expires_at: expiresAt });
  return key;
}

/** Adds keys. @returns their hashes */
export async function addKeys(database: Kysely<Database>, count: number): Promise<string[]> {
  const hashes = Array.from({ length: count }, () => hashKey(mintKey(KeyKind.INFERENCE)));
  await database
    .insertInto("api_keys")
    .values(
      hashes.map((hash) => ({
        hash,
        workspace_id: defaultWorkspaceId,
        name: "test",
        kind: "inference" as const,
        label: "sk-sl-test...test",
        expires_at: null,
      })),
    )
    .execute();
  return hashes;
}

/** Adds a guardrail. @returns its id */
export async function addGuardrail(database: Kysely<Database>, workspaceId = defaultWorkspaceId): Promise<string> {
  const filter = { pattern: "secret-\\d+", label: "Secret", action: "block" as const };
  const settings = { name: "test", content_filters: [filter] };
  const { row } = await createGuardrail(database, testAuthor(workspaceId), settings);
  return row.id;
}

/** Adds a workspace. @returns its id */
export async function addWorkspace(database: Kysely<Database>): Promise<string> {
  const id = crypto.randomUUID();
  await database
    .insertInto("workspaces")
    .values({ id, name: `other ${id}` })
    .execute();
  return id;
}

/** Number of statements waiting for a lock. @param text part of the statements, as in SQL `like` */
export async function waitingStatements(database: Kysely<Database>, text = ""): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${text}%`}`.execute(database);
  return rows[0]?.count ?? 0;
}
