/** Keys over HTTP, with running services: accepted bodies, and their effect on the very next request. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";

interface KeyJson {
  hash: string;
  name: string;
  label: string;
  disabled: boolean;
  expires_at: string | null;
  external_user: string | null;
  updated_at: string | null;
}
interface Answer {
  data: KeyJson;
  key: string;
  total_count: number;
  error: { code: number; message: string; metadata?: { param?: string } };
}

describe("keys over HTTP", () => {
  interface KeyListJson {
    data: KeyJson[];
    next_cursor: string | null;
  }

  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation();
  });
  afterAll(() => installation?.stop());

  async function manage(method: string, path: string, body?: unknown, key = installation.managementKey) {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Answer };
  }

  const make = async (settings: object = {}) => (await manage("POST", "/keys", { name: "made", ...settings })).body;

  /** Status of a turn with this key. */
  async function turn(key: string): Promise<number> {
    const { status } = await manage("POST", "/responses", { model: "sluice/echo", input: "Hello" }, key);
    return status;
  }

  test("work on the next request after their creation, and are never shown again", async () => {
    const { status, body } = await manage("POST", "/keys", {
      name: "billing",
      external: { user: "employee_123" },
      expires_at: "2999-01-31T02:00:00+02:00",
      limit: null,
      limit_reset: null,
      requests_per_minute: 60,
      tokens_per_minute: 100_000,
      concurrent_requests: null,
      include_byok_in_limit: false,
      workspace_id: "00000000-0000-4000-8000-000000000001",
    });
    expect([status, hashKey(body.key)]).toEqual([201, body.data.hash]);
    expect(body.data).toMatchObject({
      name: "billing",
      external_user: "employee_123",
      expires_at: "2999-01-31T00:00:00.000000Z",
      disabled: false,
      requests_per_minute: 60,
      tokens_per_minute: 100_000,
      concurrent_requests: null,
      updated_at: null,
    });
    expect(await turn(body.key)).toBe(200);
    const shown = await manage("GET", `/keys/${body.data.hash}`);
    expect(shown.body).toEqual({ data: body.data });
    const logs = readdirSync(join(installation.dataDir, "logs"));
    expect(logs).toEqual(expect.arrayContaining(["admin-svc.log", "gateway.log"]));
    for (const log of logs)
      expect(readFileSync(join(installation.dataDir, "logs", log), "utf8")).not.toContain(body.key);
  });

  test("are disabled, enabled and deleted on the very next request", async () => {
    const { key, data } = await make();
    const path = `/keys/${data.hash}`;
    for (let round = 0; round < 20; round++) {
      expect((await manage("PATCH", path, { disabled: true })).body.data.disabled).toBe(true);
      expect(await turn(key)).toBe(401);
      expect((await manage("PATCH", path, { disabled: false })).body.data.disabled).toBe(false);
      expect(await turn(key)).toBe(200);
    }
    const gone = await manage("DELETE", path);
    expect([gone.status, gone.body]).toEqual([200, { deleted: true }]);
    expect(await turn(key)).toBe(401);
    expect((await manage("GET", "/key", undefined, key)).status).toBe(401);
    expect((await manage("DELETE", path)).body).toEqual({ deleted: true });
    expect((await manage("GET", path)).status).toBe(404);
    expect((await manage("PATCH", path, { disabled: false })).status).toBe(404);
    expect(await turn(key)).toBe(401);
  });

  test("are refused from their expiry on, and not before", async () => {
    const { key, data } = await make();
    const at = new Date(Date.now() + 4_000);
    const changed = await manage("PATCH", `/keys/${data.hash}`, { expires_at: at.toISOString() });
    expect(changed.body.data.expires_at).toBe(at.toISOString().replace("Z", "000Z"));
    let status = await turn(key);
    while (Date.now() < at.getTime() - 500) {
      expect(status).toBe(200);
      status = await turn(key);
    }
    while (Date.now() <= at.getTime()) await turn(key);
    expect(await turn(key)).toBe(401);
    expect((await manage("PATCH", `/keys/${data.hash}`, { expires_at: null })).body.data.expires_at).toBeNull();
    expect(await turn(key)).toBe(200);
  });

  test("are changed in several fields at once, and null clears a field", async () => {
    const { data } = await make({ external: { user: "a" } });
    const path = `/keys/${data.hash}`;
    const changed = await manage("PATCH", path, { name: "b", external: { user: "." }, limit: null });
    expect(changed.body.data).toMatchObject({ name: "b", external_user: "." });
    expect(changed.body.data.updated_at).toMatch(/^\d{4}-/);
    expect((await manage("PATCH", path, { external: null })).body.data).toMatchObject({ external_user: null });
  });

  describe("refuse wrong input with 400 and the name of the field", () => {
    const future = "must be an ISO 8601 time with its zone, such as 2027-01-31T00:00:00Z";
    test.each<[unknown, string]>([
      [{}, "name: required"],
      [{ name: "" }, "name: at least 1 character"],
      [{ name: null }, "name: must be a string"],
      [{ name: "x".repeat(201) }, "name: at most 200 characters"],
      [{ name: "x", nane: "y" }, "nane: unknown field"],
      [{ name: "x", disabled: true }, "disabled: unknown field"],
      [{ name: "x", limit: -1 }, "limit: must be between 0 and 1000000000"],
      [{ name: "x", limit: "5" }, "limit: must be a number or null"],
      [{ name: "x", limit_reset: "yearly" }, "limit_reset: must be one of daily, weekly, monthly"],
      [{ name: "x", requests_per_minute: 0 }, "requests_per_minute: must be between 1 and 1000000"],
      [{ name: "x", tokens_per_minute: 1.5 }, "tokens_per_minute: must be an integer or null"],
      [{ name: "x", concurrent_requests: "3" }, "concurrent_requests: must be an integer or null"],
      [{ name: "x", include_byok_in_limit: true }, "include_byok_in_limit: keys of your own are not available yet"],
      [{ name: "x", creator_user_id: "u" }, "creator_user_id: members are not available yet"],
      [{ name: "x", external: {} }, "external.user: required"],
      [{ name: "x", external: "u" }, "external: must be an object"],
      [{ name: "x", external: { user: " u" } }, "external.user: must not begin or end with white space"],
      [{ name: "x", external: { user: "u".repeat(513) } }, "external.user: at most 512 characters"],
      [
        { name: "x", external: { user: "u", api_key: "k".repeat(32) } },
        "external.api_key: keys of your own making are not available yet",
      ],
      [{ name: "x", external: { user: "u", also: 1 } }, "external.also: unknown field"],
      [{ name: "x", expires_at: "2020-01-01T00:00:00Z" }, "expires_at: must be in the future"],
      [{ name: "x", expires_at: "2999-02-30T00:00:00Z" }, `expires_at: ${future}`],
      [{ name: "x", expires_at: "2999-01-01" }, `expires_at: ${future}`],
      [{ name: "x", expires_at: "2999-01-01T00:00:00" }, `expires_at: ${future}`],
      [{ name: "x", expires_at: 1 }, "expires_at: must be a string or null"],
      ['{"name":"x","name":"y"}', 'body: duplicate key "name" at byte 12'],
      ['{"name":"\\ud800"}', "body: lone surrogate at byte 9"],
      ["[]", "body: must be a JSON object"],
      [{ name: "x".repeat(16_384) }, "Request payload too large: at most 16384 bytes"],
    ])("POST %.80j", async (body, message) => {
      const answer = await manage("POST", "/keys", body);
      expect([answer.status, answer.body.error.message]).toEqual([400, message]);
    });

    test.each<[unknown, string]>([
      [{}, "body: at least one field"],
      [{ name: "" }, "name: at least 1 character"],
      [{ disabled: "yes" }, "disabled: must be true or false"],
      [{ disabled: null }, "disabled: must be true or false"],
      [{ limit: 1_000_000_001 }, "limit: must be between 0 and 1000000000"],
      [{ hash: "x" }, "hash: unknown field"],
      [{ workspace_id: "x" }, "workspace_id: unknown field"],
      [{ expires_at: "2020-01-01T00:00:00Z" }, "expires_at: must be in the future"],
    ])("PATCH %j", async (body, message) => {
      const { data } = await make();
      const answer = await manage("PATCH", `/keys/${data.hash}`, body);
      expect([answer.status, answer.body.error.message]).toEqual([400, message]);
      expect((await manage("GET", `/keys/${data.hash}`)).body.data).toEqual(data);
    });

    test.each([
      ["limit=0", "limit: must be between 1 and 100"],
      ["limit=101", "limit: must be between 1 and 100"],
      ["limit=1e1", "limit: must be an integer"],
      ["limit=", "limit: must be an integer"],
      ["offset=-1", "offset: must be at least 0"],
      ["offset=2147483648", "offset: must be at most 2147483647"],
      ["cursor=", "cursor: must be the next_cursor of a page"],
      ["cursor=eHh4", "cursor: must be the next_cursor of a page"],
      [`cursor=${"x".repeat(9_000)}`, "cursor: must be the next_cursor of a page"],
      ["include_disabled=1", "include_disabled: must be true or false"],
      ["include_disabled=true&include_disabled=false", "include_disabled: is sent more than once"],
      ["includ_disabled=true", "includ_disabled: unknown field"],
      ["__proto__=1", "__proto__: unknown field"],
      ["limit=%zz", "query: malformed percent-encoding"],
      ["limit=%ff", "query: percent-encoding of invalid UTF-8"],
    ])("GET ?%s", async (query, message) => {
      const answer = await manage("GET", `/keys?${query}`);
      expect([answer.status, answer.body.error.message]).toEqual([400, message]);
    });
  });

  test("are listed in pages", async () => {
    const made = [];
    for (let index = 0; index < 3; index++) made.push((await make()).data.hash);
    const { total_count: total } = (await manage("GET", "/keys?limit=1")).body;
    const page = (await manage("GET", `/keys?offset=${total - 3}&limit=2&`)).body as unknown as KeyListJson;
    expect(page.data.map(({ hash }) => hash)).toEqual(made.slice(0, 2));
    expect((await manage("GET", "/keys?limit=100")).status).toBe(200);
    await manage("PATCH", `/keys/${made[0]}`, { disabled: true });
    expect((await manage("GET", "/keys?limit=1")).body.total_count).toBe(total - 1);
    const all = await manage("GET", "/keys?include_disabled=true&limit=1");
    expect(all.body.total_count).toBeGreaterThanOrEqual(total);
  });

  test("are listed once each by cursors, in each order", async () => {
    for (let index = 0; index < 3; index++) await make();
    for (const sort of ["created", "-created", "name", "-name", "spent", "-spent", "last_used", "-last_used"]) {
      const list = async (query: string) =>
        (await manage("GET", `/keys?sort=${sort}&${query}`)).body as unknown as KeyListJson;
      const walked: string[] = [];
      let page = await list("limit=2");
      for (; page.next_cursor !== null; page = await list(`limit=2&cursor=${page.next_cursor}`))
        walked.push(...page.data.map(({ hash }) => hash));
      walked.push(...page.data.map(({ hash }) => hash));
      expect(walked).toEqual((await list("limit=100")).data.map(({ hash }) => hash));
    }
  });

  test.each(["0".repeat(64), "x", "a%2Fb", "A".repeat(64)])("are not found by the id %s: 404", async (hash) => {
    for (const method of ["GET", "DELETE", "PATCH"]) {
      const answer = await manage(method, `/keys/${hash}`, method === "PATCH" ? { name: "x" } : undefined);
      expect([answer.status, answer.body.error.message]).toEqual([404, "Key not found"]);
    }
  });

  test("have the allowed methods in the 404 for a wrong method", async () => {
    for (const [method, path, allowed] of [
      ["PUT", "/keys", "POST"],
      ["POST", "/key", "GET"],
      ["POST", `/keys/${"0".repeat(64)}`, "DELETE"],
    ] as const) {
      const answer = await manage(method, path, {});
      expect([answer.status, answer.headers.get("allow")]).toEqual([404, expect.stringContaining(allowed)]);
    }
    expect((await manage("GET", "/keys/")).status).toBe(404);
  });

  test("of applications may read their own record, and no other", async () => {
    const { key, data } = await make();
    const itself = await manage("GET", "/key", undefined, key);
    expect([itself.status, itself.body.data]).toEqual([
      200,
      expect.objectContaining({ label: data.label, is_management_key: false, limit: null }),
    ]);
    for (const [method, path, body] of [
      ["GET", "/keys"],
      ["POST", "/keys", { name: "x" }],
      ["GET", `/keys/${data.hash}`],
      ["PATCH", `/keys/${data.hash}`, { name: "x" }],
      ["DELETE", `/keys/${data.hash}`],
    ] as const) {
      const answer = await manage(method, path, body, key);
      expect([answer.status, answer.body.error.message]).toEqual([
        403,
        "Only management keys can perform this operation",
      ]);
      expect((await manage(method, path, body, "x")).status).toBe(401);
    }
    expect((await manage("GET", "/key", undefined, data.hash)).status).toBe(401);
  });

  test("made by twenty administrators at once are all different, and all work", async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => make()));
    expect(new Set(made.map(({ key }) => key)).size).toBe(20);
    expect(await Promise.all(made.map(({ key }) => turn(key)))).toEqual(Array(20).fill(200));
    await Promise.all(made.map(({ data }) => manage("DELETE", `/keys/${data.hash}`)));
    expect(await Promise.all(made.map(({ key }) => turn(key)))).toEqual(Array(20).fill(401));
  });
});
