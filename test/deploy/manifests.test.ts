/** The manifests: every field, every name, every variable; and planted errors for each check. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { pathToFileURL } from "node:url";
import { parseAllDocuments } from "yaml";
import { readFolder } from "../support/pages.ts";
import { root, runProgram } from "../support/processes.ts";
import { type Operation, type Resource, apply, render } from "./kubernetes/kustomize.ts";
import { makeOverlay, manifests } from "./kubernetes/overlays.ts";
import { secretsOfPage } from "./kubernetes/page.ts";
import { programProblems } from "./kubernetes/programs.ts";
import { quotaFor } from "./kubernetes/quota.ts";
import { reachProblems } from "./kubernetes/reach.ts";
import { danglingReferences } from "./kubernetes/references.ts";
import { shapeProblems } from "./kubernetes/shapes.ts";

const secrets = secretsOfPage();

const problemsOf = (resources: readonly Resource[]): string[] => [
  ...resources.flatMap((resource) =>
    shapeProblems(resource).map((problem) => `${resource.kind} ${resource.metadata.name}: ${problem}`),
  ),
  ...danglingReferences(resources, secrets),
  ...programProblems(resources),
  ...reachProblems(resources),
];

const made = mkdtempSync(join(tmpdir(), "sluice-test-overlays-"));
afterAll(() => rmSync(made, { recursive: true, force: true }));
const overlayOf = (base: string, components: readonly string[]) => makeOverlay(made, base, components);

const all = ["redis", "sandbox", "sinks", "tracing", "token-file", "cloud-metadata"];
const overlays: readonly (readonly [title: string, overlay: string])[] = [
  ...["overlays/development", "overlays/production", "overlays/mutual-tls"].map(
    (overlay) => [overlay, join(manifests, overlay)] as const,
  ),
  ...all.map((name) => [`development with ${name}`, overlayOf("overlays/development", [name])] as const),
  ["production with everything", overlayOf("overlays/production", all)],
  ["mutual-tls with redis and tracing", overlayOf("overlays/mutual-tls", ["redis", "tracing"])],
];

test("every Kubernetes component is rendered", () => {
  expect(readdirSync(join(manifests, "components")).toSorted()).toEqual(all.toSorted());
});

test.each(overlays)("the Kubernetes manifest %s has no problem", (_, overlay) => {
  const resources = render(overlay);
  expect(problemsOf(resources)).toEqual([]);
  const names = resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  expect(names).toEqual([...new Set(names)]);
  expect(resources.filter(({ metadata }) => metadata.namespace !== "sluice")).toEqual([]);
});

test("the configuration file in the Kubernetes manifests is valid", () => {
  const seed = readSeed(pathToFileURL(join(root, "inference-svc/models/catalog/seed.json")));
  const { file, leftOut } = loadConfig(join(manifests, "base/sluice.yaml"), {}, seed);
  expect(file.models.map(({ id }) => id)).toContain("sluice/echo");
  expect(leftOut.length).toBeGreaterThan(0);
});

test("the page names the quota needed by the pods", () => {
  const { millicores, memory, memoryLimit } = quotaFor(render(join(manifests, "base")));
  const page = readFolder("docs/deploy");
  const [, ...figures] =
    /([\d.]+) processors and (\d+) MiB, with limits of\s([\d.]+) GiB, both jobs included/.exec(page) ?? [];
  expect(figures.map(Number)).toEqual([millicores / 1_000, memory, memoryLimit / 1_024]);
});

const kubectl = await runProgram("kubectl", ["version", "--client"]).then(
  ({ code }) => code === 0,
  () => false,
);
(kubectl ? test : test.skip).each(overlays)("kubectl kustomize makes the same of %s", async (_, overlay) => {
  const { code, stdout, stderr } = await runProgram("kubectl", ["kustomize", overlay]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const sorted = (resources: readonly unknown[]) =>
    Object.fromEntries(
      (resources as Resource[]).map((resource) => [`${resource.kind} ${resource.metadata.name}`, resource]),
    );
  const theirs = parseAllDocuments(stdout).map((document) => document.toJS() as unknown);
  expect(sorted(render(overlay))).toEqual(sorted(theirs));
});

describe("the check of manifests finds a planted mistake:", () => {
  const container = "/spec/template/spec/containers/0";
  /** Variable n of the container, by its place in the manifest. */
  const variable = (n: number) => `${container}/env/${n}`;
  const mistakes: [what: string, kind: string, name: string, operation: Operation, problem: RegExp][] = [
    [
      "a misspelt field",
      "Deployment",
      "gateway",
      { op: "add", path: `${container}/imagePulPolicy`, value: "Always" },
      /containers\.0: Unrecognized key: "imagePulPolicy"/,
    ],
    [
      "a field of the wrong type",
      "Deployment",
      "admin-svc",
      { op: "replace", path: "/spec/replicas", value: "2" },
      /spec\.replicas/,
    ],
    [
      "a probe that is not there",
      "StatefulSet",
      "inference-svc",
      { op: "remove", path: `${container}/readinessProbe` },
      /^inference-svc: no readinessProbe$/,
    ],
    [
      "a probe of a port that is not there",
      "Deployment",
      "gateway",
      { op: "replace", path: `${container}/livenessProbe/httpGet/port`, value: "healthz" },
      /^gateway: livenessProbe: no port healthz$/,
    ],
    [
      "a liveness that depends on others",
      "Deployment",
      "gateway",
      { op: "replace", path: `${container}/livenessProbe/httpGet/path`, value: "/readyz" },
      /^gateway: livenessProbe asks for \/readyz$/,
    ],
    [
      "a config map that is not there",
      "Deployment",
      "gateway",
      { op: "replace", path: "/spec/template/spec/volumes/0/configMap/name", value: "sluice" },
      /^gateway: no config map sluice$/,
    ],
    [
      "a key that the secret does not have",
      "StatefulSet",
      "inference-svc",
      { op: "replace", path: `${variable(4)}/valueFrom/secretKeyRef/key`, value: "hash" },
      /^inference-svc: SLUICE_SECRET: no secret sluice with the key hash$/,
    ],
    [
      "an account that is not there",
      "StatefulSet",
      "inference-svc",
      { op: "replace", path: "/spec/template/spec/serviceAccountName", value: "inference" },
      /^inference-svc: no service account inference$/,
    ],
    [
      "a selector that matches nothing",
      "Service",
      "admin-svc",
      { op: "replace", path: "/spec/selector/app.kubernetes.io~1name", value: "admin" },
      /^Service admin-svc: nothing matches/,
    ],
    [
      "a port that nobody has",
      "Service",
      "gateway",
      { op: "replace", path: "/spec/ports/0/targetPort", value: "web" },
      /^Service gateway: no port web$/,
    ],
    [
      "a network policy for nobody",
      "NetworkPolicy",
      "inference-svc",
      { op: "replace", path: "/spec/ingress/0/from/0/podSelector/matchLabels/app.kubernetes.io~1name", value: "edge" },
      /^NetworkPolicy inference-svc: nothing matches/,
    ],
    [
      "a network policy for another port",
      "NetworkPolicy",
      "gateway",
      { op: "replace", path: "/spec/egress/1/ports/0/port", value: 8083 },
      /^NetworkPolicy gateway: no port 8083$/,
    ],
    [
      "a variable that nobody reads",
      "Deployment",
      "gateway",
      { op: "replace", path: `${variable(0)}/name`, value: "SLUICE_CONFIG_FILE" },
      /^gateway: SLUICE_CONFIG_FILE is read by nobody$/,
    ],
    [
      "a variable that is missing",
      "StatefulSet",
      "inference-svc",
      { op: "remove", path: `${container}/env/2` },
      /^inference-svc: SLUICE_SPOOL_DIR is required$/,
    ],
    [
      "a value that is refused",
      "Deployment",
      "gateway",
      { op: "replace", path: `${variable(1)}/value`, value: "inference-svc" },
      /^gateway: SLUICE_INFERENCE_ADDRESSES cannot be inference-svc$/,
    ],
    [
      "an address of nobody",
      "Deployment",
      "gateway",
      { op: "replace", path: `${variable(2)}/value`, value: "admin:8082" },
      /^gateway: SLUICE_ADMIN_ADDRESS: no service at admin:8082$/,
    ],
    [
      "a folder that is not mounted",
      "StatefulSet",
      "inference-svc",
      { op: "replace", path: `${variable(2)}/value`, value: "/var/spool" },
      /^inference-svc: SLUICE_SPOOL_DIR: nothing is mounted at \/var\/spool$/,
    ],
    [
      "less time than a drain takes",
      "Deployment",
      "gateway",
      { op: "replace", path: "/spec/template/spec/terminationGracePeriodSeconds", value: 30 },
      /^gateway: 30 s are less than a drain of 310000 ms takes$/,
    ],
    [
      "a root file system that can be written",
      "Deployment",
      "admin-svc",
      { op: "replace", path: `${container}/securityContext/readOnlyRootFilesystem`, value: false },
      /readOnlyRootFilesystem/,
    ],
    [
      "a scaler of what is not there",
      "HorizontalPodAutoscaler",
      "inference-svc",
      { op: "replace", path: "/spec/scaleTargetRef/kind", value: "Deployment" },
      /no Deployment inference-svc$/,
    ],
    [
      "a Redis that nobody may reach",
      "NetworkPolicy",
      "redis",
      { op: "replace", path: "/spec/egress/0/ports/0/port", value: 6380 },
      /^gateway: REDIS_URL: no network policy lets it reach port 6379$/,
    ],
    [
      "a Redis that one service may not reach",
      "NetworkPolicy",
      "redis",
      { op: "remove", path: "/spec/podSelector/matchExpressions/0/values/1" },
      /^inference-svc: REDIS_URL: no network policy lets it reach port 6379$/,
    ],
    [
      "a Redis whose secret has another key",
      "StatefulSet",
      "inference-svc",
      { op: "replace", path: `${variable(5)}/valueFrom/secretKeyRef/key`, value: "redis-url" },
      /^inference-svc: REDIS_URL: no secret sluice-redis with the key redis-url$/,
    ],
    [
      "a collector on a port that nobody may reach",
      "Deployment",
      "admin-svc",
      { op: "replace", path: `${variable(5)}/value`, value: "http://otel-collector.observability:4317" },
      /^admin-svc: OTEL_EXPORTER_OTLP_ENDPOINT: no network policy lets it reach port 4317$/,
    ],
    [
      "a collector that has no URL",
      "Deployment",
      "admin-svc",
      { op: "replace", path: `${variable(5)}/value`, value: "otel-collector:4318" },
      /^admin-svc: OTEL_EXPORTER_OTLP_ENDPOINT cannot be otel-collector:4318$/,
    ],
    [
      "a sampler that is none",
      "Deployment",
      "admin-svc",
      { op: "replace", path: `${variable(6)}/value`, value: "one-in-ten" },
      /^admin-svc: OTEL_TRACES_SAMPLER cannot be one-in-ten$/,
    ],
    [
      "a misspelt variable of OpenTelemetry",
      "Deployment",
      "admin-svc",
      { op: "replace", path: `${variable(6)}/name`, value: "OTEL_TRACE_SAMPLER" },
      /^admin-svc: OTEL_TRACE_SAMPLER is read by nobody$/,
    ],
    [
      "a token file that is not mounted",
      "Deployment",
      "gateway",
      { op: "replace", path: `${variable(3)}/value`, value: "/etc/token/service-token" },
      /^gateway: SLUICE_SERVICE_TOKEN_FILE: nothing is mounted at \/etc\/token\/service-token$/,
    ],
    [
      "a token file that is not in its secret",
      "Deployment",
      "gateway",
      { op: "replace", path: "/spec/template/spec/volumes/1/secret/items/0/key", value: "token" },
      /^gateway: no secret sluice with the key token$/,
    ],
    [
      "neither a token nor its file",
      "Deployment",
      "admin-svc",
      { op: "remove", path: variable(1) },
      /^admin-svc: SLUICE_SERVICE_TOKEN is required$/,
    ],
    [
      "a database that nobody may reach",
      "NetworkPolicy",
      "database",
      { op: "replace", path: "/spec/egress/0/ports/0/port", value: 5433 },
      /^admin-svc: DATABASE_URL: no network policy lets it reach port 5432$/,
    ],
    [
      "a volume that is not there",
      "StatefulSet",
      "inference-svc",
      { op: "remove", path: "/spec/volumeClaimTemplates" },
      /^inference-svc: no volume spool$/,
    ],
  ];

  test.each(mistakes)("%s", (_, kind, name, operation, problem) => {
    const resources = render(overlayOf("overlays/production", all));
    apply(resources.find((resource) => resource.kind === kind && resource.metadata.name === name) as Resource, [
      operation,
    ]);
    expect(problemsOf(resources)).toContainEqual(expect.stringMatching(problem));
  });
});
