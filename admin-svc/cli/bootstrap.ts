/** bootstrap: what a database needs before the first start, as a job that may run any number of times. */
import { KeyKind, kindOfKey, mintKey } from "@sluice/proto/runtime/key.js";
import { parseArgs } from "node:util";
import { createFirstKey } from "../store/first-key.ts";
import { createKey } from "../store/keys.ts";
import { grantRuntime, runtimeRole } from "../store/roles.ts";
import { type Command, UsageError, exactly } from "./command.ts";

export const bootstrap: Command = {
  usage: "[--json]",
  summary:
    "Brings the database to the schema of this build, grants the role to serve in, and makes the first management key.",
  details: [
    "The key is the one of SLUICE_BOOTSTRAP_MANAGEMENT_KEY, of which nothing is printed; without it a new one, printed once.",
    "Where the workspace has a management key nothing is made. May run again, and several times at once.",
  ],
  async run(args, { database, author, managementKey, print }) {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
    exactly(positionals);
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
      managementKey === undefined ? await createFirstKey(opened, by, named) : (await createKey(opened, by, named))?.row;
    const shown = row && managementKey === undefined ? key : undefined;
    if (values.json === true) return print(JSON.stringify({ role, key: shown ?? null, hash: row?.hash ?? null }));
    print(role === null ? "serving with the rights of the user: the role was not made" : `serving in the role ${role}`);
    if (shown !== undefined) print(`key   ${shown}`);
    print(row ? `hash  ${row.hash}` : "there is a management key already");
  },
};
