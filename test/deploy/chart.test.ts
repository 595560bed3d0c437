/** The Helm chart: the same objects as the manifests, options one by one, and values refused by name. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { root, runProgram } from "../support/processes.ts";
import { byName } from "./helm/compare.ts";
import { chart, findHelms, missingHelm, renderChart, runTemplate } from "./helm/helm.ts";
import { describedValues, openObjects, schemaPaths, valuePaths } from "./helm/values.ts";
import { type Resource, render } from "./kubernetes/kustomize.ts";
import { makeOverlay } from "./kubernetes/overlays.ts";
import { type Selector, listensOn, matchesLabels, workloadsOf } from "./kubernetes/workloads.ts";

const made = mkdtempSync(join(tmpdir(), "sluice-test-chart-"));
afterAll(() => rmSync(made, { recursive: true, force: true }));

const read = (path: string): string => readFileSync(join(chart, path), "utf8");
const { version, appVersion } = parse(read("Chart.yaml")) as { version: string; appVersion: string };

test("the Helm chart has Sluice's version", () => {
  const { version: released } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  expect([version, appVersion]).toEqual([released, released]);
});

test("the chart's schema has exactly the chart's values, and the page describes each", () => {
  expect(openObjects()).toEqual([]);
  expect(schemaPaths()).toEqual(valuePaths());
  expect(describedValues()).toEqual(valuePaths());
});

const helm = (await findHelms())[0]?.program;
const renderWith = (...args: string[]): Promise<Resource[]> => renderChart(helm as string, args);

/** The manifests in the base have no version of the images; the overlay for production has. */
const services = ["sluice/gateway", "sluice/inference-svc", "sluice/admin-svc"];
const images = services.map((name) => ({ name, newTag: appVersion }));

const production = ["--values", join(chart, "values-production.yaml")];
const options: readonly (readonly [component: string, setting: string])[] = [
  ["redis", "redis.enabled=true"],
  ["sandbox", "sandbox.enabled=true"],
  ["sinks", "sinks.enabled=true"],
  ["tracing", "tracing.enabled=true"],
  ["token-file", "serviceIdentity=tokenFile"],
  ["cloud-metadata", "cloudMetadata.enabled=true"],
];
const set = (settings: readonly string[]): string[] => settings.flatMap((setting) => ["--set", setting]);

const equals: readonly (readonly [title: string, overlay: () => string, args: readonly string[]])[] = [
  ["the base", () => makeOverlay(made, "base", [], images), []],
  ["production", () => makeOverlay(made, "overlays/production"), production],
  ...options.map(
    ([component, setting]) =>
      [
        `production with ${component}`,
        () => makeOverlay(made, "overlays/production", [component]),
        [...production, ...set([setting])],
      ] as const,
  ),
  [
    "production with everything",
    () =>
      makeOverlay(
        made,
        "overlays/production",
        options.map(([component]) => component),
      ),
    [...production, ...set(options.map(([, setting]) => setting))],
  ],
  [
    "mutual-tls with tracing",
    () => makeOverlay(made, "overlays/mutual-tls", ["tracing"]),
    [...production, ...set(["serviceIdentity=certificates", "tracing.enabled=true"])],
  ],
];

(helm === undefined ? describe.skip : describe)(
  `the Helm chart${helm === undefined ? ` (${missingHelm})` : ""}`,
  () => {
    test.each(equals)("makes the same objects as %s", async (_, overlay, args) => {
      expect(byName(await renderWith(...args))).toEqual(byName(render(overlay())));
    });

    test("passes the linter of helm", async () => {
      const { code, stdout } = await runProgram(helm as string, [
        "lint",
        "--strict",
        "--kube-version",
        "1.36.0",
        chart,
      ]);
      expect([code, stdout]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
    });

    test("runs both jobs before each installation and upgrade, the schema first", async () => {
      const jobs = (await renderWith()).filter(({ kind }) => kind === "Job");
      const annotations = jobs.map(({ metadata }) => [
        metadata.name,
        (metadata as unknown as { annotations: object }).annotations,
      ]);
      const hook = (order: string) => ({
        "helm.sh/hook": "pre-install,pre-upgrade",
        "helm.sh/hook-weight": order,
        "helm.sh/hook-delete-policy": "before-hook-creation",
        "argocd.argoproj.io/hook": "PreSync",
        "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
        "argocd.argoproj.io/sync-wave": order,
      });
      expect(Object.fromEntries(annotations)).toEqual({ schema: hook("0"), bootstrap: hook("1") });
    });

    test("has jobs that need no object of the chart, since they run before it is installed", async () => {
      const resources = await renderWith();
      for (const { spec } of resources.filter(({ kind }) => kind === "Job")) {
        const pod = (spec as { template: { spec: object } }).template.spec;
        expect(Object.keys(pod)).not.toContain("serviceAccountName");
        expect(JSON.stringify(pod)).not.toContain("sluice-config");
      }
    });

    test("monitors with the published alerts and dashboard, and reads the port of every service", async () => {
      const settings = set(["podMonitor.enabled=true", "prometheusRule.enabled=true", "grafanaDashboard.enabled=true"]);
      const resources = await renderWith(...settings);
      const find = (name: string) =>
        resources.find(({ kind, metadata }) => `${kind} ${metadata.name}` === name) as Resource;
      expect(find("PrometheusRule sluice")["spec"]).toEqual(parse(read("files/alerts.yaml")));
      expect(find("ConfigMap sluice-dashboard")["data"]).toEqual({ "sluice.json": read("files/dashboard.json") });
      const { selector, podMetricsEndpoints } = find("PodMonitor sluice")["spec"] as {
        selector: Selector;
        podMetricsEndpoints: { port: string }[];
      };
      const monitored = workloadsOf(resources).filter(({ labels }) => matchesLabels(selector, labels));
      expect(monitored.map(({ name }) => name).toSorted()).toEqual(["admin-svc", "gateway", "inference-svc"]);
      expect(monitored.every((workload) => listensOn(workload, podMetricsEndpoints[0]?.port as string))).toBe(true);
    });

    const placed: readonly (readonly [what: string, settings: string, object: string, part: object])[] = [
      [
        "an image",
        "image.registry=registry.example.com/team,image.tag=1.2.3,image.pullPolicy=Always,image.pullSecrets[0].name=registry",
        "Job schema",
        {
          spec: {
            template: {
              spec: {
                imagePullSecrets: [{ name: "registry" }],
                containers: [{ image: "registry.example.com/team/sluice/admin-svc:1.2.3", imagePullPolicy: "Always" }],
              },
            },
          },
        },
      ],
      [
        "a configuration file",
        "configuration.file=providers: []",
        "ConfigMap sluice-config",
        { data: { "sluice.yaml": "providers: []" } },
      ],
      [
        "a config map of the operator",
        "configuration.existingConfigMap=mine",
        "Deployment gateway",
        { spec: { template: { spec: { volumes: [{ name: "config", configMap: { name: "mine" } }] } } } },
      ],
      [
        "an identity of a cloud",
        "inferenceSvc.accountAnnotations.eks\\.amazonaws\\.com/role-arn=role",
        "ServiceAccount inference-svc",
        { metadata: { annotations: { "eks.amazonaws.com/role-arn": "role" } } },
      ],
      [
        "a variable of the operator, after those of the chart",
        "adminSvc.env[0].name=NODE_EXTRA_CA_CERTS,adminSvc.env[0].value=/etc/ca/ca.crt",
        "Deployment admin-svc",
        {
          spec: {
            template: {
              spec: {
                containers: [
                  { env: expect.arrayContaining([{ name: "NODE_EXTRA_CA_CERTS", value: "/etc/ca/ca.crt" }]) as object },
                ],
              },
            },
          },
        },
      ],
      [
        "a scaler, by processor time where nothing else is set",
        "gateway.autoscaling.enabled=true",
        "HorizontalPodAutoscaler gateway",
        {
          spec: {
            minReplicas: 3,
            metrics: [
              { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } } },
            ],
          },
        },
      ],
      [
        "an ingress",
        "ingress.enabled=true,ingress.hosts[0]=sluice.example.com",
        "Ingress gateway",
        {
          spec: {
            rules: [
              {
                host: "sluice.example.com",
                http: { paths: [{ backend: { service: { name: "gateway", port: { name: "http" } } } }] },
              },
            ],
          },
        },
      ],
      [
        "a route, which ends no stream",
        "httpRoute.enabled=true,httpRoute.parentRefs[0].name=public",
        "HTTPRoute gateway",
        {
          spec: {
            parentRefs: [{ name: "public" }],
            rules: [{ backendRefs: [{ name: "gateway", port: 80 }], timeouts: { request: "0s" } }],
          },
        },
      ],
      [
        "the ports of a Redis with Sentinels",
        "redis.enabled=true,redis.morePorts[0]=26379",
        "NetworkPolicy redis",
        { spec: { egress: [{ ports: [{ port: 6379 }, { port: 26379 }] }] } },
      ],
      [
        "a provider inside the network",
        "networkPolicy.inferenceEgress[0].to[0].ipBlock.cidr=10.1.2.3/32",
        "NetworkPolicy inference-svc",
        { spec: { egress: expect.arrayContaining([{ to: [{ ipBlock: { cidr: "10.1.2.3/32" } }] }]) as object } },
      ],
    ];
    test.each(placed)("sets %s in the manifests from a value of the chart", async (_, settings, object, part) => {
      const resources = await renderWith("--set", settings);
      expect(resources.find(({ kind, metadata }) => `${kind} ${metadata.name}` === object)).toMatchObject(part);
    });

    test("keeps everything in the namespace of the release", async () => {
      const resources = await renderWith(
        ...production,
        ...set(options.map(([, setting]) => setting)),
        "--namespace",
        "ai",
      );
      expect(resources.filter(({ metadata }) => metadata.namespace !== "ai")).toEqual([]);
    });

    const refused: readonly (readonly [what: string, setting: string, message: string])[] = [
      ["a misspelt section", "gatewy.replicas=3", "additional properties 'gatewy' not allowed"],
      ["a misspelt value", "gateway.replica=3", "additional properties 'replica' not allowed"],
      ["a misspelt value further down", "inferenceSvc.spool.persistant=true", "'persistant' not allowed"],
      ["a field of a variable that there is not", "gateway.env[0].name=A,gateway.env[0].vale=b", "'vale' not allowed"],
      ["a wrong type", "gateway.replicas=many", "got string, want integer"],
      ["an identity that there is not", "serviceIdentity=mtls", "value must be one of"],
      ["an endpoint without a scheme", "tracing.endpoint=collector:4318", "does not match pattern"],
      ["an ingress without a host", "ingress.enabled=true", "ingress.hosts is empty"],
      ["a route without a gateway", "httpRoute.enabled=true", "httpRoute.parentRefs is empty"],
      [
        "a scaler without a target",
        "gateway.autoscaling.enabled=true,gateway.autoscaling.cpuPercent=0",
        "autoscaling of gateway is enabled without a target",
      ],
    ];
    test.each(refused)("refuses to render with %s", async (_, setting, message) => {
      const { code, stderr } = await runTemplate(helm as string, ["--set", setting]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    });
  },
);
