/** The built-in model together with an operator's configuration file, and the first management key. */
import { afterEach, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";

let installation: Installation | undefined;
afterEach(async () => {
  await installation?.stop();
  installation = undefined;
});

const own = `
providers: [{id: far, dialect: chat, base_url: "http://127.0.0.1:9/v1"}]
models: [{id: far/m, endpoints: [{provider: far}]}]
`;

async function start(config: string): Promise<Installation> {
  installation = await startInstallation({ config, environment: { SLUICE_ECHO: undefined } });
  return installation;
}

async function models({ baseUrl, apiKey }: Installation): Promise<string[]> {
  const answer = await fetch(`${baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
}

describe("sluice/echo with a configuration file", () => {
  test("is served, and the banner's request names a model of the file", async () => {
    const started = await start(own);
    expect(await models(started)).toEqual(["far/m", "sluice/echo"]);
    const { baseUrl, apiKey } = started;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const body = '{"model":"sluice/echo","input":"Hello"}';
    expect((await fetch(`${baseUrl}/responses`, { method: "POST", headers, body })).status).toBe(200);
    expect(started.output()).toContain('"model":"far/m"');
  });

  test("is not served when the file has echo: false", async () => {
    expect(await models(await start(`echo: false\n${own}`))).toEqual(["far/m"]);
  });

  test("does not replace a configured provider of the same name", async () => {
    const taken = own.replaceAll("far", "sluice");
    expect(await models(await start(taken))).toEqual(["sluice/m"]);
  });
});

test("the management key of a first start belongs to the account", async () => {
  const { baseUrl, managementKey } = await start(own);
  const headers = { authorization: `Bearer ${managementKey}`, "content-type": "application/json" };
  const made = await fetch(`${baseUrl}/workspaces`, { method: "POST", headers, body: '{"name":"team"}' });
  expect(made.status).toBe(201);
});
