/** Routing decisions for tests: over a catalogue, without calling a provider. */
import { create } from "@bufbuild/protobuf";
import { Catalog } from "@sluice/inference-svc/models/routing/catalog.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { Router } from "@sluice/inference-svc/models/routing/choose/router.js";
import type { Stage } from "@sluice/inference-svc/turn/trace.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { noPackages } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { openUpstreams } from "@sluice/inference-svc/models/upstream/providers.js";
import { type PreferencesJson, preferencesMessage } from "@sluice/proto/contract/request/preferences.js";
import { type ProviderPreferences, ProviderPreferencesSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { testRequest, testConfig, newScope } from "../../asking.js";

export const preferencesOf = (json: PreferencesJson): ProviderPreferences =>
  create(ProviderPreferencesSchema, preferencesMessage(json));

type Asking = Omit<Partial<TurnRequest>, "provider"> & { readonly provider?: PreferencesJson };

export const routedRequest = ({ provider, ...request }: Asking = {}): TurnRequest =>
  testRequest({ ...request, ...(provider && { provider: preferencesOf(provider) }) });

export interface Decider {
  readonly catalog: Catalog;
  readonly router: Router;
  readonly records: EndpointRecords;
  /** Time in milliseconds, which only a test moves. */
  readonly clock: { now: number };
  /** The endpoints by their upstream model, in the order of attempts. */
  order(request?: Asking, keyHash?: string): string[];
  /** Processor time of one decision in microseconds, without the test's own preparation. */
  cost(request: Asking): number;
  /** The reason for having no endpoint. */
  fault(request: Asking, caller?: Partial<Caller>): Fault;
  /** The endpoints by their upstream model, with the reasons for which the turn excluded the others. */
  left(caller: Partial<Caller>, request?: Asking): { order: string[]; excluded: object; stages: readonly Stage[] };
}

/** @param providers in addition to `a`, `b` and `c`, which have the chat format */
export function openDecider(models: readonly unknown[], providers: readonly unknown[] = []): Decider {
  const chat = (id: string) => ({ id, dialect: "chat", base_url: "http://127.0.0.1:1/v1" });
  const file = testConfig({ providers: [...["a", "b", "c"].map(chat), ...providers], models });
  const catalog = new Catalog(file);
  const clock = { now: 1_000_000 };
  const records = new EndpointRecords(() => clock.now);
  const telling = openUpstreams(file.providers, {
    version: "0.0.0",
    packages: noPackages,
    log: { error: () => {}, warn: () => {} },
    now: records.now,
  });
  const router = new Router({ catalog, support: telling, secret: "s".repeat(32), records, cooldown: () => undefined });
  const route = (request: Asking, keyHash = "key", caller: Partial<Caller> = {}) =>
    router.route(routedRequest(request), newScope({ keyHash, ...caller }).scope);
  return {
    catalog,
    router,
    records,
    clock,
    order: (request = {}, keyHash) => route(request, keyHash).map(({ upstreamModel }) => upstreamModel),
    cost(request) {
      const { scope } = newScope({ keyHash: "key" });
      const decide = (batch: number): number => {
        const requests = Array.from({ length: 100 }, (_, index) =>
          // A copy of the input for each request, because requests do not share theirs in production.
          routedRequest({
            ...request,
            ...(request.input && { input: [...request.input] }),
            sessionId: `${batch}-${index}`,
          }),
        );
        const before = process.cpuUsage();
        for (const each of requests) router.route(each, scope);
        const { user, system } = process.cpuUsage(before);
        return (user + system) / requests.length;
      };
      const batches = Array.from({ length: 100 }, (_, batch) => decide(batch)).slice(50);
      return batches.reduce((sum, us) => sum + us, 0) / batches.length;
    },
    left(caller, request = {}) {
      const { scope } = newScope(caller);
      const endpoints = router.route(routedRequest(request), scope);
      return {
        order: endpoints.map(({ upstreamModel }) => upstreamModel),
        excluded: Object.fromEntries(scope.trace.excluded),
        stages: router.auditPolicies(endpoints, scope),
      };
    },
    fault(request, caller) {
      try {
        route(request, undefined, caller);
      } catch (error) {
        if (error instanceof Fault) return error;
        throw error;
      }
      throw new Error("something can serve");
    },
  };
}

/** An endpoint named by its model, at this price in dollars per million tokens. */
export const pricedEndpoint = (name: string, price: number | undefined, more: object = {}) => ({
  provider: "a",
  upstream_model: name,
  ...(price !== undefined && { pricing: { prompt: String(price), completion: String(price) } }),
  ...more,
});
