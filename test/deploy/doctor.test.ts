/** `doctor`: what it finds on this machine, and what it says to do. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { examine } from "@sluice/local/doctor/examine.js";
import { type Finding, toLines } from "@sluice/local/doctor/findings.js";
import type { InstallationRecord } from "@sluice/local/installation-record.js";
import { startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { freePorts } from "../support/runner/free-ports.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-test-doctor-"));
const dataDir = join(folder, "data");
const config = join(folder, "sluice.yaml");
let environment: NodeJS.ProcessEnv;

const good = "providers: [{id: e, dialect: echo}]\nmodels: [{id: sluice/echo, endpoints: [{provider: e}]}]\n";

beforeEach(async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(config, good);
  const names = ["", "INFERENCE_", "ADMIN_", "POSTGRES_", "GATEWAY_HEALTH_", "INFERENCE_HEALTH_", "ADMIN_HEALTH_"];
  const ports = await freePorts(names.length);
  const variables = names.map((name, n) => [`SLUICE_${name}PORT`, String(ports[n])]);
  environment = { ...Object.fromEntries(variables), SLUICE_DATA_DIR: dataDir, SLUICE_CONFIG: config };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The findings that report a problem. */
async function wrong(variables: NodeJS.ProcessEnv = {}): Promise<readonly Finding[]> {
  const findings = await examine({ ...environment, ...variables });
  expect(findings.every(({ state, remedy }) => state === "good" || remedy !== undefined)).toBe(true);
  return findings.filter(({ state }) => state !== "good");
}

const failure = (subject: string, text: string) => ({ subject, state: "failed", text: expect.stringContaining(text) });

test("doctor reports no problem on a machine where Sluice can start", async () => {
  const findings = await examine(environment);
  expect(findings.map(({ subject, state }) => `${state} ${subject}`)).toEqual(
    ["Node", "configuration", "credentials", "data folder", "Postgres", "ports", "services"].map(
      (each) => `good ${each}`,
    ),
  );
  expect(toLines(findings).at(-1)).toBe("Nothing failed.");
});

describe("doctor reports", () => {
  test("a wrong or misspelled variable", async () => {
    expect(await wrong({ SLUICE_PORT: "http" })).toMatchObject([failure("environment", "SLUICE_PORT: must be a port")]);
    const [misspelled] = await wrong({ SLUICE_PROT: "1" });
    expect(misspelled).toMatchObject({ state: "note", text: expect.stringContaining("did you mean SLUICE_PORT?") });
  });

  test("the problems of the configuration file", async () => {
    writeFileSync(config, "providers: [{id: x, dialect: telnet}]\n");
    expect(await wrong()).toMatchObject([failure("configuration", "providers.0.dialect: ")]);
    rmSync(config);
    expect(await wrong()).toMatchObject([failure("configuration", config)]);
  });

  test("providers of the operator's file without their credentials, and a file without models", async () => {
    writeFileSync(
      config,
      `providers: [{id: far, dialect: chat, base_url: "http://127.0.0.1:9/v1", api_keys: ["\${FAR_KEY}"]}]\necho: false`,
    );
    expect(await wrong()).toMatchObject([
      failure("configuration", "serves no model"),
      failure("credentials", "provider far is left out: FAR_KEY not set"),
    ]);
  });

  test("a data folder that is not one", async () => {
    writeFileSync(dataDir, "");
    expect(await wrong()).toMatchObject([failure("data folder", "is not a folder")]);
  });

  test("a database that does not answer, without showing its password", async () => {
    const found = await wrong({ DATABASE_URL: "postgres://sluice:very-secret@127.0.0.1:9/orders" });
    expect(found).toMatchObject([failure("Postgres", "127.0.0.1:9/orders does not answer")]);
    expect(JSON.stringify(found)).not.toContain("very-secret");
  });

  test("a port in use", async () => {
    const server = createServer().listen(Number(environment["SLUICE_ADMIN_PORT"]), "127.0.0.1");
    await eventually(() => server.listening);
    const found = await wrong();
    server.close();
    expect(found).toMatchObject([failure("ports", "is in use: set SLUICE_ADMIN_PORT to another one")]);
    expect(toLines(found).at(-1)).toBe("1 of 1 checks failed.");
  });
});

test("doctor queries the services of a running Sluice, and reports a service that does not answer", async () => {
  const installation = await startInstallation({ config: good });
  try {
    const its = { SLUICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
    expect(await wrong(its)).toEqual([]);
    mkdirSync(dataDir);
    const record = JSON.parse(readFileSync(join(installation.dataDir, "house.json"), "utf8")) as InstallationRecord;
    const closed = { ...record.ports, gateway_health: Number(environment["SLUICE_GATEWAY_HEALTH_PORT"]) };
    writeFileSync(join(dataDir, "house.json"), JSON.stringify({ ...record, ports: closed }));
    expect(await wrong({ ...its, SLUICE_DATA_DIR: dataDir })).toMatchObject([
      failure("gateway", "/readyz does not answer"),
      { subject: "a request", state: "note", text: expect.stringContaining("401") },
    ]);
  } finally {
    await installation.stop();
  }
});
