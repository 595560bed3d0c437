import { mintKey, KeyKind } from "@sluice/proto/lib/ids/key.js";
import type { Random } from "../../../support/random.ts";
import { type Templates, labelledText, pickOne, fillShape } from "./template.ts";

/** The key is assembled here, so no file of this repository contains the form of a known key. */
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
  return first + second + fillShape(body)(chance);
};

const jwt = (chance: Random): string => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return [
    part({ alg: "HS256", kid: String(chance.below(1_000)) }),
    part({ sub: String(chance.below(1e9)), exp: 1_900_000_000 }),
    fillShape("%".repeat(43))(chance),
  ].join(".");
};

const pem = (chance: Random): string => {
  const kind = chance.pick(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"]);
  const lines = Array.from({ length: 3 + chance.below(20) }, () => fillShape("%".repeat(64))(chance));
  return `-----BEGIN ${kind}-----\n${lines.join("\n")}\n-----END ${kind}-----`;
};

export const secretTemplates: Templates = {
  positive: [
    "does {known} still work?",
    "env:\n  KEY: {known}\n",
    "--header 'Authorization: Bearer {jwt}'",
    "token={jwt}&next=/",
    "paste of id_rsa:\n{pem}\n",
    "{own}",
    "Authorization: Bearer {own}",
    'secretKey: "{random}"',
    "set ACCESS_TOKEN={random}",
    "my api key is {random}",
    "encryption_key = '{random}'",
    "mysql://shop:{word9}@10.0.0.5/shop",
    "root password is {strong}",
    "pwd={strong}",
    '"password": "{strong}"',
    "revoke {known} and {known}",
  ],
  negative: [
    "HEAD is now at {sha}",
    "blob {sha}",
    "x-request-id: {uuid}",
    "traceparent: 00-{hex32}-{hex16}-01",
    "sha256:{sha64}",
    "image digest {sha64}",
    "npm_package_config_port",
    "choose a password with symbols",
    "enter password:",
    "refresh the token before noon",
    "tokens: {number} in, {number} out",
    "secret sauce recipe",
    "api_key=<redacted>",
    "PASSWORD=${DB_PASSWORD}",
    "token = load('{path}')",
    "secrets are stored in {path}",
    "-----BEGIN CERTIFICATE REQUEST-----\n{b64}\n-----END CERTIFICATE REQUEST-----",
    "sha512-{b64}",
    "background: url(data:image/gif;base64,{b64})",
    "gravatar {hex32}",
    "https://img.acme.io/{hex32}.png",
    "ssh-ed25519 {b64}",
    "sort key: created_at#{number}",
    "public key {b64} is fine",
    "http://localhost:{number}/@vite/client",
    "bearer bonds of 19{hex16}",
  ],
  fillers: {
    known: labelledText(known),
    jwt: labelledText(jwt),
    pem: labelledText(pem),
    own: labelledText(() => mintKey(KeyKind.INFERENCE)),
    random: labelledText(
      fillShape(
        "7%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%x",
        "&&&&&&&&&&&&&&&&a&&&&&&&&&&&&&&&9&&&&&&",
        "%%%%%%%%3%%%%%%%%%z%%%%%%",
      ),
    ),
    word9: labelledText(fillShape("%%%%%%%%%")),
    strong: labelledText(pickOne("Blue!Moon42", "zZ9%tree0k", "hunter-Two22", "Qa$$w0rdd1")),
    sha: fillShape("&".repeat(40)),
    sha64: fillShape("&".repeat(64)),
    hex32: fillShape("&".repeat(32)),
    hex16: fillShape("&".repeat(16)),
    uuid: fillShape("&&&&&&&&-&&&&-4&&&-a&&&-&&&&&&&&&&&&"),
    number: fillShape("####", "#####"),
    path: pickOne("./lib/tokens/index.js", "kv/data/app/production/db", "../secrets/loader_v2.ts"),
    b64: fillShape(`AAAA${"%".repeat(60)}`),
  },
};
