/** keys: mint, create, list, revoke, rotate. A key is shown when it is made and never again. */
import { KeyKind, hashKey, mintKey } from "@sluice/proto/runtime/key.js";
import { parseArgs } from "node:util";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { checkName } from "@sluice/proto/runtime/validation/text.js";
import { maxNameLength } from "../rules/guardrail.ts";
import { defaultWorkspaceId } from "../store/database.ts";
import { type KeyRow, type ListedKey, createKey, listKeys, revokeKey, rotateKey } from "../store/keys.ts";
import { CommandError, type Commands, UsageError, asUsage, checkHash, exactly, required } from "./command.ts";
import { table, time } from "./table.ts";

const json = { json: { type: "boolean" } } as const;
const management = { management: { type: "boolean" } } as const;

const mint = (kind: KeyRow["kind"]): string => mintKey(kind === "management" ? KeyKind.MANAGEMENT : KeyKind.INFERENCE);

export const keys: Commands = {
  mint: {
    usage: "[--management] [--json]",
    summary: "Prints a new key without storing it; needs no database.",
    details: ["For SLUICE_BOOTSTRAP_API_KEY or, with --management, SLUICE_BOOTSTRAP_MANAGEMENT_KEY."],
    async run(args, { print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { ...management, ...json } });
      exactly(positionals);
      const kind = kindOf(values.management);
      const key = mint(kind);
      print(values.json === true ? JSON.stringify({ key, hash: hashKey(key), kind }) : key);
    },
  },
  create: {
    usage: "--name NAME [--management] [--expires-at TIME] [--json]",
    summary: "Makes a key, stores its hash, and prints it once.",
    details: ["TIME is ISO 8601, for example 2027-01-31T00:00:00Z."],
    async run(args, { database, print }) {
      const options = { ...management, ...json, name: { type: "string" }, "expires-at": { type: "string" } } as const;
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
      exactly(positionals);
      const name = required("--name", values.name);
      asUsage(() => checked((problems) => checkName("name", name, maxNameLength, problems)));
      const expiresAt = expiry(values["expires-at"]);
      const key = mint(kindOf(values.management));
      const row = await createKey(await database(), { workspaceId: defaultWorkspaceId, name, key, expiresAt });
      if (!row) throw new Error("a freshly minted key exists already");
      for (const line of shownOnce(row, key, values.json)) print(line);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all keys, revoked ones too.",
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const rows = await listKeys(await database(), defaultWorkspaceId);
      if (values.json === true) return print(JSON.stringify(rows.map(listed)));
      const cells = rows.map((row) => [
        row.hash,
        row.label,
        row.kind,
        stateOf(row),
        row.guardrail_id ?? "-",
        time(row.created_at),
        row.name,
      ]);
      for (const line of table(["HASH", "LABEL", "KIND", "STATE", "GUARDRAIL", "CREATED", "NAME"], cells)) print(line);
    },
  },
  revoke: {
    usage: "HASH",
    summary: "Revokes a key for good and takes its guardrail from it.",
    async run(args, { database, print }) {
      const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
      const hash = checkHash(exactly(positionals, "HASH").HASH);
      const change = await revokeKey(await database(), defaultWorkspaceId, hash);
      if (!change) throw new CommandError("no such key");
      const done = change.keyHashes.length > 0 ? "revoked" : "was revoked before";
      print(`${hash} ${done} (policy generation ${change.generation})`);
    },
  },
  rotate: {
    usage: "HASH [--json]",
    summary: "Makes a new key with the name, kind, expiry and guardrail of the old one, which is revoked.",
    async run(args, { database, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      const hash = checkHash(exactly(positionals, "HASH").HASH);
      const rotated = await rotateKey(await database(), defaultWorkspaceId, hash, mint);
      if (!rotated) throw new CommandError("no such key, or it is revoked");
      for (const line of shownOnce(rotated.row, rotated.key, values.json)) print(line);
    },
  },
};

const kindOf = (isManagement: boolean | undefined): KeyRow["kind"] =>
  isManagement === true ? "management" : "inference";

function expiry(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const date = new Date(text);
  if (!/^\d{4}-\d{2}-\d{2}(T.+)?$/.test(text) || Number.isNaN(date.getTime())) {
    throw new UsageError("--expires-at: an ISO 8601 time, for example 2027-01-31T00:00:00Z");
  }
  if (date.getTime() <= Date.now()) throw new UsageError("--expires-at: must be in the future");
  return date;
}

function shownOnce(row: KeyRow, key: string, asJson: boolean | undefined): string[] {
  if (asJson === true) return [JSON.stringify({ key, ...described(row) })];
  return [`key   ${key}`, `hash  ${row.hash}`, "The key is not stored and cannot be shown again."];
}

const described = (row: KeyRow) => ({
  hash: row.hash,
  name: row.name,
  kind: row.kind,
  label: row.label,
  created_at: row.created_at,
  expires_at: row.expires_at,
});

const listed = (row: ListedKey) => ({
  ...described(row),
  revoked_at: row.revoked_at,
  guardrail_id: row.guardrail_id,
});

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: KeyRow): string {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && expiresAt.getTime() <= Date.now() ? "expired" : "active";
}
