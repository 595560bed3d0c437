/** login, logout, profiles: the installations that this command line reaches over HTTP, each with its management key. */
import { keyOperations } from "@sluice/proto/contract/operations/keys.js";
import { type Command, CommandError, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { RemoteSluice, sluiceAddress } from "./remote/client.ts";
import { checkProfileName, defaultProfile } from "./remote/profiles.ts";
import { type AdminTerminal, jsonOption } from "./terminal.ts";

const login: Command<AdminTerminal> = {
  usage: "URL [--profile NAME]",
  summary: "Keeps an installation and its management key, for this command line alone.",
  details: [
    "Reads the key from standard input, or from SLUICE_MANAGEMENT_KEY, and tries it.",
    "Later commands choose the installation with --profile NAME or SLUICE_PROFILE; without a name it is the default, used where Sluice does not run here.",
  ],
  async run(args, { print, profile = defaultProfile, profiles, readManagementKey }) {
    const { named } = readArguments(args, {}, "URL");
    checkProfileName(profile);
    const url = sluiceAddress(named.URL, "URL");
    const key = await readManagementKey();
    const { data } = await new RemoteSluice({ url, key }).call(keyOperations.getCurrentKey);
    const { label, is_management_key: manages } = data as JsonObject;
    if (manages !== true) throw new CommandError(`${String(label)} is not a management key`);
    profiles.set(profile, { url, key });
    print(`profile ${profile}: ${url} with ${String(label)}, in ${profiles.path}`);
  },
};

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
