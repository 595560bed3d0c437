/** The command `bootstrap` prepares a database for the first start. A deployment job may run it any number of times. */
import { type Command, UsageError, readArguments } from "@sluice/proto/lib/process/cli.js";
import { KeyKind, kindOfKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { createFirstKey, registerKey } from "../store/first-key.ts";
import { grantRuntime, runtimeRole } from "../store/postgres/roles.ts";
import { type AdminTerminal, jsonOption } from "./terminal.ts";

export const bootstrap: Command<AdminTerminal> = {
  usage: "[--json]",
  summary:
    "Migrates the database to the schema of this build, grants the role of the service, and creates the first management key.",
  details: [
    "The key is SLUICE_BOOTSTRAP_MANAGEMENT_KEY, which is not printed, or else a new one, which is printed once.",
    "The first management key of the default workspace is one of the account, which may also change what holds for every workspace.",
    "Creates no key when the workspace has a management key. May run repeatedly, also at the same time.",
  ],
  async run(args, { database, author, managementKey, print }) {
    const { values } = readArguments(args, jsonOption);
    if (managementKey !== undefined && kindOfKey(managementKey) !== KeyKind.MANAGEMENT) {
      throw new UsageError(
        "SLUICE_BOOTSTRAP_MANAGEMENT_KEY: not a key of the form mk-sl-...: `keys mint --management` prints one",
      );
    }
    const opened = await database();
    const role = (await grantRuntime(opened)) ? runtimeRole : null;
    const by = { ...(await author()), program: "bootstrap" as const };
    const key = managementKey ?? mintKey(KeyKind.MANAGEMENT);
    const named = { name: "bootstrap", key };
    const row =
      managementKey === undefined
        ? await createFirstKey(opened, by, named)
        : (await registerKey(opened, by, named))?.row;
    const shown = row && managementKey === undefined ? key : undefined;
    if (values.json === true) return print(JSON.stringify({ role, key: shown ?? null, hash: row?.hash ?? null }));
    print(
      role === null ? "serving with the rights of the user: the role was not created" : `serving in the role ${role}`,
    );
    if (shown !== undefined) print(`key   ${shown}`);
    print(row ? `hash  ${row.hash}` : "there is a management key already");
  },
};
