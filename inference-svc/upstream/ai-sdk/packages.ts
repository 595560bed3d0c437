/** Finds packages of the AI SDK: in a folder of the operator's, else among Sluice's own modules. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isObject } from "../json.ts";

/**
 * Imports a package.
 * @param folder prefix of `npm install --prefix`; absent where the operator has none
 * @throws Error that says what to do
 */
export async function importPackage(
  name: string,
  folder: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  const entry = folder === undefined ? undefined : entryIn(folder, name);
  try {
    return (await import(entry?.href ?? name)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    const isMissing = entry === undefined && String((cause as { code?: unknown }).code).endsWith("MODULE_NOT_FOUND");
    if (!isMissing) throw new Error(`package ${name} cannot be loaded: ${(cause as Error).message}`, { cause });
    const prefix = folder === undefined ? "" : `--prefix ${folder} `;
    throw new Error(`package ${name} is not installed; npm install ${prefix}${name}`, { cause });
  }
}

/** The file that `import` of the package would load from a module in that folder. Undefined when it is not installed there. */
function entryIn(folder: string, name: string): URL | undefined {
  const home = pathToFileURL(`${join(folder, "node_modules", name)}/`);
  const manifest = readIfPresent(new URL("package.json", home));
  if (manifest === undefined) return undefined;
  const { exports, main } = JSON.parse(manifest) as { readonly exports?: unknown; readonly main?: unknown };
  const root = isObject(exports) && "." in exports ? exports["."] : exports;
  return new URL(targetOf(root) ?? (typeof main === "string" ? main : "index.js"), home);
}

/** Conditions under which Node imports, see https://nodejs.org/api/packages.html#conditional-exports. */
const conditions: ReadonlySet<string> = new Set(["import", "node", "module-sync", "default"]);

/** The first target whose conditions hold. */
function targetOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isObject(value)) return undefined;
  for (const [condition, inner] of Object.entries(value)) {
    const target = conditions.has(condition) ? targetOf(inner) : undefined;
    if (target !== undefined) return target;
  }
  return undefined;
}

function readIfPresent(file: URL): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
