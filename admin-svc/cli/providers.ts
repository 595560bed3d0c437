/**
 * The command `providers` with its verbs list, found, create, update, test and delete. On the database only list and
 * delete work, because a running installation checks a provider and encrypts its keys.
 */
import { readFileSync } from "node:fs";
import { CommandError, UsageError, readArguments, table } from "@sluice/proto/lib/process/cli.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { deleteStoredProvider, listStoredProviders } from "../store/providers.ts";
import { type Commands, flagOption, jsonOption, textOption } from "./terminal.ts";

const settingsUsage =
  "[--vendor VENDOR] [--dialect DIALECT] [--base-url URL] [--name NAME] [--api-keys FILE] [--known-models] [--model MODEL]... [--settings JSON] [--json]";
const settingsDetails = [
  "FILE has an API key in each line; /dev/stdin reads them from standard input. A key is never an argument, which others see.",
  "MODEL is the provider's name of a model; --known-models serves all that the catalogue knows of the vendor.",
  "JSON is an object with further settings of an entry of `providers` in the configuration file; null removes one.",
  "Works on a running installation: SLUICE_URL, and SLUICE_MANAGEMENT_KEY of the account.",
];

function requireInstallation(): never {
  throw new CommandError("this works on a running installation: set SLUICE_URL and SLUICE_MANAGEMENT_KEY");
}

export const providers: Commands = {
  list: {
    usage: "[--json]",
    summary: "Lists the providers as they are configured, and why one serves nothing.",
    details: ["With SLUICE_URL those of the configuration file, too; else those of the database."],
    async run(args, { database, print }) {
      const { values } = readArguments(args, jsonOption);
      const rows = await listStoredProviders(await database());
      const listed = rows.map(({ id, settings, key_ends, created_at, updated_at }) => ({
        id,
        source: "database",
        api_key_ends: key_ends,
        settings,
        created_at,
        updated_at,
      }));
      for (const line of values.json === true ? [JSON.stringify(listed)] : providerLines(listed)) print(line);
    },
  },
  found: {
    usage: "[--json]",
    summary:
      "Looks for Ollama, vLLM, LM Studio and llama.cpp on the machine of the installation, and lists their models.",
    details: ["Works on a running installation: SLUICE_URL, and SLUICE_MANAGEMENT_KEY of the account."],
    run: requireInstallation,
  },
  create: {
    usage: `ID ${settingsUsage}`,
    summary: "Adds a provider, whose models are served at once. Its keys are stored encrypted.",
    details: settingsDetails,
    run: requireInstallation,
  },
  update: {
    usage: `ID ${settingsUsage}`,
    summary: "Changes the named settings of a provider in the database, in force at once.",
    details: settingsDetails,
    run: requireInstallation,
  },
  test: {
    usage: "ID [--model MODEL] [--json]",
    summary: "Sends a provider one tiny request, and prints how that went.",
    details: ["Works on a running installation; `test-provider` tests one of a configuration file without it."],
    run: requireInstallation,
  },
  delete: {
    usage: "ID",
    summary: "Deletes a provider from the database, with its keys.",
    async run(args, { database, author, print }) {
      const { named } = readArguments(args, {}, "ID");
      const change = await deleteStoredProvider(await database(), await author(), named.ID);
      if (!change) throw new CommandError("no such provider in the database");
      print(`${named.ID} deleted (policy generation ${change.generation})`);
    },
  },
};

/** @param listed records of `GET /providers/configured` */
export function providerLines(listed: readonly JsonObject[]): string[] {
  const cells = listed.map(({ id, source, models, api_key_ends: ends, settings, problem }) => {
    const { base_url: url, vendor } = settings as JsonObject;
    return [
      String(id),
      String(source),
      typeof models === "number" ? String(models) : "-",
      (ends as readonly string[]).map((end) => `...${end}`).join(" ") || "-",
      typeof url === "string" ? url : typeof vendor === "string" ? vendor : "-",
      typeof problem === "string" ? problem : "-",
    ];
  });
  return table(["ID", "SOURCE", "MODELS", "KEYS", "AT", "PROBLEM"], cells);
}

/** @param listed records of `GET /providers/found` */
export const serverLines = (listed: readonly JsonObject[]): string[] =>
  table(
    ["ID", "PROGRAM", "PROVIDER", "AT", "MODELS"],
    listed.map(({ id, name, provider, base_url: url, models }) => [
      String(id),
      String(name),
      (provider ?? "-") as string,
      String(url),
      (models as readonly string[]).join(", ") || "-",
    ]),
  );

const options = {
  ...jsonOption,
  vendor: textOption,
  dialect: textOption,
  "base-url": textOption,
  name: textOption,
  "api-keys": textOption,
  "known-models": flagOption,
  model: { type: "string", multiple: true },
  settings: textOption,
} as const;

/** @throws UsageError for a wrong option */
export function readProviderSettings(args: string[]) {
  const { values, named } = readArguments(args, options, "ID");
  const { vendor, dialect, name, model: models, settings = "{}" } = values;
  const further = parseObject(settings);
  const given = { vendor, dialect, name, models, base_url: values["base-url"], known_models: values["known-models"] };
  const keys = values["api-keys"];
  const body = { ...further, ...given, ...(keys !== undefined && { api_keys: keysIn(keys) }) };
  return { id: named.ID, body, asJson: values.json === true };
}

function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Text that is not JSON gets the same error as JSON that is not an object.
  }
  throw new UsageError("--settings: a JSON object");
}

function keysIn(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`--api-keys: ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
