/** Profiles of the command line: Sluice installations with a management key each, by name, in a file for its owner alone. */
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CommandError, UsageError } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

export interface Profile {
  /** With or without the base path. */
  readonly url: string;
  /** A management key. */
  readonly key: string;
}

/** The profile of `login` without a name, used where a command line has neither a database nor SLUICE_URL. */
export const defaultProfile = "default";

const nameForm = /^[\w.-]{1,64}$/;

/** @throws UsageError */
export function checkProfileName(name: string): void {
  if (!nameForm.test(name) || name === "__proto__")
    throw new UsageError("--profile: 1 to 64 letters, digits, dots, hyphens or underscores");
}

/** `sluice/profiles.json` in the folder for settings of the user: XDG_CONFIG_HOME, or ~/.config. */
export const profilesPath = ({ XDG_CONFIG_HOME: folder }: NodeJS.ProcessEnv): string =>
  join(folder || join(homedir(), ".config"), "sluice", "profiles.json");

export class Profiles {
  readonly #path: string | undefined;

  /** @param path of the file, which need not exist; undefined for a program without profiles */
  constructor(path: string | undefined) {
    this.#path = path;
  }

  /** @throws CommandError in a program without profiles */
  get path(): string {
    if (this.#path === undefined) throw new CommandError("this program keeps no profiles");
    return this.#path;
  }

  /** @throws CommandError when the file cannot be read */
  list(): ReadonlyMap<string, Profile> {
    const text = this.#path === undefined ? undefined : this.#text();
    if (text === undefined) return new Map();
    const entries = Object.entries(parse(text) ?? this.#refuse("it is not an object of JSON"));
    return new Map(entries.map(([name, profile]) => [name, isProfile(profile) ? profile : this.#refuse(name)]));
  }

  /** @throws CommandError when there is none of this name */
  get(name: string): Profile {
    const all = this.list();
    const profile = all.get(name);
    if (profile) return profile;
    const known = all.size === 0 ? "`login URL` makes one" : `one of ${[...all.keys()].join(", ")}`;
    throw new CommandError(`no such profile: ${name}; ${known}`);
  }

  set(name: string, profile: Profile): void {
    this.#write(new Map([...this.list(), [name, profile]]));
  }

  /** @throws CommandError when there is none of this name */
  delete(name: string): void {
    this.get(name);
    this.#write(new Map([...this.list()].filter(([each]) => each !== name)));
  }

  #text(): string | undefined {
    try {
      return readFileSync(this.path, "utf8");
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return code === "ENOENT" || code === "ENOTDIR" ? undefined : this.#refuse(String(code));
    }
  }

  /** Replaces the file in one step, so that a reader never meets half of it. */
  #write(profiles: ReadonlyMap<string, Profile>): void {
    const folder = dirname(this.path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const draft = join(folder, `.profiles-${randomUUID()}`);
    writeFileSync(draft, `${JSON.stringify(Object.fromEntries(profiles), null, 2)}\n`, { mode: 0o600 });
    chmodSync(draft, 0o600);
    renameSync(draft, this.path);
  }

  #refuse(reason: string): never {
    throw new CommandError(`${this.path} cannot be read: ${reason}`);
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isProfile = (value: unknown): value is Profile =>
  isObject(value) && typeof value["url"] === "string" && typeof value["key"] === "string";
