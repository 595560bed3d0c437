/** keys: mint, create, list, show, update, revoke, rotate. A key is shown when it is made and never again. */
import { KeyKind, hashKey, mintKey } from "@sluice/proto/runtime/key.js";
import { parseArgs } from "node:util";
import { checkKeySettings } from "../rules/key.ts";
import type { LimitReset } from "../store/database.ts";
import {
  type KeyChange,
  type KeyRow,
  createKey,
  findKey,
  listKeys,
  revokeKey,
  rotateKey,
  updateKey,
} from "../store/keys.ts";
import { spendingOf } from "../store/spending.ts";
import { noRateLimitOptions, rateLimitOptions, rateLimitUsage, readRateLimits } from "./rate-limits.ts";
import { CommandError, type Commands, type Terminal, UsageError, asUsage, exactly, required } from "./command.ts";
import { describeKey, describeListedKey, keyLines, keyTable } from "./key-record.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";

const json = { json: { type: "boolean" } } as const;
const management = { management: { type: "boolean" } } as const;
const account = { account: { type: "boolean" } } as const;
const settings = {
  name: { type: "string" },
  "expires-at": { type: "string" },
  "external-user": { type: "string" },
  limit: { type: "string" },
  "limit-reset": { type: "string" },
  ...rateLimitOptions,
} as const;

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
    usage: `--name NAME [--management [--account]] [--expires-at TIME] [--external-user USER] [--limit USD [--limit-reset daily|weekly|monthly]] ${rateLimitUsage()} [--json]`,
    summary: "Makes a key, stores its hash, and prints it once.",
    details: [
      "TIME is ISO 8601, for example 2027-01-31T00:00:00Z.",
      "USER is the end user that the key is for.",
      "--account: a management key of the default workspace that may also change the guardrails of the whole account.",
    ],
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({
        args,
        allowPositionals: true,
        options: { ...management, ...account, ...json, ...settings },
      });
      exactly(positionals);
      const name = required("--name", values.name);
      const expiresAt = expiry(values["expires-at"]);
      const externalUser = values["external-user"] ?? null;
      const limitUsd = values.limit ?? null;
      const limitReset = (values["limit-reset"] ?? null) as LimitReset | null;
      const rateLimits = readRateLimits(values);
      await asUsage(() => checkKeySettings({ name, expiresAt, externalUser, limitUsd, limitReset, ...rateLimits }));
      if (values.account === true && values.management !== true)
        throw new UsageError("--account: only with --management");
      const key = mint(kindOf(values.management));
      const made = await createKey(await database(), await author(), {
        name,
        key,
        expiresAt,
        externalUser,
        limitUsd,
        limitReset,
        account: values.account === true,
        ...rateLimits,
      });
      if (!made) throw new Error("a freshly minted key exists already");
      for (const line of shownOnce(made.row, key, values.json)) print(line);
    },
  },
  list: {
    usage: "[--json]",
    summary: "Lists all keys, revoked ones too.",
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      exactly(positionals);
      const rows = await listKeys(await database(), (await author()).workspaceId);
      const spending = await spendingOf(
        await database(),
        rows.map(({ hash }) => hash),
      );
      if (values.json === true) {
        return print(JSON.stringify(rows.map((row) => describeListedKey(row, spending.get(row.hash)))));
      }
      for (const line of keyTable(rows, spending)) print(line);
    },
  },
  show: {
    usage: "KEY [--json]",
    summary: "Shows a key with its limit and what it has spent, a revoked one too.",
    details: [keyHelp],
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      const hash = await keyHash({ database, author }, exactly(positionals, "KEY").KEY);
      const row = await findKey(await database(), (await author()).workspaceId, hash);
      if (!row) throw new CommandError("no such key");
      const spending = (await spendingOf(await database(), [hash])).get(hash);
      if (values.json === true) return print(JSON.stringify(describeListedKey(row, spending)));
      for (const line of keyLines(row, spending)) print(line);
    },
  },
  update: {
    usage: `KEY [--name NAME] [--disable | --enable] [--expires-at TIME | --never-expires] [--external-user USER | --no-external-user] [--limit USD | --no-limit] [--limit-reset daily|weekly|monthly] ${rateLimitUsage("no")} [--json]`,
    summary: "Changes what is named; a disabled key is refused until it is enabled again.",
    details: [keyHelp, "TIME is ISO 8601, for example 2027-01-31T00:00:00Z."],
    async run(args, { database, author, print }) {
      const { key, change, asJson } = await readChange(args);
      const hash = await keyHash({ database, author }, key);
      const changed = await updateKey(await database(), await author(), hash, change);
      if (!changed) throw new CommandError("no such key, or it is revoked");
      const { row, generation } = changed;
      print(asJson ? JSON.stringify(describeKey(row)) : `${hash} changed (policy generation ${generation})`);
    },
  },
  revoke: {
    usage: "KEY",
    summary: "Revokes a key for good and takes its guardrail from it.",
    details: [keyHelp],
    async run(args, { database, author, print }) {
      const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
      const hash = await keyHash({ database, author }, exactly(positionals, "KEY").KEY);
      const change = await revokeKey(await database(), await author(), hash);
      if (!change) throw new CommandError("no such key");
      const done = change.keyHashes?.length !== 0 ? "revoked" : "was revoked before";
      print(`${hash} ${done} (policy generation ${change.generation})`);
    },
  },
  rotate: {
    usage: "KEY [--json]",
    details: [keyHelp],
    summary: "Makes a new key with the name, kind, expiry and guardrail of the old one, which is revoked.",
    async run(args, { database, author, print }) {
      const { values, positionals } = parseArgs({ args, allowPositionals: true, options: json });
      const hash = await keyHash({ database, author }, exactly(positionals, "KEY").KEY);
      const rotated = await rotateKey(await database(), await author(), hash, mint);
      if (!rotated) throw new CommandError("no such key, or it is revoked");
      for (const line of shownOnce(rotated.row, rotated.key, values.json)) print(line);
    },
  },
};

const keyHash = async ({ database, author }: Pick<Terminal, "database" | "author">, text: string): Promise<string> =>
  findKeyHash(await database(), (await author()).workspaceId, text);

async function readChange(args: string[]): Promise<{ key: string; change: KeyChange; asJson: boolean }> {
  const flag = { type: "boolean" } as const;
  const options = {
    ...json,
    ...settings,
    disable: flag,
    enable: flag,
    "never-expires": flag,
    "no-external-user": flag,
    "no-limit": flag,
    ...noRateLimitOptions,
  };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { KEY: key } = exactly(positionals, "KEY");
  const either = <Value>(
    one: string,
    value: Value | undefined,
    other: string,
    is: boolean | undefined,
    instead: Value,
  ) => {
    if (value !== undefined && is === true) throw new UsageError(`${one} and ${other} exclude each other`);
    return is === true ? instead : value;
  };
  const date = values["expires-at"] === undefined ? undefined : expiry(values["expires-at"]);
  const disabled = either("--disable", values.disable, "--enable", values.enable, false);
  const expiresAt = either("--expires-at", date, "--never-expires", values["never-expires"], null);
  const user: string | null | undefined = values["external-user"];
  const externalUser = either("--external-user", user, "--no-external-user", values["no-external-user"], null);
  const limit: string | null | undefined = values.limit;
  const limitUsd = either("--limit", limit, "--no-limit", values["no-limit"], null);
  const limitReset = values["limit-reset"] as LimitReset | undefined;
  const change = {
    ...(values.name !== undefined && { name: values.name }),
    ...(disabled !== undefined && { disabled }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(externalUser !== undefined && { externalUser }),
    ...(limitUsd !== undefined && { limitUsd }),
    ...(limitReset !== undefined && { limitReset }),
    ...readRateLimits(values),
  };
  if (Object.keys(change).length === 0) throw new UsageError("missing option: what shall be changed");
  await asUsage(() => checkKeySettings(change));
  return { key, change, asJson: values.json === true };
}

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
  if (asJson === true) return [JSON.stringify({ key, ...describeKey(row) })];
  return [`key   ${key}`, `hash  ${row.hash}`, "The key is not stored and cannot be shown again."];
}
