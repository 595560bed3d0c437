/**
 * The command `keys` with its verbs mint, create, put, list, show, update, revoke and rotate. The secret of a key is
 * shown once, when it is created.
 */
import { CommandError, UsageError, readArguments, requiredOption } from "@sluice/proto/lib/process/cli.js";
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import { keyOrders } from "@sluice/proto/contract/records/keys.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { keyRotation } from "@sluice/proto/contract/operations/keys.js";
import { readKeySearch } from "../rules/key.ts";
import { listKeys } from "../store/key-list.ts";
import { type KeyRow, createKey, findKey, revokeKey, rotateKey, updateKey } from "../store/keys.ts";
import { spendingOf } from "../store/ledger/spending.ts";
import { keyChangeUsage, keyOptions, keyUsage, readKeyChange, readKeySettings } from "./key-options.ts";
import { describeKey, describeListedKey, keyLines, keyTable } from "./key-record.ts";
import { findKeyHash, keyHelp } from "./key-reference.ts";
import { putCommand } from "./put.ts";
import {
  type AdminTerminal,
  type Commands,
  throwAsUsageError,
  flagOption,
  jsonOption,
  textOption,
} from "./terminal.ts";

const management = { management: flagOption } as const;

const mint = (kind: KeyRow["kind"]): string => mintKey(kind === "management" ? KeyKind.MANAGEMENT : KeyKind.INFERENCE);

export const keys: Commands = {
  mint: {
    usage: "[--management] [--json]",
    summary: "Prints a new key without storing it; needs no database.",
    details: ["For SLUICE_BOOTSTRAP_API_KEY or, with --management, SLUICE_BOOTSTRAP_MANAGEMENT_KEY."],
    async run(args, { print }) {
      const { values } = readArguments(args, { ...management, ...jsonOption });
      const kind = kindOf(values.management);
      const key = mint(kind);
      print(values.json === true ? JSON.stringify({ key, hash: hashKey(key), kind }) : key);
    },
  },
  create: {
    usage: `--name NAME [--management [--account]] ${keyUsage} [--json]`,
    summary: "Creates a key, stores its hash, and prints the key once.",
    details: [
      "TIME is ISO 8601, for example 2027-01-31T00:00:00Z.",
      "USER is the end user that the key is for.",
      "--account: a management key of the default workspace that may also change the guardrails of the whole account.",
    ],
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, {
        ...keyOptions,
        name: textOption,
        ...management,
        account: flagOption,
        ...jsonOption,
      });
      const name = requiredOption("--name", values.name);
      const settings = await readKeySettings(values);
      refuseCapture(settings);
      const account = values.account === true;
      if (account && values.management !== true) throw new UsageError("--account: only with --management");
      const key = mint(kindOf(values.management));
      const made = await createKey(await database(), await author(), { ...settings, name, key, account });
      if (!made) throw new Error("a freshly minted key exists already");
      for (const line of shownOnce(made.row, key, values.json)) print(line);
    },
  },
  put: putCommand("key", `--name NAME ${keyUsage} [--json]`),
  list: {
    usage: "[--search TEXT] [--sort ORDER] [--json]",
    summary: "Lists all keys with limits and spending, including revoked ones.",
    details: [
      "TEXT is a part of the name or label, or the beginning of the hash.",
      `ORDER is one of ${keyOrders.join(", ")}, after a minus in the opposite direction: --sort=-spent. created without one.`,
    ],
    async run(args, { database, author, print }) {
      const { values } = readArguments(args, { ...jsonOption, search: textOption, sort: textOption });
      const search = await throwAsUsageError(() => readKeySearch({ q: values.search, sort: values.sort }));
      const rows = await listKeys(await database(), (await author()).workspaceId, search);
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
    summary: "Shows a key with its limit and spending, also a revoked one.",
    details: [keyHelp],
    async run(args, { database, author, print }) {
      const { values, named } = readArguments(args, jsonOption, "KEY");
      const hash = await keyHash({ database, author }, named.KEY);
      const row = await findKey(await database(), (await author()).workspaceId, hash);
      if (!row) throw new CommandError("no such key");
      const spending = (await spendingOf(await database(), [hash])).get(hash);
      if (values.json === true) return print(JSON.stringify(describeListedKey(row, spending)));
      for (const line of keyLines(row, spending)) print(line);
    },
  },
  update: {
    usage: `KEY ${keyChangeUsage} [--json]`,
    summary: "Changes the named settings; a disabled key is refused until it is enabled again.",
    details: [keyHelp, "TIME is ISO 8601, for example 2027-01-31T00:00:00Z."],
    async run(args, { database, author, print }) {
      const { key, change, asJson } = await readKeyChange(args);
      refuseCapture(change);
      const hash = await keyHash({ database, author }, key);
      const changed = await updateKey(await database(), await author(), hash, change);
      if (!changed) throw new CommandError("no such key, or it is revoked");
      const { row, generation } = changed;
      print(asJson ? JSON.stringify(describeKey(row)) : `${hash} changed (policy generation ${generation})`);
    },
  },
  revoke: {
    usage: "KEY",
    summary: "Revokes a key permanently and removes its guardrail.",
    details: [keyHelp],
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "KEY");
      const hash = await keyHash({ database, author }, named.KEY);
      const change = await revokeKey(await database(), await author(), hash);
      if (!change) throw new CommandError("no such key");
      const done = change.keyHashes?.length !== 0 ? "revoked" : "was revoked before";
      print(`${hash} ${done} (policy generation ${change.generation})`);
    },
  },
  rotate: {
    usage: "KEY [--overlap-seconds N] [--json]",
    details: [keyHelp, "N is at most 2592000, which is 30 days. Without an overlap the old key is revoked at once."],
    summary: "Creates a new key with the settings and guardrail of the old one, which expires after the overlap.",
    async run(args, { database, author, print }) {
      const { values, named } = readArguments(args, { ...jsonOption, "overlap-seconds": textOption }, "KEY");
      const overlap = Number(values["overlap-seconds"] ?? 0);
      await throwAsUsageError(() =>
        throwProblems((problems) => keyRotation.check({ overlap_seconds: overlap }, "", problems)),
      );
      const hash = await keyHash({ database, author }, named.KEY);
      const rotated = await rotateKey(await database(), await author(), hash, mint, overlap);
      if (!rotated) throw new CommandError("no such key, or it is revoked");
      for (const line of shownOnce(rotated.row, rotated.key, values.json)) print(line);
    },
  },
};

/**
 * Refuses `--capture-content`: only a running admin-svc can check whether the configuration file has an encryption key.
 * @throws CommandError
 */
function refuseCapture({ capture_content: captures }: KeySettings): void {
  if (captures !== true) return;
  throw new CommandError("--capture-content: admin-svc checks whether capture.key is set, so set SLUICE_URL");
}

const keyHash = async (
  { database, author }: Pick<AdminTerminal, "database" | "author">,
  text: string,
): Promise<string> => findKeyHash(await database(), (await author()).workspaceId, text);

const kindOf = (isManagement: boolean | undefined): KeyRow["kind"] =>
  isManagement === true ? "management" : "inference";

function shownOnce(row: KeyRow, key: string, asJson: boolean | undefined): string[] {
  if (asJson === true) return [JSON.stringify({ key, ...describeKey(row) })];
  return [`key   ${key}`, `hash  ${row.hash}`, "The key is not stored and cannot be shown again."];
}
