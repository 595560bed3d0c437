/** The console shows account administrators which processes refused the configuration file, until a good file is in force. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { type Installation, makeManager, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

interface Refusal {
  readonly process: string;
  readonly refused_at: string;
  readonly problems: readonly string[];
}

let installation: Installation;
let origin: string;
let accountKey: string;
let file: string;
let good: string;

beforeAll(async () => {
  installation = await startInstallation({
    inferenceReplicas: 2,
    config: `
providers:
  - {id: sluice, dialect: echo}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
limits: {body_bytes: 65536}
`,
  });
  ({ origin } = new URL(installation.baseUrl));
  const options = ["--management", "--account", "--name", "account", "--json"];
  accountKey = (JSON.parse((await installation.admin("keys", "create", ...options)).stdout) as { readonly key: string })
    .key;
  file = join(installation.dataDir, "sluice.yaml");
  good = readFileSync(file, "utf8");
});
afterAll(() => installation?.stop());

const spoil = () => writeFileSync(file, `${good.replace("65536", "many")}alerts: nothing\n`);
const mend = () => writeFileSync(file, good);

async function signIn(key: string): Promise<string> {
  const { headers } = await fetch(`${origin}/console/api/session`, {
    method: "POST",
    headers: { origin, "content-type": "application/json" },
    body: JSON.stringify({ management_key: key }),
  });
  return (headers.get("set-cookie") as string).split(";")[0] as string;
}

const sendRequest = (cookie: string) => fetch(`${origin}/console/api/configuration`, { headers: { cookie } });

const list = async (cookie: string) =>
  ((await (await sendRequest(cookie)).json()) as { data: readonly Refusal[] }).data;

describe("a refused configuration file", () => {
  test("is shown with every process and the field, until a valid file is in force", async () => {
    const cookie = await signIn(accountKey);
    expect(await list(cookie)).toEqual([]);
    const before = Date.now();
    spoil();
    let refusals: readonly Refusal[] = [];
    await eventually(async () => (refusals = await list(cookie)).length === 4);
    const rooms = refusals.map(({ process }) => process.split("/")[0]);
    expect(rooms).toEqual(["gateway", "admin-svc", "inference-svc", "inference-svc"]);
    for (const { process, refused_at: at, problems } of refusals) {
      expect(problems).toEqual([
        expect.stringContaining(process.startsWith("admin-svc") ? "alerts" : "limits.body_bytes"),
      ]);
      expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
    }
    mend();
    await eventually(async () => (await list(cookie)).length === 0);
  });

  test("is shown only to administrators of the account", async () => {
    expect((await sendRequest("")).status).toBe(401);
    const answer = await sendRequest(await signIn(await makeManager(installation)));
    expect([answer.status, await answer.json()]).toMatchObject([
      403,
      { error: { message: "Only administrators of the account see the state of the configuration file" } },
    ]);
  });
});

describeWithChromium(`the console's overview ${inChromium}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  test("shows a notice while the configuration file is refused", async () => {
    const cookie = await signIn(accountKey);
    spoil();
    await eventually(async () => (await list(cookie)).length === 4);
    const visited = await visit(browser, origin);
    await signInTo(visited, accountKey);
    const notice = visited.page.getByRole("alert").filter({ hasText: "configuration file was refused" });
    await notice.getByText("limits.body_bytes").first().waitFor();
    expect(await findBarriers(visited.page)).toEqual([]);
    const other = await visit(browser, origin);
    await signInTo(other, await makeManager(installation));
    await other.page.getByText("Cost by day").first().waitFor();
    expect(await other.page.getByText("configuration file was refused").count()).toBe(0);
    mend();
    await notice.waitFor({ state: "detached" });
    expect([...visited.complaints, ...other.complaints]).toEqual([]);
  });
});
