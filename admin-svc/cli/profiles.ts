/**
 * The commands login, logout and profiles: they manage the installations that this command line reaches over HTTP, each
 * with its management key.
 */
import { keyOperations } from "@sluice/proto/contract/operations/keys.js";
import { type Command, CommandError, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { RemoteSluice, sluiceAddress } from "./remote/client.ts";
import { type Profile, defaultProfile } from "./remote/profiles.ts";
import { type AdminTerminal, jsonOption } from "./terminal.ts";

const login: Command<AdminTerminal> = {
  usage: "URL [--profile NAME]",
  summary: "Keeps an installation and its management key as a profile of this command line.",
  details: [
    "Reads the key from standard input, else from SLUICE_MANAGEMENT_KEY, and tries it. Without a name the profile is called default.",
    "Later commands choose the installation with --profile NAME or SLUICE_PROFILE.",
  ],
  async run(args, { print, profile: name = defaultProfile, profiles, readManagementKey }) {
    const { named } = readArguments(args, {}, "URL");
    const url = sluiceAddress(named.URL, "URL");
    const kept = profiles.find(name);
    if (kept && kept.url !== url) {
      throw new CommandError(`profile ${name} is ${kept.url}: take another name, or \`logout\` first`);
    }
    const key = await readManagementKey();
    const label = await labelOf({ url, key });
    const path = profiles.set(name, { url, key });
    print(`profile ${name}: ${url} with the key ${label}, in ${path}`);
  },
};

/**
 * The shortened key, as the installation shows it. @throws CommandError unless it is a management key of a Sluice
 * installation
 */
async function labelOf({ url, key }: Profile): Promise<string> {
  const { data } = await new RemoteSluice({ url, key }).call(keyOperations.getCurrentKey);
  if (!isObject(data) || typeof data["label"] !== "string") throw new CommandError(`${url}: no answer of Sluice`);
  if (data["is_management_key"] !== true) throw new CommandError(`${data["label"]} is not a management key`);
  return data["label"];
}

const logout: Command<AdminTerminal> = {
  usage: "[--profile NAME]",
  summary: "Forgets an installation and its key. The key stays valid.",
  run(args, { print, profile = defaultProfile, profiles }) {
    readArguments(args, {});
    profiles.delete(profile);
    print(`profile ${profile} deleted; the key stays valid until it is revoked`);
    return Promise.resolve();
  },
};

const list: Command<AdminTerminal> = {
  usage: "[--json]",
  summary: "Lists the installations that login keeps.",
  run(args, { print, profiles }) {
    const { values } = readArguments(args, jsonOption);
    const rows = [...profiles.list()].map(([name, { url }]) => ({ name, url }));
    if (values.json === true) print(JSON.stringify(rows));
    else
      table(
        ["NAME", "URL"],
        rows.map(({ name, url }) => [name, url]),
      ).forEach(print);
    return Promise.resolve();
  },
};

/** Single-word commands. */
export const profileCommands = { login, logout, profiles: list };
