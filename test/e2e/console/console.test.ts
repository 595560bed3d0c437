/** The console in a real browser, on a whole installation: from sign-in to sign-out. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { type Visit, openBrowser, signInTo, visit } from "../../support/browser.ts";
import { findShortest, measureElapsedMs } from "../../support/clock.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation.stop());

const origin = () => new URL(installation.baseUrl).origin;

describeWithChromium(`the console ${inChromium}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  async function signedIn(): Promise<Visit> {
    const visited = await visit(browser, origin());
    await signInTo(visited, installation.managementKey);
    return visited;
  }

  test("signs in, makes a working key, shows it, revokes it and signs out", async () => {
    const { page, complaints } = await signedIn();
    await page.getByRole("link", { name: "Keys" }).click();
    await page.getByRole("button", { name: "Make key" }).click();
    await page.getByLabel("Name", { exact: true }).fill("made in the console");
    await page.getByLabel("Budget in USD").fill("2");
    await page.getByRole("dialog").getByRole("button", { name: "Make key" }).click();
    const secret = await page.getByText(/^sk-sl-\w{49}$/).textContent();
    await page.getByRole("button", { name: "Done" }).click();
    expect(await page.content()).not.toContain(secret);

    expect(await sendRequest(secret as string)).toBe(200);
    await page.getByRole("button", { name: "made in the console" }).click();
    await page.getByRole("button", { name: "Revoke…" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByText("The key is revoked").waitFor();
    expect(await page.getByRole("button", { name: "made in the console" }).count()).toBe(0);
    expect(await sendRequest(secret as string)).toBe(401);

    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in to Sluice" }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("shows the API reference without a session, where operations can be tried with a key", async () => {
    const { page, complaints } = await visit(browser, origin());
    await page.goto("/docs/api");
    await page.getByLabel("Search operations").fill("content_filter_builtins");
    await page.getByRole("link", { name: "Make a guardrail" }).waitFor();
    await page.getByLabel("Search operations").fill("list the keys");
    await page.getByRole("link", { name: "GET List the keys", exact: true }).click();
    expect(new URL(page.url()).pathname).toBe("/docs/api/listKeys");
    await page.getByLabel("Key", { exact: true }).fill(installation.managementKey);
    await page.getByRole("button", { name: "Send GET" }).click();
    await page.getByRole("status").getByText("200", { exact: true }).waitFor();
    expect(
      await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])"),
    ).not.toContain("mk-sl-");
    expect(complaints).toEqual([]);
  });

  test("opens a page of the documentation by the keyboard", async () => {
    const { page, complaints } = await visit(browser, origin());
    await page.goto("/docs");
    const words = page.getByRole("searchbox");
    // A key pressed before the scripts of the page run is lost.
    await eventually(async () => {
      await page.keyboard.press("Control+k");
      return await words.isVisible();
    });
    await words.fill("ollama");
    await page.getByRole("option").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/providers\//);
    await page
      .getByRole("heading", { name: /Ollama/ })
      .first()
      .waitFor();
    expect(complaints).toEqual([]);
  });

  const sendRequest = async (key: string): Promise<number> => {
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
    });
    await response.text();
    return response.status;
  };
});

describe("a session of the console", () => {
  interface Answer {
    readonly status: number;
    readonly headers: Headers;
    readonly body: { readonly data?: unknown; readonly error?: { readonly message: string } };
  }

  const sendRequest = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: object,
  ): Promise<Answer> => {
    const response = await fetch(`${origin()}/console/api${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
  };

  const page = () => ({ origin: origin(), "content-type": "application/json" });

  async function signIn(key = installation.managementKey): Promise<string> {
    const { status, headers } = await sendRequest("POST", "/session", page(), { management_key: key });
    expect(status).toBe(201);
    return (headers.get("set-cookie") as string).split(";")[0] as string;
  }

  test("has a cookie hidden from scripts and unusable by other sites", async () => {
    const { headers } = await sendRequest("POST", "/session", page(), { management_key: installation.managementKey });
    expect(headers.get("set-cookie")).toMatch(/^sluice_console=[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(headers.get("cache-control")).toBe("no-store");
    const behindTls = { ...page(), "x-forwarded-proto": "https" };
    const secure = await sendRequest("POST", "/session", behindTls, { management_key: installation.managementKey });
    expect(secure.headers.get("set-cookie")).toMatch(
      /^__Host-sluice=\w{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
  });

  test("is refused outside the console", async () => {
    const cookie = await signIn();
    const response = await fetch(`${installation.baseUrl}/keys`, { headers: { cookie } });
    expect(response.status).toBe(401);
    expect((await sendRequest("GET", "/keys", { cookie })).status).toBe(200);
  });

  test.each([
    ["another origin", { origin: "https://evil.example", "content-type": "application/json" }, 403],
    ["an opaque origin", { origin: "null", "content-type": "application/json" }, 403],
    ["no origin", { "content-type": "application/json" }, 403],
    ["a form", { "sec-fetch-site": "same-origin", "content-type": "text/plain" }, 400],
    ["another site", { "sec-fetch-site": "cross-site", "content-type": "application/json" }, 403],
    ["a sibling domain", { "sec-fetch-site": "same-site", "content-type": "application/json" }, 403],
  ])("refuses changes for %s", async (_, headers, status) => {
    const cookie = await signIn();
    const answer = await sendRequest("POST", "/keys", { ...headers, cookie }, { name: "forged" });
    expect(answer.status).toBe(status);
    const { body } = await sendRequest("GET", "/keys?include_disabled=true", { cookie });
    expect(JSON.stringify(body)).not.toContain("forged");
  });

  test("ends within a second of its key's revocation", async () => {
    const endedMs = async () => {
      const { stdout } = await installation.admin("keys", "create", "--management", "--name", "short-lived", "--json");
      const { key, hash } = JSON.parse(stdout) as { readonly key: string; readonly hash: string };
      const cookie = await signIn(key);
      expect((await sendRequest("GET", "/keys", { cookie })).status).toBe(200);
      await installation.admin("keys", "revoke", hash);
      return measureElapsedMs(async () => {
        for (let status = 200; status !== 401; ) ({ status } = await sendRequest("GET", "/keys", { cookie }));
      });
    };
    expect(await findShortest(1_000, endedMs, 5)).toBeLessThan(1_000);
  });

  test("ends with its own sign-out, or with the sign-out of all sessions of its key", async () => {
    const cookies = [await signIn(), await signIn(), await signIn()] as const;
    expect((await sendRequest("DELETE", "/session", { ...page(), cookie: cookies[0] })).status).toBe(204);
    expect((await sendRequest("GET", "/keys", { cookie: cookies[0] })).status).toBe(401);
    expect((await sendRequest("GET", "/keys", { cookie: cookies[1] })).status).toBe(200);
    expect((await sendRequest("DELETE", "/sessions", { ...page(), cookie: cookies[1] })).status).toBe(204);
    expect((await sendRequest("GET", "/keys", { cookie: cookies[2] })).status).toBe(401);
    const { stdout } = await installation.admin("audit", "list", "--json");
    for (const action of ["sessions.open", "sessions.end", "sessions.end-all"]) expect(stdout).toContain(`"${action}"`);
  });

  test("cannot be opened by guessing", async () => {
    const guess = () => sendRequest("POST", "/session", page(), { management_key: `mk-sl-${"a".repeat(49)}` });
    const answers = await Promise.all(Array.from({ length: 200 }, guess));
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(10);
    expect(answers.filter(({ status }) => status !== 401 && status !== 429)).toEqual([]);
    expect((await guess()).headers.get("retry-after")).toMatch(/^\d+$/);
    expect((await sendRequest("POST", "/session", page(), { management_key: installation.managementKey })).status).toBe(
      201,
    );
  });
});
