import { mintKey, KeyKind } from "@sluice/proto/runtime/key.js";
import type { Random } from "../../fuzz/random.ts";
import { type Templates, marked, oneOf, shaped } from "./template.ts";

/** Put together here, so that no file of this repository holds the form of a known key. */
const known = (chance: Random): string => {
  const [first, second, body] = chance.pick([
    ["AK", "IA", "^^^^^^^^^^^^^^^^"],
    ["gh", "p_", "%".repeat(36)],
    ["gl", "pat-", "%".repeat(20)],
    ["xo", "xb-", "############-############-%%%%%%%%%%%%%%%%%%%%%%%%"],
    ["sk", "_live_a1", "%".repeat(22)],
    ["AI", "za", "%".repeat(35)],
    ["s", "k-proj-a1", "%".repeat(60)],
    ["np", "m_", "%".repeat(36)],
    ["hf", "_", "%".repeat(34)],
  ]);
  return first + second + shaped(body)(chance);
};

const jwt = (chance: Random): string => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return [
    part({ alg: "HS256", kid: String(chance.below(1_000)) }),
    part({ sub: String(chance.below(1e9)), exp: 1_900_000_000 }),
    shaped("%".repeat(43))(chance),
  ].join(".");
};

const pem = (chance: Random): string => {
  const kind = chance.pick(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"]);
  const lines = Array.from({ length: 3 + chance.below(20) }, () => shaped("%".repeat(64))(chance));
  return `-----BEGIN ${kind}-----\n${lines.join("\n")}\n-----END ${kind}-----`;
};

export const templates: Templates = {
  positive: [
    "oops, I committed {known} yesterday",
    "export TOKEN={known}",
    "{known}\n{known}",
    "kubectl create secret generic x --from-literal=key={known}",
    "Cookie: session={jwt}; path=/",
    "curl -H 'Authorization: Bearer {jwt}' https://api.acme.io",
    "key file:\n{pem}\nend of file",
    "my gateway key {own} stopped working",
    '{"apiKey":"{random}"}',
    "client_secret: {random}",
    "API_SECRET={random}",
    "the access token is {random}.",
    "amqp://svc:{word9}@queue.acme.io/vhost",
    "db password: {strong}",
    "PASSWORD='{strong}'",
    "x-api-key: {random}",
  ],
  negative: [
    "git revert {sha}",
    'etag "{hex32}"',
    "trace {hex32} span {hex16}",
    "request id {uuid}",
    "checksum sha256 {sha64}",
    "npm_config_cache and npm_execpath",
    "the password for the exam room",
    "password reset link expired",
    "token limit {number}",
    "max tokens: {number}",
    "api key: <your key here>",
    "API_KEY=${API_KEY}",
    "secret = vault.read('{path}')",
    "import tokenizer from '{path}'",
    "cert:\n-----BEGIN CERTIFICATE-----\n{b64}\n-----END CERTIFICATE-----",
    "integrity sha384-{b64}",
    "data:font/woff2;base64,{b64}",
    "commit {sha} fixes the token bucket",
    "https://cdn.acme.io/{hex32}/app.js",
    "ssh-rsa {b64} me@laptop",
    "cache key: user:profile:v2:{number}",
    "keyword density {number}",
    "primary key is (tenant_id, created_at)",
    "https://acme.io:{number}/login",
  ],
  fillers: {
    known: marked(known),
    jwt: marked(jwt),
    pem: marked(pem),
    own: marked(() => mintKey(KeyKind.INFERENCE)),
    random: marked(
      shaped(
        "7%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%x",
        "&&&&&&&&&&&&&&&&a&&&&&&&&&&&&&&&9&&&&&&",
        "%%%%%%%%3%%%%%%%%%z%%%%%%",
      ),
    ),
    word9: marked(shaped("%%%%%%%%%")),
    strong: marked(oneOf("Winter!2025x", "aB3$kkPq9", "correct-Horse7", "M8&vvLLpo#")),
    sha: shaped("&".repeat(40)),
    sha64: shaped("&".repeat(64)),
    hex32: shaped("&".repeat(32)),
    hex16: shaped("&".repeat(16)),
    uuid: shaped("&&&&&&&&-&&&&-4&&&-a&&&-&&&&&&&&&&&&"),
    number: shaped("####", "#####"),
    path: oneOf("./lib/tokens/index.js", "kv/data/app/production/db", "../secrets/loader_v2.ts"),
    b64: shaped(`AAAA${"%".repeat(60)}`),
  },
};
