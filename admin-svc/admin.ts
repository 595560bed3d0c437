/** The parts of admin-svc, put together: database, policy feed, RPC port, and the order in which they end. */
import { AccessService } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { LedgerService } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { ByteBudget } from "@sluice/proto/runtime/byte-budget.js";
import { FaultOrigin } from "@sluice/proto/runtime/fault.js";
import type { Lifecycle } from "@sluice/proto/runtime/lifecycle.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { Registry } from "@sluice/proto/runtime/metrics.js";
import { type MessageAdmission, type Sender, trusted } from "@sluice/proto/runtime/rpc/admission.js";
import { isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/runtime/rpc/caller.js";
import { type RpcServer, serveRpc } from "@sluice/proto/runtime/rpc/serve.js";
import { outliveErrors } from "@sluice/proto/runtime/uncaught.js";
import type { ServerTls } from "@sluice/proto/runtime/tls/server.js";
import type { Tracing } from "@sluice/proto/runtime/tracing/span.js";
import type { Pool } from "pg";
import type { Config } from "./config.ts";
import { keepLogShort, prepareSchema, registerKeys } from "./prepare.ts";
import { accessService } from "./service/access.ts";
import { administrationServices } from "./service/administration.ts";
import { endUserService } from "./service/end-user.ts";
import { usageService } from "./service/usage.ts";
import { guardrailService } from "./service/guardrail.ts";
import { keyService } from "./service/key.ts";
import { ledgerService } from "./service/ledger.ts";
import type { Parts } from "./service/parts.ts";
import { PolicyFeed } from "./service/policy-feed.ts";
import { PolicyListener } from "./store/policy-listener.ts";
import { poolMetrics } from "./store/pool-metrics.ts";
import { currentGeneration } from "./store/policy.ts";
import { type Role, bulkLimits, openDatabase, readLimits, writeLimits } from "./store/postgres.ts";
import { statementSpans } from "./store/statement-spans.ts";

export interface AdminOptions
  extends Pick<Config, "databaseUrl" | "port" | "bootstrapKeys">,
    Partial<Pick<Config, "host">> {
  readonly serviceToken: ServiceToken;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly registry: Registry;
  /** Clear text when absent. */
  readonly tls?: ServerTls | undefined;
  readonly tracing?: Tracing | undefined;
}

/** A guardrail has about 1 MiB, a delivery of usage records 256 KiB; what is larger is refused before it is decoded, which takes 4 ms a MiB. */
const readMaxBytes = 4 * 1024 * 1024;

/** Serves as soon as it settles, and ends with the lifecycle. */
export async function openAdmin(options: AdminOptions): Promise<RpcServer> {
  const { databaseUrl, serviceToken, lifecycle, log } = options;
  const role = await prepareSchema(databaseUrl, log);
  const lost = (error: unknown) => log.warn({ err: error }, "database connection lost");
  const heard = options.tracing && statementSpans(options.tracing);
  const counted = poolMetrics(options.registry);
  const opened = (name: string) => ({ role, heard, opened: (pool: Pool) => counted(name, pool) });
  const reads = openDatabase(databaseUrl, readLimits, lost, opened("reads"));
  const writes = openDatabase(databaseUrl, writeLimits, lost, opened("writes"));
  const bulkWrites = openDatabase(databaseUrl, bulkLimits, lost, opened("bulks"));
  await registerKeys(writes, options.bootstrapKeys, log);
  const trimming = await keepLogShort(writes, log);
  const { policy, listener } = openPolicy({ ...options, role }, await currentGeneration(reads), lost);
  const server = await serve(options, { reads, writes, bulkWrites, policy, serviceToken });
  lifecycle.onDrain(() => policy.close());
  lifecycle.onDrain(() => server.drain());
  lifecycle.onDrain(async () => {
    clearInterval(trimming);
    await listener.stop();
    await Promise.all([reads.destroy(), writes.destroy(), bulkWrites.destroy()]);
  });
  outliveErrors(log, options.registry);
  lifecycle.started();
  return server;
}

function openPolicy(
  { databaseUrl, role, log, registry }: AdminOptions & { readonly role: Role },
  generation: bigint,
  onLost: (error: unknown) => void,
) {
  const policy: PolicyFeed = new PolicyFeed({ generation, read: () => listener.poke(), log, registry });
  const listener = new PolicyListener({
    databaseUrl,
    role,
    since: () => policy.generation,
    onReading: (reading) => policy.caughtUp(reading),
    onLost,
  });
  listener.start();
  return { policy, listener };
}

/** Keys are looked up by the handlers, so that keys which nobody has could be invented: all who present one share one part of the memory. */
const bearer: Sender = { key: "bearer" };

const sendersOf =
  (token: ServiceToken): MessageAdmission["senderOf"] =>
  (_, headers) => {
    if (isServiceToken((headers[serviceTokenHeader] as string | undefined) ?? null, token)) return trusted;
    parseBearer(headers.authorization);
    return bearer;
  };

function serve(options: AdminOptions, parts: Parts): Promise<RpcServer> {
  const { port, host, lifecycle, log, registry, tls, tracing, serviceToken } = options;
  const budget = new ByteBudget({ origin: FaultOrigin.ADMIN, registry });
  return serveRpc({
    admission: { budget, senderOf: sendersOf(serviceToken) },
    port,
    host,
    lifecycle,
    log,
    token: parts.serviceToken,
    tls,
    registry,
    tracing,
    readMaxBytes,
    serviceNames: [AccessService, GuardrailService, EndUserService, KeyService, LedgerService, UsageService].map(
      ({ typeName }) => typeName,
    ),
    strict: administrationServices.map(({ typeName }) => typeName),
    routes: (router) => {
      router.service(AccessService, accessService(parts));
      router.service(GuardrailService, guardrailService(parts));
      router.service(EndUserService, endUserService(parts));
      router.service(KeyService, keyService(parts));
      router.service(LedgerService, ledgerService(parts));
      router.service(UsageService, usageService(parts));
    },
  });
}
