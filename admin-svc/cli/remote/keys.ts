/** The verbs of `keys` on another Sluice installation over HTTP. */
import { keyOperations } from "@sluice/proto/contract/operations/keys.js";
import { readArguments, requiredOption } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { keySettingsJson } from "../../rules/key.ts";
import { keyOptions, readKeyChange, readKeySettings } from "../key-options.ts";
import { jsonOption, textOption } from "../terminal.ts";
import { type RemoteCommands, withoutUnset, putLines, takeExternalId } from "./command.ts";
import { type Column, recordLines, recordTable } from "./print.ts";
import { findRemoteKey } from "./references.ts";

const columns: readonly Column[] = [
  ["NAME", "name"],
  ["LABEL", "label"],
  ["DISABLED", "disabled"],
  ["LIMIT USD", "limit"],
  ["RESET", "limit_reset"],
  ["SPENT USD", "usage"],
  ["REMAINING USD", "limit_remaining"],
  ["LAST USED", "last_used_at"],
  ["CREATED", "created_at"],
  ["HASH", "hash"],
];

export const remoteKeys: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, { ...jsonOption, search: textOption, sort: textOption });
    const query = { q: values.search, sort: values.sort, include_disabled: true };
    const records = await sluice.list(keyOperations.listKeys, query);
    return values.json === true ? [JSON.stringify(records)] : recordTable(records, columns);
  },
  create: async (args, sluice) => {
    const { body, asJson } = await readNewKey(args);
    return shownOnce(await sluice.call(keyOperations.createKey, { body }), asJson);
  },
  put: async (args, sluice) => {
    const { parameters, rest } = takeExternalId(args);
    const { body, asJson } = await readNewKey(rest);
    const answer = await sluice.call(keyOperations.putKey, { parameters, body });
    return answer["created"] === true && !asJson ? shownOnce(answer, false) : putLines(answer, "hash", asJson);
  },
  show: async (args, sluice) => {
    const { values, named } = readArguments(args, jsonOption, "KEY");
    const hash = await findRemoteKey(sluice, named.KEY);
    const { data } = await sluice.call(keyOperations.getKey, { parameters: { hash } });
    return values.json === true ? [JSON.stringify(data)] : recordLines(data as JsonObject);
  },
  update: async (args, sluice) => {
    const { key, change, asJson } = await readKeyChange(args);
    const hash = await findRemoteKey(sluice, key);
    const body = withoutUnset(keySettingsJson(change));
    const { data } = await sluice.call(keyOperations.updateKey, { parameters: { hash }, body });
    return [asJson ? JSON.stringify(data) : `${hash} changed`];
  },
  revoke: async (args, sluice) => {
    const { named } = readArguments(args, {}, "KEY");
    const hash = await findRemoteKey(sluice, named.KEY);
    await sluice.call(keyOperations.deleteKey, { parameters: { hash } });
    return [`${hash} revoked`];
  },
  rotate: async (args, sluice) => {
    const { values, named } = readArguments(args, { ...jsonOption, "overlap-seconds": textOption }, "KEY");
    const hash = await findRemoteKey(sluice, named.KEY);
    const body = { overlap_seconds: Number(values["overlap-seconds"] ?? 0) };
    return shownOnce(await sluice.call(keyOperations.rotateKey, { parameters: { hash }, body }), values.json);
  },
};

/** @throws UsageError for a wrong option */
async function readNewKey(args: string[]) {
  const { values } = readArguments(args, { ...keyOptions, name: textOption, ...jsonOption });
  const settings = { ...(await readKeySettings(values)), name: requiredOption("--name", values.name) };
  const { disabled: _, ...body } = keySettingsJson(settings);
  return { body: withoutUnset(body), asJson: values.json === true };
}

function shownOnce({ key, data }: JsonObject, asJson: boolean | undefined): string[] {
  const record = data as JsonObject;
  if (asJson === true) return [JSON.stringify({ key, ...record })];
  return [
    `key   ${String(key)}`,
    `hash  ${String(record["hash"])}`,
    "The key is not stored and cannot be shown again.",
  ];
}
