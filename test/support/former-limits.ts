/**
 * The scripts of rate limits as builds until 2026-11 had them: they keep each process's turns in the hash of the key, and read all of them at each
 * step.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./processes.ts";

const read = (name: string) => readFileSync(join(root, "test/fixtures/limits/former", `${name}.lua`), "utf8");

export const formerScripts = {
  enter: read("enter"),
  leave: read("leave"),
  enterAll: read("enterAll"),
  leaveAll: read("leaveAll"),
  restore: read("restore"),
} as const;
