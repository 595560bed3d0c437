/** Composition root of admin-svc: database, policy feed, RPC port, and the order in which they close. */
import type { ConfigRefusal } from "@sluice/proto/gen/sluice/common/v1/configuration_pb.js";
import { AccessService } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { AlertService } from "@sluice/proto/gen/sluice/admin/v1/alert_service_pb.js";
import { AuditService } from "@sluice/proto/gen/sluice/admin/v1/audit_service_pb.js";
import { EndUserService } from "@sluice/proto/gen/sluice/admin/v1/end_user_service_pb.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { LedgerService } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { ProviderService } from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import { SessionService } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { ViewService } from "@sluice/proto/gen/sluice/admin/v1/view_service_pb.js";
import { WorkspaceService } from "@sluice/proto/gen/sluice/admin/v1/workspace_service_pb.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { type SinkSettings, noSinks } from "@sluice/proto/config/sinks/sinks.js";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { type MessageAdmission, type Sender, trustedSender } from "@sluice/proto/lib/rpc/admission.js";
import { isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import { type RpcServer, serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import { logUncaughtErrors } from "@sluice/proto/lib/process/uncaught.js";
import type { ServerTls } from "@sluice/proto/lib/tls/server.js";
import type { Tracing } from "@sluice/proto/lib/tracing/span.js";
import type { Pool } from "pg";
import { Exports } from "./exports/exports.ts";
import { startHourlyCleanup, prepareSchema, registerKeys, retryUntilAnswered } from "./prepare.ts";
import { BackfillWorker } from "./service/backfill-worker.ts";
import { accessService } from "./service/access.ts";
import { administrationServices } from "./service/administration.ts";
import { alertRuleService } from "./service/alert-rule.ts";
import { auditService } from "./service/audit.ts";
import { EndpointFeed } from "./service/endpoint-feed.ts";
import { endUserService } from "./service/end-user.ts";
import { usageService } from "./service/usage.ts";
import { UsageFolder } from "./service/usage-folder.ts";
import { guardrailService } from "./service/guardrail.ts";
import { keyService } from "./service/key.ts";
import { ledgerService } from "./service/ledger.ts";
import { NetworkRefusals } from "./service/network-refusals.ts";
import { providerService } from "./service/provider.ts";
import { Reports } from "./service/reports/reports.ts";
import { RetentionWorker } from "./service/retention-worker.ts";
import { sessionService } from "./service/session.ts";
import { viewService } from "./service/view.ts";
import { workspaceService } from "./service/workspace.ts";
import type { Deps } from "./service/deps.ts";
import { PolicyFeed } from "./service/policy-feed.ts";
import { AlertRules } from "./sinks/alert-rules.ts";
import { Alerts } from "./sinks/alerts.ts";
import { Rounds } from "./sinks/rounds.ts";
import { deleteExpiredContents } from "./store/contents.ts";
import { notifyEndpointNews } from "./store/endpoint-news.ts";
import { DatabaseClock } from "./store/postgres/database-clock.ts";
import { PolicyListener } from "./store/postgres/policy-listener.ts";
import { poolMetrics } from "./store/postgres/pool-metrics.ts";
import { currentGeneration } from "./store/policy.ts";
import {
  type Role,
  backfillConnectionLimits,
  bulkConnectionLimits,
  openDatabase,
  readConnectionLimits,
  reportConnectionLimits,
  resolutionConnectionLimits,
  writeConnectionLimits,
} from "./store/postgres/postgres.ts";
import { Replica } from "./store/postgres/replica.ts";
import { statementSpans } from "./store/postgres/statement-spans.ts";

export interface AdminOptions {
  readonly databaseUrl: string;
  /** A standby server of the same database; reports read usage records from it. */
  readonly replicaUrl?: string | undefined;
  readonly port: number;
  /** All addresses of the machine when undefined. */
  readonly host?: string | undefined;
  /** Keys chosen by the operator for the first start. */
  readonly bootstrapKeys: readonly string[];
  readonly serviceToken: ServiceToken;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  readonly registry: Registry;
  /** Certificates of the RPC port; clear text when absent. */
  readonly tls?: ServerTls | undefined;
  readonly tracing?: Tracing | undefined;
  /** Current settings of sinks, content capture and retention; without this function there are none. */
  readonly sinks?: (() => SinkSettings) | undefined;
  /** The last change of the configuration file that was refused; the earlier settings stay in force. */
  readonly configRefusal?: (() => ConfigRefusal | undefined) | undefined;
}

/**
 * Maximum message size in bytes. The largest legitimate messages are a guardrail, about 1 MiB, and a delivery of usage
 * records, 256 KiB. A larger message is refused before decoding, which would take 4 ms per MiB.
 */
const readMaxBytes = 4 * 1024 * 1024;

/** Opens the database and the RPC port. The promise settles once the port serves; the lifecycle closes both. */
export async function openAdmin(options: AdminOptions): Promise<RpcServer> {
  const { databaseUrl, replicaUrl, serviceToken, lifecycle, log } = options;
  const role = await prepareSchema(databaseUrl, log);
  const lost = (error: unknown) => log.warn({ err: error }, "database connection lost");
  const onStatement = options.tracing && statementSpans(options.tracing);
  const counted = poolMetrics(options.registry);
  const opened = (name: string) => ({ role, onStatement, opened: (pool: Pool) => counted(name, pool) });
  const resolution = openDatabase(databaseUrl, resolutionConnectionLimits, lost, opened("resolution"));
  const reads = openDatabase(databaseUrl, readConnectionLimits, lost, opened("reads"));
  const reports = openDatabase(databaseUrl, reportConnectionLimits, lost, opened("reports"));
  const replica =
    replicaUrl === undefined ? undefined : new Replica({ url: replicaUrl, session: opened("replica"), log });
  const writes = openDatabase(databaseUrl, writeConnectionLimits, lost, opened("writes"));
  const bulkWrites = openDatabase(databaseUrl, bulkConnectionLimits, lost, opened("bulks"));
  const clock = new DatabaseClock(writes);
  const { generation, trimming } = await retryUntilAnswered(log, async () => {
    await registerKeys(writes, options.bootstrapKeys, log);
    await clock.read();
    return { generation: await currentGeneration(resolution), trimming: await startHourlyCleanup(writes, log) };
  });
  const folder = new UsageFolder(writes, log);
  folder.start();
  const backfill = new BackfillWorker({
    open: () => openDatabase(databaseUrl, backfillConnectionLimits, lost),
    log,
    registry: options.registry,
  });
  backfill.start();
  const endpoints = new EndpointFeed({ notify: (payload) => notifyEndpointNews(writes, payload), log });
  const { policy, listener } = openPolicy({ ...options, role }, generation, endpoints, lost);
  const { sinks = () => noSinks, configRefusal = () => undefined, registry } = options;
  const sinkParts = { database: writes, settings: sinks, now: clock.now, log, registry };
  const alerts = new Alerts(sinkParts);
  const exports = new Exports(sinkParts);
  const retention = new RetentionWorker({
    open: () => openDatabase(databaseUrl, backfillConnectionLimits, lost),
    settings: () => sinks().retention,
    exports: () => sinks().exports.map(({ name }) => name),
    log,
    registry,
  });
  const reporting = new Reports(reports, replica);
  const alertRules = new AlertRules({
    ...sinkParts,
    read: (work) => reporting.check("a shorter window, or a filter such as key", work),
  });
  const server = await serve(options, {
    resolution,
    reads,
    reports: reporting,
    writes,
    bulkWrites,
    networkRefusals: new NetworkRefusals(writes),
    policy,
    endpoints,
    folder,
    alerts,
    sinks,
    serviceToken,
    capture: () => sinks().capture,
    configRefusal,
  });
  const rounds = [
    new Rounds(() => clock.read(), log, "sinks cannot be served"),
    new Rounds(() => alerts.deliver(), log, "sinks cannot be served"),
    new Rounds(() => exports.deliver(), log, "sinks cannot be served"),
    new Rounds(() => deleteExpiredContents(writes), log, "expired content is not deleted"),
    new Rounds(() => alertRules.run(), log, "alert rules are not checked"),
    new Rounds(() => retention.run(), log, "old records are not removed"),
  ];
  lifecycle.onDrain(() => policy.close());
  lifecycle.onDrain(() => server.drain());
  lifecycle.onDrain(async () => {
    clearInterval(trimming);
    retention.stop();
    alertRules.stop();
    await Promise.all([listener, folder, backfill, ...rounds].map((each) => each.stop()));
    const pools = [resolution, reads, reports, ...(replica ? [replica] : []), writes, bulkWrites];
    await Promise.all(pools.map((each) => each.destroy()));
  });
  logUncaughtErrors(log, options.registry);
  lifecycle.started();
  return server;
}

function openPolicy(
  { databaseUrl, role, log, registry }: AdminOptions & { readonly role: Role },
  generation: bigint,
  endpoints: EndpointFeed,
  onLost: (error: unknown) => void,
) {
  const policy: PolicyFeed = new PolicyFeed({ generation, read: () => listener.poke(), log, registry });
  const listener = new PolicyListener({
    databaseUrl,
    role,
    since: () => policy.generation,
    onReading: (reading) => policy.caughtUp(reading),
    onNews: (payload) => endpoints.receive(payload),
    onLost,
  });
  listener.start();
  return { policy, listener };
}

/** Keys are verified only later, in the handlers, so a caller could invent keys: all senders with a key share one part of the memory. */
const bearer: Sender = { key: "bearer" };

const sendersOf =
  (token: ServiceToken): MessageAdmission["senderOf"] =>
  (_, headers) => {
    if (isServiceToken((headers[serviceTokenHeader] as string | undefined) ?? null, token)) return trustedSender;
    parseBearer(headers.authorization);
    return bearer;
  };

function serve(options: AdminOptions, deps: Deps): Promise<RpcServer> {
  const { port, host, lifecycle, log, registry, tls, tracing, serviceToken } = options;
  const budget = new ByteBudget({ origin: FaultOrigin.ADMIN, registry });
  return serveRpc({
    admission: { budget, senderOf: sendersOf(serviceToken) },
    port,
    host,
    lifecycle,
    log,
    token: deps.serviceToken,
    tls,
    registry,
    tracing,
    readMaxBytes,
    services: [AccessService, LedgerService, ProviderService, SessionService, ...administrationServices],
    strict: administrationServices.map(({ typeName }) => typeName),
    routes: (router) => {
      router.service(AccessService, accessService(deps));
      router.service(GuardrailService, guardrailService(deps));
      router.service(EndUserService, endUserService(deps));
      router.service(KeyService, keyService(deps));
      router.service(LedgerService, ledgerService(deps));
      router.service(ProviderService, providerService(deps));
      router.service(SessionService, sessionService(deps));
      router.service(UsageService, usageService(deps));
      router.service(WorkspaceService, workspaceService(deps));
      router.service(AuditService, auditService(deps));
      router.service(ViewService, viewService(deps));
      router.service(AlertService, alertRuleService(deps));
    },
  });
}
