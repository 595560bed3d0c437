/** The built-in model together with an operator's configuration file, and the first management key. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";

let installation: Installation;
beforeAll(async () => {
  const config = `
providers: [{id: far, dialect: chat, base_url: "http://127.0.0.1:9/v1"}]
models: [{id: far/m, endpoints: [{provider: far}]}]
`;
  installation = await startInstallation({ config, environment: { SLUICE_ECHO: undefined } });
});
afterAll(() => installation?.stop());

const post = (path: string, key: string, body: string): Promise<Response> =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body,
  });

test("sluice/echo is served, and the banner's request names a model of the file", async () => {
  const { baseUrl, apiKey } = installation;
  const answer = await fetch(`${baseUrl}/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  const { data } = (await answer.json()) as { readonly data: readonly { readonly id: string }[] };
  expect(data.map(({ id }) => id)).toEqual(["far/m", "sluice/echo"]);
  expect((await post("/responses", apiKey, '{"model":"sluice/echo","input":"Hello"}')).status).toBe(200);
  expect(installation.output()).toContain('"model":"far/m"');
});

test("the management key of a first start belongs to the account", async () => {
  expect((await post("/workspaces", installation.managementKey, '{"name":"team"}')).status).toBe(201);
});
