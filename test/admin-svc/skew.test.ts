/** admin-svc and its clients in different builds: settings unknown to one of them are reported, never left out silently. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Message, create } from "@bufbuild/protobuf";
import {
  AccessService,
  type Caller,
  CallerSchema,
  FilterAction,
  GuardrailSchema,
  ResolveKeyResponseSchema,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import {
  CreateGuardrailRequestSchema,
  GuardrailService,
} from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import {
  type AdminInstallation,
  addKey,
  callAsAdministrator,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  serviceToken,
  timeoutMs,
} from "./installation.ts";

const log = openLog("test", "silent");
/** Adds a field of a future build to a message. */
const strange = <M extends Message>(message: M): M =>
  Object.assign(message, { $unknown: [{ no: 99, wireType: 0, data: new Uint8Array([1]) }] });
const detectors = [{ detector: "names", category: "person-name", action: FilterAction.REDACT }];
const accessTo = (port: number) =>
  new Access({
    client: dial(`127.0.0.1:${port}`),
    token: serviceToken,
    process: "test",
    log,
    registry: new Registry(),
  });

describe("admin-svc with other processes of an earlier build", () => {
  let installation: AdminInstallation;
  beforeAll(async () => {
    installation = await openInstallation();
  });
  afterAll(() => installation?.close());

  const keyUnder = async (rules: object): Promise<string> => {
    const keyHash = hashKey(await addKey(installation.database));
    const { guardrail } = await callAsAdministrator(installation, GuardrailService.method.createGuardrail, {
      name: "test",
      ...rules,
    });
    await assignGuardrail(
      installation.client,
      guardrail?.id ?? "",
      [keyHash],
      bearerMetadata(installation.managementKey),
    );
    return keyHash;
  };

  test("gives an earlier process no policy with settings that the process does not know", async () => {
    const resolve = (keyHash: string, refusesUnknown: boolean) => {
      const { resolveKey } = AccessService.method;
      const request = create(resolveKey.input, { keyHash, refusesUnknown });
      return call(installation.client, resolveKey, request, serviceMetadata(serviceToken), timeoutMs);
    };
    const known = await keyUnder({ contentFilters: [{ pattern: "x", action: FilterAction.BLOCK }] });
    const later = await keyUnder({ detectors });
    expect((await resolve(known, false)).caller?.keyHash).toBe(known);
    expect((await resolve(later, true)).caller?.guardrail?.detectors).toHaveLength(1);
    await expect(resolve(later, false)).rejects.toMatchObject({
      status: 503,
      message: "The policy of the key needs a newer build: guardrail.detectors",
    });
  });

  test("lists its known features in its greeting, and refuses unknown ones", async () => {
    const access = accessTo(installation.port);
    const request = create(CreateGuardrailRequestSchema, { name: "test", detectors });
    expect(() => access.requireKnown(CreateGuardrailRequestSchema, request)).toThrow("name");
    await access.watch();
    access.requireKnown(CreateGuardrailRequestSchema, request);
    access.stop();
    const { createGuardrail } = GuardrailService.method;
    await expect(
      call(
        installation.client,
        createGuardrail,
        strange(request),
        bearerMetadata(installation.managementKey),
        timeoutMs,
      ),
    ).rejects.toMatchObject({ status: 400, message: "99: a field that this build does not know" });
  });
});

describe("a gateway with an admin-svc of another build", () => {
  let caller: Caller;
  let port: number;
  const lifecycle = new Lifecycle(log);
  beforeAll(async () => {
    const server = await serveRpc({
      port: 0,
      lifecycle,
      log,
      services: [],
      routes: (router) => {
        router.service(AccessService, {
          resolveKey: () => create(ResolveKeyResponseSchema, { caller, generation: 1n }),
          async *watchPolicy(_, { signal }) {
            yield create(WatchPolicyResponseSchema, { generation: 1n, all: true });
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          },
        });
      },
    });
    port = server.port;
    lifecycle.onDrain(() => server.drain());
  });
  afterAll(() => lifecycle.drain(0));

  test("sends an earlier admin-svc no request with settings that it would ignore", async () => {
    const access = accessTo(port);
    await access.watch();
    access.requireKnown(CreateGuardrailRequestSchema, create(CreateGuardrailRequestSchema, { name: "test" }));
    const request = create(CreateGuardrailRequestSchema, { name: "test", detectors });
    expect(() => access.requireKnown(CreateGuardrailRequestSchema, request)).toThrow(
      expect.objectContaining({
        status: 400,
        message: "detectors: not known to admin-svc, which is of an earlier build",
      }),
    );
    access.stop();
  });

  test("enforces a policy of a later admin-svc whole or refuses it", async () => {
    const access = accessTo(port);
    await access.watch();
    caller = create(CallerSchema, { keyHash: "a", guardrail: { id: "g" } });
    expect((await access.resolve("a")).caller?.guardrail?.id).toBe("g");
    caller = create(CallerSchema, { keyHash: "b", guardrail: strange(create(GuardrailSchema, { id: "g" })) });
    await expect(Promise.resolve(access.resolve("b"))).rejects.toMatchObject({ status: 503 });
    access.stop();
  });
});
