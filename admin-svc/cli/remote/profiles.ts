/**
 * Profiles of the command line: one file for each Sluice installation, with its management key, readable only by its
 * owner.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { CommandError, UsageError } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

export interface Profile {
  /** Address of the installation's gateway, with or without the base path. */
  readonly url: string;
  /** A management key. */
  readonly key: string;
}

/** Name of the profile that `login` writes when none is given. */
export const defaultProfile = "default";

const nameForm = /^[\w.-]{1,64}$/;
const extension = ".json";

/**
 * Folder of the profiles: `sluice/profiles` in XDG_CONFIG_HOME or ~/.config; undefined for a user without a home
 * folder.
 */
export function profilesFolder({ XDG_CONFIG_HOME: folder = "" }: NodeJS.ProcessEnv): string | undefined {
  if (isAbsolute(folder)) return join(folder, "sluice", "profiles");
  const home = homeFolder();
  return home === undefined ? undefined : join(home, ".config", "sluice", "profiles");
}

function homeFolder(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : undefined;
  } catch {
    return undefined;
  }
}

export class Profiles {
  readonly #folder: string | undefined;

  /** @param folder for the files, created when needed; undefined for a user without a home folder */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** Profiles in the order of their names. @throws CommandError when a file cannot be read */
  list(): ReadonlyMap<string, Profile> {
    return new Map(this.#names().map((name) => [name, this.#read(name) ?? this.#refuse(name, "it is gone")]));
  }

  /** @throws UsageError for an invalid name, CommandError when no profile has it */
  get(name: string): Profile {
    const profile = this.find(name);
    if (profile) return profile;
    const names = this.#names();
    const known = names.length === 0 ? "`login URL` makes one" : `one of ${names.join(", ")}`;
    throw new CommandError(`no such profile: ${name}; ${known}`);
  }

  /**
   * Returns undefined when no profile has the name. @throws UsageError for an invalid name, CommandError when its file
   * cannot be read
   */
  find(name: string): Profile | undefined {
    if (!nameForm.test(name)) throw new UsageError("--profile: 1 to 64 letters, digits, dots, hyphens or underscores");
    return this.#read(name);
  }

  /** Replaces the file atomically, so a reader never sees a partial file. @returns the path of the file */
  set(name: string, profile: Profile): string {
    const path = this.#path(name);
    mkdirSync(this.#own, { recursive: true, mode: 0o700 });
    const draft = join(this.#own, `.${randomUUID()}`);
    try {
      writeFileSync(draft, `${JSON.stringify(profile)}\n`, { mode: 0o600 });
      renameSync(draft, path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
    return path;
  }

  /** @throws CommandError when no profile has this name */
  delete(name: string): void {
    this.get(name);
    rmSync(this.#path(name), { force: true });
  }

  get #own(): string {
    if (this.#folder === undefined) throw new CommandError("profiles need a home folder, or XDG_CONFIG_HOME");
    return this.#folder;
  }

  #path(name: string): string {
    return join(this.#own, `${name}${extension}`);
  }

  #names(): readonly string[] {
    if (this.#folder === undefined) return [];
    try {
      const files = readdirSync(this.#folder).filter((file) => file.endsWith(extension));
      return files.map((file) => file.slice(0, -extension.length)).sort();
    } catch (error) {
      if (isAbsent(error)) return [];
      throw error;
    }
  }

  #read(name: string): Profile | undefined {
    let text: string;
    try {
      text = readFileSync(this.#path(name), "utf8");
    } catch (error) {
      if (isAbsent(error)) return undefined;
      return this.#refuse(name, String((error as NodeJS.ErrnoException).code));
    }
    const profile = parse(text);
    return isProfile(profile) ? profile : this.#refuse(name, "it is not a profile");
  }

  #refuse(name: string, reason: string): never {
    throw new CommandError(`${this.#path(name)} cannot be read: ${reason}`);
  }
}

const isAbsent = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR"].includes(String((error as NodeJS.ErrnoException).code));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isProfile = (value: unknown): value is Profile =>
  isObject(value) && typeof value["url"] === "string" && typeof value["key"] === "string";
