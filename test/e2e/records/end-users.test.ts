/** End users over HTTP, with running services: registration is a record without an effect. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";

interface EndUserJson {
  user: string;
  is_active: boolean;
  created_at: string;
  updated_at: string;
}
interface Answer {
  data: EndUserJson;
  total_count: number;
  error: { message: string };
}

describe("end users over HTTP", () => {
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
    const text = await response.text();
    return { status: response.status, body: (text === "" ? undefined : JSON.parse(text)) as Answer };
  }

  const at = (user: string) => `/end-users/${encodeURIComponent(user)}`;
  const found = async (query: Record<string, string>) => {
    const { body } = await manage("GET", `/end-users?${new URLSearchParams(query).toString()}`);
    return (body as unknown as { data: EndUserJson[] }).data.map(({ user }) => user);
  };

  test("are registered once, shown, deactivated and activated", async () => {
    const made = await manage("POST", "/end-users", { user: "employee 1/2" });
    expect([made.status, made.body.data]).toEqual([
      201,
      expect.objectContaining({ user: "employee 1/2", is_active: true }),
    ]);
    const again = await manage("POST", "/end-users", { user: "employee 1/2" });
    expect([again.status, again.body.error.message]).toEqual([409, "End user is registered already"]);
    expect((await manage("GET", at("employee 1/2"))).body).toEqual(made.body);
    for (let round = 0; round < 2; round++) {
      expect(await manage("DELETE", at("employee 1/2"))).toEqual({ status: 204, body: undefined });
    }
    const gone = await manage("GET", at("employee 1/2"));
    expect([gone.status, gone.body.data.is_active]).toEqual([200, false]);
    expect((await manage("PATCH", at("employee 1/2"), { is_active: true })).body.data.is_active).toBe(true);
    expect((await manage("DELETE", at("nobody"))).status).toBe(404);
    expect((await manage("GET", at("nobody"))).status).toBe(404);
  });

  test("do not affect requests that name them", async () => {
    await manage("POST", "/end-users", { user: "retired" });
    await manage("DELETE", at("retired"));
    for (const user of ["retired", "never registered"]) {
      const body = { model: "sluice/echo", input: "Hello", user };
      expect((await manage("POST", "/responses", body, installation.apiKey)).status).toBe(200);
    }
    expect(await found({ user: "never registered", include_inactive: "true" })).toEqual([]);
  });

  test.each([".", "..", "a+b c%2F&user=x", "caf\u00e9", "\u{1d4b3}".repeat(512)])(
    "are found by the filter: %.20j",
    async (user) => {
      expect((await manage("POST", "/end-users", { user })).status).toBe(201);
      expect(await found({ user })).toEqual([user]);
      const encoded = (await manage("GET", `/end-users?user=${encodeURIComponent(user)}`)).body;
      expect(encoded.total_count).toBe(1);
    },
  );

  test("may have the longest name, in any spelling of their characters", async () => {
    const user = "\\ud835\\udcb4".repeat(512);
    expect((await manage("POST", "/end-users", `{"user":"${user}"}`)).status).toBe(201);
  });

  test.each<[unknown, string]>([
    [{}, "user: required"],
    [{ user: null }, "user: must be a string"],
    [{ user: "" }, "user: at least 1 character"],
    [{ user: "x".repeat(513) }, "user: at most 512 characters"],
    [{ user: " x" }, "user: must not begin or end with white space"],
    [{ user: "a\0b" }, "user: must not contain NUL"],
    [{ user: "x", is_active: false }, "is_active: unknown field"],
    ['{"user":"a","user":"b"}', 'body: duplicate key "user" at byte 12'],
    [{ user: "x".repeat(8_192) }, "Request payload too large: at most 8192 bytes"],
  ])("are refused with 400 for POST %.40j", async (body, message) => {
    const answer = await manage("POST", "/end-users", body);
    expect([answer.status, answer.body.error.message]).toEqual([400, message]);
  });

  test.each([
    ["user=", "user: at least 1 character"],
    ["user=%20x", "user: must not begin or end with white space"],
    ["user=a%00b", "user: must not contain NUL"],
    ["user=%ED%A0%80", "query: percent-encoding of invalid UTF-8"],
    ["user=a&user=b", "user: is sent more than once"],
    ["limit=101", "limit: must be between 1 and 100"],
    ["include_inactive=yes", "include_inactive: must be true or false"],
    ["active=true", "active: unknown field"],
  ])("are refused with 400 for GET ?%s", async (query, message) => {
    const answer = await manage("GET", `/end-users?${query}`);
    expect([answer.status, answer.body.error.message]).toEqual([400, message]);
  });

  test("are listed in pages, inactive end users on request", async () => {
    for (const user of ["page 1", "page 2", "page 3"]) await manage("POST", "/end-users", { user });
    const before = (await manage("GET", "/end-users?limit=1")).body.total_count;
    await manage("DELETE", at("page 2"));
    expect((await manage("GET", "/end-users?limit=100")).body.total_count).toBe(before - 1);
    expect(await found({ limit: "100" })).not.toContain("page 2");
    expect(await found({ limit: "100", include_inactive: "true" })).toContain("page 2");
    expect(await found({ offset: String(before - 1) })).toEqual([]);
  });

  test("are forbidden for an inference key", async () => {
    for (const [method, path, body] of [
      ["GET", "/end-users"],
      ["POST", "/end-users", { user: "x" }],
      ["GET", "/end-users/x"],
      ["DELETE", "/end-users/x"],
    ] as const) {
      expect((await manage(method, path, body, installation.apiKey)).status).toBe(403);
      expect((await manage(method, path, body, "x")).status).toBe(401);
    }
  });
});
