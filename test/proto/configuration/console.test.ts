/** `console` in the configuration file: ambiguous settings for sign-in are refused by name. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { ConfigError } from "@sluice/proto/lib/process/environment.js";
import { loadEdge, loadConfig } from "@sluice/proto/config/config-file.js";
import { emptySeed } from "@sluice/proto/config/seed.js";
import { signInVariables } from "@sluice/proto/config/console/sign-in.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-console-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function problemsOf(text: string, environment: NodeJS.ProcessEnv = {}): readonly string[] {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, text);
  try {
    loadEdge(path, environment);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
}

describe("the setting console.oidc", () => {
  const settings = {
    name: "Acme",
    issuer: "https://id.example",
    client_id: "sluice",
    client_secret: "${CONSOLE_SECRET}",
    redirect_uri: "https://sluice.example/console/oidc/callback",
    roles: [{ group: "a", role: "viewer" }],
  };
  const section = (change: object, environment: NodeJS.ProcessEnv = { CONSOLE_SECRET: "s" }) =>
    problemsOf(JSON.stringify({ console: { oidc: { ...settings, ...change } } }), environment);

  test("has its secret from a variable of the gateway only", () => {
    expect(section({})).toEqual([]);
    expect(section({}, {})).toEqual(["console.oidc.client_secret: variable CONSOLE_SECRET is not set"]);
    const path = join(folder, `${files}.yaml`);
    expect(signInVariables(path, { CONSOLE_SECRET: "s", OTHER: "x" })).toEqual(["CONSOLE_SECRET"]);
    expect(loadConfig(path, {}, emptySeed).file.console.oidc).toBeUndefined();
  });

  test.each([
    ["an issuer without TLS", { issuer: "http://id.example" }, "issuer"],
    ["another way back", { redirect_uri: "https://sluice.example/console" }, "redirect_uri"],
    ["a scope without openid", { scope: "email" }, "scope"],
    ["nobody", { roles: [] }, "roles"],
    ["a key that does not exist", { client: "x" }, ""],
  ])("refuses %s", (_, change, at) => {
    expect(section(change).map((problem) => problem.split(": ")[0])).toEqual([`console.oidc${at && `.${at}`}`]);
  });
});

describe("the setting console.trusted_header", () => {
  const section = (settings: string) => problemsOf(`console: {trusted_header: {${settings}}}`);
  const from = 'from: ["10.0.0.7", "fd00::/8"]';

  test("needs addresses and rules", () => {
    expect(section(`${from}, roles: [{user: "*@example.com", role: viewer}]`)).toEqual([]);
    expect(section("").map((problem) => problem.split(":")[0])).toEqual([
      "console.trusted_header.from",
      "console.trusted_header.roles",
    ]);
  });

  test.each([
    ["everybody's address", `from: ["0.0.0.0/0"], roles: [{group: a, role: viewer}]`, "from.0"],
    ["a name for an address", `from: [proxy.internal], roles: [{group: a, role: viewer}]`, "from.0"],
    ["an unknown role", `${from}, roles: [{group: a, role: owner}]`, "roles.0.role"],
    ["a rule for nobody", `${from}, roles: [{role: viewer}]`, "roles.0"],
    ["a rule for two", `${from}, roles: [{user: a@example.com, group: a, role: viewer}]`, "roles.0"],
    ["a user that is no address", `${from}, roles: [{user: "*", role: admin}]`, "roles.0.user"],
    [
      "the account beside a workspace",
      `${from}, roles: [{group: a, role: admin, account: true, workspace: b}]`,
      "roles.0.workspace",
    ],
    ["a page elsewhere", `${from}, sign_out_url: "//evil.example", roles: [{group: a, role: viewer}]`, "sign_out_url"],
  ])("refuses %s", (_, settings, at) => {
    expect(section(settings).map((problem) => problem.split(": ")[0])).toEqual([`console.trusted_header.${at}`]);
  });
});
