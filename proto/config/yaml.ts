/** Parses the configuration file as YAML, without checking its sections. */
import { readFileSync } from "node:fs";
import { type Document, parseDocument } from "yaml";
import { ConfigError } from "../lib/process/environment.ts";

/**
 * Maximum number of uses of one YAML alias, including uses within other aliases: otherwise a few lines could fill the
 * memory.
 */
const maxAliasCount = 100;

/** @throws ConfigError when the file does not exist or is not YAML with sections */
export function parseYaml(path: string): Record<string, unknown> {
  const document = parseDocument(read(path), { prettyErrors: true });
  if (document.errors.length > 0) {
    throw new ConfigError(
      path,
      document.errors.map(({ message }) => syntaxProblem(message)),
    );
  }
  const value = expandAliases(document, path) ?? {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new ConfigError(path, ["(root): must be sections such as providers: and models:, each with its value"]);
  }
  return value as Record<string, unknown>;
}

const nestedTooDeeply = "(root): values are nested too deeply to be read";

function syntaxProblem(message: string): string {
  if (message.startsWith("Maximum call stack")) return nestedTooDeeply;
  if (message.startsWith("Source contains multiple documents"))
    return "(root): one file holds one document; remove ---";
  // The error text is cut before the quoted line of the file, which may contain a secret.
  return message.split("\n", 1)[0]?.replace(/:$/, "") ?? "";
}

/**
 * Replaces YAML aliases by their values. @throws ConfigError for aliases that cannot be replaced or exceed the limit
 */
function expandAliases(document: Document, path: string): unknown {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount });
  } catch (error) {
    throw new ConfigError(path, [aliasProblem(error as Error)]);
  }
  if (refersToItself(value, new Set())) throw new ConfigError(path, ["(root): an alias stands within its own anchor"]);
  return value;
}

function aliasProblem({ message }: Error): string {
  const [, name] = /^Unresolved alias .*: (.*)$/.exec(message) ?? [];
  if (name !== undefined) return `(root): the alias *${name} has no anchor &${name} before it`;
  if (message.startsWith("Excessive alias count")) {
    return `(root): aliases (*name) stand for more than ${maxAliasCount} values; write these values out`;
  }
  return nestedTooDeeply;
}

function refersToItself(value: unknown, around: Set<object>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (around.has(value)) return true;
  around.add(value);
  const found = Object.values(value).some((each) => refersToItself(each, around));
  around.delete(value);
  return found;
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(path, [`cannot be read: ${(error as NodeJS.ErrnoException).code}`]);
  }
}
