/** The metrics page, the dashboard and the alert rules name only existing metrics and labels. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type Collector, startCollector } from "../support/collector.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { readPage } from "../support/pages.ts";
import { eventually, root } from "../support/processes.ts";
import { metricNames, samplesOf, scrape } from "../support/metrics.ts";

/** Each row of the table, with its note on when the metric exists. */
const documented = new Map(
  [...readPage("docs/operate/observability.md").matchAll(/^\| `(sluice_\w+)` \|([^|]*)\| (.*) \|$/gm)].map(
    ([, name, labels, says]) => [
      name as string,
      {
        labels: (labels as string)
          .split(",")
          .map((label) => label.trim())
          .filter((label) => label !== ""),
        always: !/^with `(REDIS_URL|SLUICE_TLS_DIR)`/.test(says as string),
      },
    ],
  ),
);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
const chartFile = (name: string) => readFileSync(join(root, "deploy/helm/sluice/files", name), "utf8");
const rules = (parse(chartFile("alerts.yaml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}
const { panels } = JSON.parse(chartFile("dashboard.json")) as { panels: Panel[] };
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

let collector: Collector;
let installation: Installation;
let text: string;
beforeAll(async () => {
  collector = await startCollector();
  installation = await startInstallation({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: "50" },
  });
  const sendRequest = (key: string, stream: boolean) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "Hi", stream }),
    });
  for (const stream of [false, true])
    expect(await (await sendRequest(installation.apiKey, stream)).text()).toContain("completed");
  const headers = { authorization: `Bearer ${installation.managementKey}` };
  expect((await fetch(`${installation.baseUrl}/keys`, { headers })).status).toBe(200);
  await eventually(async () =>
    /^sluice_trace_spans_total\{result="delivered",room="inference-svc"\}/m.test((text = await scrape(installation))),
  );
});
afterAll(async () => {
  await installation?.stop();
  await collector?.stop();
});

describe("the metrics page", () => {
  test("lists every documented metric, and no other", () => {
    const own = [...metricNames(text)].filter((name) => name.startsWith("sluice_")).toSorted();
    const always = [...documented].filter(([, metric]) => metric.always).map(([name]) => name);
    expect(own).toEqual(always.toSorted());
  });

  test("names every label", () => {
    const suffix = /_(bucket|sum|count)$/;
    const unnamed = samplesOf(text).flatMap(({ name, labels }) => {
      const metric = documented.get(name) ?? documented.get(name.replace(suffix, ""));
      if (!metric) return [];
      return Object.keys(labels)
        .filter((label) => !["room", "le", ...metric.labels].includes(label))
        .map((label) => `${name} ${label}`);
    });
    expect([...new Set(unnamed)]).toEqual([]);
  });

  test("documents when conditional metrics exist", () => {
    const conditional = [...documented].filter(([, metric]) => !metric.always).map(([name]) => name);
    const sources = ["limits/redis-link.ts", "limits/shared.ts", "tls/certificates.ts"].map((file) =>
      readFileSync(join(root, "proto/lib", file), "utf8"),
    );
    for (const name of conditional) expect(sources.some((source) => source.includes(`"${name}"`))).toBe(true);
  });
});

describe("the dashboards and alert rules of Grafana and Prometheus", () => {
  const used = [
    ...new Set(expressions.flatMap((expression) => expression.match(/\b(?:sluice|nodejs|process)_\w+/g) ?? [])),
  ];

  test("have metrics and panels", () => {
    expect(used.length).toBeGreaterThan(20);
    expect(panels.filter(({ targets }) => targets).length).toBeGreaterThan(20);
  });

  test.each(used)("exist: %s", (name) => {
    const base = name.replace(/_bucket$/, "");
    expect(metricNames(text).has(base) || documented.get(base)?.always === false).toBe(true);
  });

  test("have only labels of their metrics", () => {
    const wrong = expressions.flatMap((expression) =>
      [...expression.matchAll(/\b(sluice_\w+?)(?:_bucket)?\{([^}]*)\}/g)].flatMap(([, name = "", matchers = ""]) =>
        [...matchers.matchAll(/(\w+)\s*[=!]/g)]
          .map(([, label = ""]) => label)
          .filter((label) => !["room", ...(documented.get(name)?.labels ?? [])].includes(label))
          .map((label) => `${name} ${label}`),
      ),
    );
    expect(wrong).toEqual([]);
  });

  test("have a severity, a summary and a description for every rule", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Sluice[A-Z]\w+$/);
      expect(["page", "ticket"]).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect(annotations.description.length).toBeGreaterThan(20);
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
