/** The safe web fetcher over real sockets: requests that it sends, and requests that it must never send; names are resolved by the test. */
import { KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { isPublic } from "@sluice/inference-svc/services/public-web/public-address.js";
import { type Domains, isAllowed, anyDomain } from "@sluice/inference-svc/services/public-web/domains.js";
import { Fetcher } from "@sluice/inference-svc/features/web/fetcher.js";
import type { Resolve } from "@sluice/inference-svc/services/public-web/fetch-target.js";
import { PageUnreadable } from "@sluice/inference-svc/services/public-web/page-unreadable.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newAuthority } from "../../../support/certificates.ts";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import type { DownloadedFile } from "@sluice/inference-svc/content/downloads.js";

let site: Upstream;
let resolved: string[];

beforeEach(async () => {
  site = await startUpstream();
  resolved = [];
});
afterEach(() => site.stop());

const toLoopback: Resolve = () => Promise.resolve(["127.0.0.1"]);
const port = () => new URL(site.url).port;
const named = (path = "/", host = "site.test") => `http://${host}:${port()}${path}`;

interface Setting {
  readonly believed?: readonly string[];
  readonly resolve?: Resolve;
  readonly totalMs?: number;
}

function fetcher({ believed = [`http://site.test:${port()}`], resolve = toLoopback, totalMs = 60_000 }: Setting = {}) {
  return new Fetcher({
    userAgent: "sluice/1.2.3",
    resolve: (host) => {
      resolved.push(host);
      return resolve(host);
    },
    trustedOrigins: new Set(believed),
    totalMs,
  });
}

const never = () => new AbortController().signal;
const get = (url: string, setting: Setting = {}, domains: Domains = anyDomain): Promise<DownloadedFile> =>
  fetcher(setting).get(url, domains, never());

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => new Error("was read"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof PageUnreadable) return error.message;
  throw error;
}

const html = (body: string | Uint8Array, headers: Record<string, string> = {}): Reply => ({
  headers: { "content-type": "text/html", ...headers },
  chunks: [{ bytes: body }],
});
const redirect = (location: string, status = 302): Reply => ({ status, headers: { location } });

const notPublic = "a host that is not on the public internet";

describe("an internet address", () => {
  test.each([
    "8.8.8.8",
    "1.1.1.1",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "2a00:1450::1",
  ])("%s is public", (address) => expect(isPublic(address)).toBe(true));

  test.each([
    "127.0.0.1",
    "127.255.255.255",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:7f00:1",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "2001:db8::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "4000::1",
    "no address",
    "",
  ])("%s is not public", (address) => expect(isPublic(address)).toBe(false));
});

describe("a URL that is not fetched", () => {
  test.each([
    ["file:///etc/passwd", "not an http or https URL"],
    ["gopher://site.test/", "not an http or https URL"],
    ["data:text/html,hi", "not an http or https URL"],
    ["blob:https://site.test/1", "not an http or https URL"],
    ["site.test", "not a valid URL"],
    ["http://[fe80::1%25eth0]/", "not a valid URL"],
    [`https://site.test/${"a".repeat(2_048)}`, "not a valid URL"],
    ["https://user:secret@site.test/", "a URL with credentials"],
    ["https://user@site.test/", "a URL with credentials"],
    ["https://site.test:8443/", "a port other than 80 and 443"],
    ["http://site.test:22/", "a port other than 80 and 443"],
  ])("has an error that names the reason: %s is refused as %s", async (url, says) => {
    expect([await refusal(get(url)), resolved]).toEqual([says, []]);
  });

  test.each([
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://①②⑦.0.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://0.0.0.0/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
  ])("is %s, an internal address in another spelling", async (url) => {
    expect([await refusal(get(url)), resolved]).toEqual([notPublic, []]);
  });

  test.each([
    ["one that is private", ["10.0.0.1"]],
    ["a public one and a private one", ["8.8.8.8", "127.0.0.1"]],
    ["none", []],
  ])("is one whose host has %s", async (_, addresses) => {
    const says = await refusal(get("http://site.test/", { resolve: () => Promise.resolve(addresses) }));
    expect(says).toBe(notPublic);
  });

  test("has an unknown host, and the same message as an internal one", async () => {
    const says = await refusal(get("http://site.test/", { resolve: () => Promise.reject(new Error("ENOTFOUND")) }));
    expect(says).toBe(notPublic);
  });
});

describe("a host name that is public at first and 127.0.0.1 afterwards", () => {
  test("is resolved once, and the connection goes to the checked address", async () => {
    // 2000::1 is in the global range of IPv6, and unassigned.
    const answers = [["2000::1"], ["127.0.0.1"]];
    const setting = { believed: [], totalMs: 2_000, resolve: () => Promise.resolve(answers.shift() ?? ["127.0.0.1"]) };
    const says = await refusal(get("http://site.test/", setting));
    expect(says).toMatch(/^(?:the host does not answer correctly|took more than 2 s)$/);
    expect([resolved, answers]).toEqual([["site.test"], [["127.0.0.1"]]]);
  });

  test("is refused if a redirect leads to it once more", async () => {
    const answers = [["127.0.0.1"], ["127.0.0.1"]];
    site.script([redirect("http://other.test/secret")]);
    expect(await refusal(get(named(), { resolve: () => Promise.resolve(answers.shift() ?? []) }))).toBe(notPublic);
    expect([resolved, site.requests.length]).toEqual([["site.test", "other.test"], 1]);
  });
});

describe("a request of the web fetcher", () => {
  test("is a GET with Sluice's agent name and no other trace of it", async () => {
    site.script([html("<p>Hi</p>", { "set-cookie": "a=b" })]);
    const { url, status, type, body } = await get(named("/a?b=c#d"));
    expect([url, status, type, body.toString()]).toEqual([named("/a?b=c"), 200, "text/html", "<p>Hi</p>"]);
    const [{ method, path, headers }] = site.requests as [(typeof site.requests)[number]];
    expect([method, path, headers.host, headers["user-agent"]]).toEqual([
      "GET",
      "/a?b=c",
      `site.test:${port()}`,
      "sluice/1.2.3",
    ]);
    expect(Object.keys(headers).toSorted()).toEqual(["accept", "accept-encoding", "connection", "host", "user-agent"]);
  });

  test.each([301, 302, 303, 307, 308])(
    "follows a redirect with %d, without cookies from earlier responses",
    async (status) => {
      site.script([{ ...redirect("/b#c", status), headers: { location: "/b#c", "set-cookie": "a=b" } }, html("there")]);
      const { url, body } = await get(named("/a"));
      expect([url, body.toString(), site.requests[1]?.headers["cookie"]]).toEqual([named("/b"), "there", undefined]);
    },
  );

  test.each([
    ["file:///etc/passwd", "not an http or https URL"],
    ["http://127.0.0.1/", notPublic],
    ["http://user:secret@site.test/", "a URL with credentials"],
    ["http://site.test:1/", "a port other than 80 and 443"],
  ])("follows no redirect to %s", async (location, says) => {
    site.script([redirect(location)]);
    expect([await refusal(get(named())), site.requests.length]).toEqual([says, 1]);
  });

  test("does not reach a loopback address when only its name is allowed", async () => {
    site.script([redirect(site.url)]);
    expect([await refusal(get(named())), site.requests.length]).toEqual(["a port other than 80 and 443", 1]);
  });

  test.each([
    [5, "there"],
    [6, "more than 5 redirects"],
  ])("follows redirects, of which there are %d: %s", async (count, says) => {
    site.script([...Array.from({ length: count }, (_, i) => redirect(`/${i}`)), html("there")]);
    const ended = await get(named()).then(
      ({ body }) => body.toString(),
      ({ message }: Error) => message,
    );
    expect(ended).toBe(says);
  });

  test("returns a redirect without a target as the answer", async () => {
    site.script([{ status: 304 }]);
    expect((await get(named())).status).toBe(304);
  });
});

test("the web fetcher sends the server name over TLS, and no request to a host that it cannot verify", async () => {
  const { certificate, keys } = await newAuthority("site.test");
  const names: (string | false)[] = [];
  let asked = 0;
  const server = createServer({
    key: KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" }),
    cert: certificate.toString("pem"),
    SNICallback: (name, done) => {
      names.push(name);
      done(null);
    },
  }).on("request", () => asked++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://site.test:${(server.address() as AddressInfo).port}`;
  try {
    expect(await refusal(get(url, { believed: [url] }))).toBe("the host does not answer correctly");
    expect([names, asked]).toEqual([["site.test"], 0]);
  } finally {
    server.close();
  }
});

describe("domains allowed for the web fetcher", () => {
  test.each([
    [["example.com"], "https://example.com/a", true],
    [["example.com"], "https://www.example.com/", true],
    [["Example.COM."], "https://example.com./", true],
    [["example.com"], "https://notexample.com/", false],
    [["example.com"], "https://example.com.evil.test/", false],
    [["*.example.com"], "https://a.b.example.com/", true],
    [["*.example.com"], "https://example.com/", false],
    [["example.com/docs"], "https://example.com/docs", true],
    [["example.com/docs/"], "https://example.com/docs/a", true],
    [["example.com/docs"], "https://example.com/docsets", false],
    [["https://example.com/docs"], "http://example.com/docs/a", true],
    [["bücher.example"], "https://xn--bcher-kva.example/", true],
    [["not a domain", "b.test"], "https://b.test/", true],
    [["not a domain"], "https://b.test/", false],
  ])("%j decide whether the URL %s is permitted: %s", (patterns, url, expected) => {
    expect(isAllowed({ allowed: patterns, blocked: [] }, new URL(url))).toBe(expected);
    expect(isAllowed({ allowed: [], blocked: patterns }, new URL(url))).toBe(!expected);
    expect(isAllowed({ allowed: patterns, blocked: patterns }, new URL(url))).toBe(false);
  });

  test("apply to every redirect", async () => {
    site.script([redirect(named("/b", "other.test"))]);
    const believed = [named("", "site.test"), named("", "other.test")];
    const says = await refusal(get(named(), { believed }, { allowed: ["site.test"], blocked: [] }));
    expect([says, site.requests.length]).toEqual(["not among the allowed domains", 1]);
  });
});

describe("the body of a web page", () => {
  const text = "Words, and more words. ".repeat(500);
  test.each([
    ["gzip", gzipSync(text)],
    ["x-gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["br", brotliCompressSync(text)],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["identity", Buffer.from(text)],
  ])("in %s is unpacked", async (encoding, bytes) => {
    site.script([html(bytes, { "content-encoding": encoding })]);
    expect((await get(named())).body.toString()).toBe(text);
  });

  test.each([
    ["zstd", Buffer.from(text), "an unknown content encoding"],
    ["gzip, br", Buffer.from(text), "an unknown content encoding"],
    ["gzip", Buffer.from(text), "the host does not answer correctly"],
    ["gzip", gzipSync(text).subarray(0, 40), "the host does not answer correctly"],
    ["gzip", gzipSync(Buffer.alloc(20_000_000)), "compressed too much"],
    ["br", brotliCompressSync(Buffer.alloc(20_000_000)), "compressed too much"],
  ])("in %s is refused", async (encoding, bytes, says) => {
    site.script([html(bytes, { "content-encoding": encoding })]);
    expect(await refusal(get(named()))).toBe(says);
  });

  const mebibyte = Buffer.alloc(1024 * 1024, "a");
  test("of 10 MiB is read", async () => {
    site.script([{ chunks: [{ bytes: mebibyte, repeat: 10 }] }]);
    expect((await get(named())).body.length).toBe(10 * 1024 * 1024);
  });

  test.each([
    ["by one byte", [{ bytes: mebibyte, repeat: 10 }, { bytes: "b" }]],
    ["by anything", [{ bytes: mebibyte, repeat: 1_000 }]],
  ])("that is too long %s is refused, and its connection closes", async (_, chunks) => {
    site.script([{ chunks }]);
    const closed = site.nextClose();
    expect(await refusal(get(named()))).toBe("longer than 10 MiB");
    await closed;
    expect(site.bytesWritten).toBeLessThan(100 * 1024 * 1024);
  });
});

describe("time limits of the web fetcher", () => {
  test.each<[string, Reply]>([
    ["no answer", { hang: true }],
    ["a body that does not end", { ...html("<p>"), hang: true }],
  ])("close the connection after %s", async (_, reply) => {
    site.script([reply]);
    const closed = site.nextClose();
    expect(await refusal(get(named(), { totalMs: 300 }))).toBe("took more than 0.3 s");
    await closed;
  });

  test("include the resolution of a name", async () => {
    const setting = { totalMs: 50, resolve: () => new Promise<string[]>(() => {}) };
    expect(await refusal(get(named(), setting))).toBe("took more than 0.05 s");
  });

  test("include the end of the turn", async () => {
    site.script([{ ...html("<p>"), hang: true }]);
    const abort = new AbortController();
    const work = fetcher().get(named(), anyDomain, abort.signal);
    const asked = site.nextRequest();
    const closed = site.nextClose();
    await asked;
    abort.abort(new Error("the client has left"));
    await expect(work).rejects.toBeInstanceOf(Fault);
    await closed;
  });

  test("send no request in a turn that is already over", async () => {
    await expect(fetcher().get(named(), anyDomain, AbortSignal.abort())).rejects.toBeInstanceOf(Fault);
    expect(site.requests).toEqual([]);
  });
});

test("the web fetcher sends at most two concurrent requests to one host", async () => {
  const gates = Array.from({ length: 4 }, () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    return { open, opened };
  });
  site.script(gates.map(({ opened }, i) => ({ ...html(""), chunks: [{ bytes: `${i}`, after: opened }] })));
  const polite = fetcher();
  const all = gates.map((_, i) => polite.get(named(`/${i}`), anyDomain, never()));
  while (site.requests.length < 2) await site.nextRequest();
  // A third request would have arrived together with the first two.
  await new Promise(setImmediate);
  expect(site.requests.length).toBe(2);
  const third = site.nextRequest();
  gates[0]?.open();
  await third;
  expect(site.requests.length).toBe(3);
  for (const { open } of gates) open();
  await Promise.all(all);
  expect(site.requests.length).toBe(4);
});
