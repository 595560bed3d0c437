/** The first hour in the console: from a key of a provider to a first request, a budget and a guardrail, and providers changed later. */
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, findBarriers, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { askConsole } from "../../support/console.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

/** A browser that has not opened the console before. */
const fresh = { storageState: { cookies: [], origins: [] } };

describeWithChromium(`the console in the first hour ${inChromium}`, () => {
  let installation: Installation;
  let browser: Browser;
  let upstream: Upstream;
  let ollama: Server;
  beforeAll(async () => {
    upstream = await startUpstream();
    ollama = await startOllama();
    const { port } = ollama.address() as AddressInfo;
    const environment = { OLLAMA_HOST: `127.0.0.1:${port}` };
    installation = await startInstallation({ config: "echo: true\n", environment });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await installation.stop();
    await upstream.stop();
    ollama.closeAllConnections();
    await new Promise((resolve) => ollama.close(resolve));
  });

  async function signedIn(): Promise<Visit> {
    const visited = await visit(browser, new URL(installation.baseUrl).origin, fresh);
    await signInTo(visited, installation.managementKey);
    return visited;
  }

  async function fillServer({ page }: Visit, model: string): Promise<void> {
    await page.getByLabel("Provider", { exact: true }).selectOption({ label: "Another server" });
    await page.getByLabel("Id", { exact: true }).fill("acme");
    await page.getByLabel("Base URL").fill(`${upstream.url}/v1`);
    await page.getByLabel("Models", { exact: true }).fill(model);
    await page.getByLabel("API key", { exact: true }).fill("sk-acme-0123456789");
    await page.getByRole("button", { name: "Add provider" }).click();
  }

  test("signs in once by the link of the start, shows four steps ticked as they are done, then the overview", async () => {
    const { origin } = new URL(installation.baseUrl);
    const visited = await visit(browser, origin, fresh);
    const { page, complaints } = visited;
    const link = /http:\S+#link=(\S+)/.exec(installation.output()) ?? [];
    // A proxy on this machine does not make its client trusted: the link is refused for the forwarded address.
    const forwarded = { "x-forwarded-for": "203.0.113.7" };
    expect((await askConsole(origin, "POST", "/session", forwarded, { link: link[1] })).status).toBe(401);
    await page.goto(link[0] as string);
    await page.getByRole("heading", { level: 1, name: "Welcome" }).waitFor();
    expect(page.url()).toBe(`${origin}/console/welcome`);
    expect(await askConsole(origin, "POST", "/session", {}, { link: link[1] })).toMatchObject({
      status: 401,
      body: { error: { message: expect.stringContaining("has been used") } },
    });
    await page.getByText(/^Ollama answers at/).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await findBarriers(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.setViewportSize({ width: 1400, height: 900 });

    upstream.script([{ status: 401, chunks: [{ json: { error: { message: "no such key" } } }] }]);
    await fillServer(visited, "large-2");
    await page.getByText("acme was not added").waitFor();
    const ofTest = (url: URL) => url.pathname.endsWith("/providers/acme/test");
    const failure = { status: 503, json: { error: { code: 503, message: "Out of order" } } };
    await page.route(ofTest, (route) => route.fulfill(failure), { times: 1 });
    await page.getByRole("button", { name: "Add provider" }).click();
    await page.getByText("acme was not added: Out of order").waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining("503")]);
    upstream.script([chatAnswer({ content: "Hello" })]);
    await page.getByRole("button", { name: "Add provider" }).click();
    await page.getByText("Done").first().waitFor();

    await page.getByRole("button", { name: "Make a key" }).click();
    const code = page.getByRole("tabpanel").locator("pre");
    const key = /sk-sl-\w{49}/.exec((await code.textContent()) ?? "")?.[0];
    expect(await code.textContent()).toContain("acme/large-2");
    for (const language of ["Python", "JavaScript", "Go", "Claude Code"]) {
      await page.getByRole("tab", { name: language }).click();
      expect([language, await code.textContent()]).toEqual([language, expect.stringContaining(key as string)]);
    }
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", input: "Hi" }),
    });
    expect(response.status).toBe(200);
    await page.getByText("Waiting for the first request").waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Set budget" }).click();
    await page.getByRole("button", { name: "Set budget" }).waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByText("Redacted", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Make this guardrail" }).click();
    await page.getByText("All four steps are done.").waitFor();
    expect(await findBarriers(page)).toEqual([]);

    await page.getByRole("button", { name: "To the overview" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("begins with the overview when there are requests, and changes, tests and deletes providers", async () => {
    const { page, complaints } = await signedIn();
    await page.goto("/console/providers");
    const row = page.getByRole("row", { name: /acme/ });
    await row.getByText("Database").waitFor();
    await row.getByText("…6789").waitFor();
    await page.getByRole("button", { name: "Change acme" }).click();
    await page.getByLabel("Models", { exact: true }).fill("large-2\nsmall");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("acme is changed, and serves 2 models").waitFor();
    upstream.script([chatAnswer({ content: "Yes" })]);
    await page.getByRole("button", { name: "Test acme" }).click();
    await page.getByText(/^acme answers/).waitFor();
    await page.getByRole("button", { name: "Delete acme" }).click();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete provider" }).click();
    await row.waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("finds an Ollama on this machine, and adds it with its chat models by one click", async () => {
    const { page, complaints } = await signedIn();
    await page.goto("/console/providers");
    await page.getByRole("button", { name: "Add provider" }).click();
    await page.getByText("with 1 model: llama3.2:3b").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Add Ollama" }).click();
    await page.getByText("ollama is added, and serves 1 model").waitFor();
    await page.getByRole("button", { name: "Test ollama" }).click();
    await page.getByText(/^ollama answers: ollama\/llama3\.2:3b/).waitFor();
    await page.getByRole("button", { name: "Add provider" }).click();
    await page.getByLabel("Provider", { exact: true }).waitFor();
    const found = await fetch(`${installation.baseUrl}/providers/found`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    expect(await found.json()).toMatchObject({ data: [{ id: "ollama", models: ["llama3.2:3b"], provider: "ollama" }] });
    expect(await page.getByText(/^Ollama answers at/).count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

/** Answers as Ollama does: a list with a model for chat and one for embeddings, and chat completions. */
async function startOllama(): Promise<Server> {
  const listed = (name: string, family: string) => ({ name, model: name, details: { format: "gguf", family } });
  const tags = { models: [listed("llama3.2:3b", "llama"), listed("nomic-embed-text:latest", "nomic-bert")] };
  const message = { role: "assistant", content: "Yes." };
  const completion = {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_796_000_000,
    model: "llama3.2:3b",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
  };
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(request.url === "/api/tags" ? tags : completion));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
