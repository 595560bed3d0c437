/** The command `schema` with its verb migrate. */
import { namedArguments } from "@sluice/proto/lib/process/cli.js";
import { sql } from "kysely";
import { grantRuntime } from "../store/postgres/roles.ts";
import type { Commands } from "./terminal.ts";

export const schema: Commands = {
  migrate: {
    usage: "",
    summary: "Migrates the database to the schema of this build, prints its name, and grants the role of the service.",
    details: ["Every other command and every start of admin-svc migrates first, if it has the rights."],
    async run(args, { database, print }) {
      namedArguments(args);
      await grantRuntime(await database());
      const { rows } = await sql<{ name: string }>`select max(name) as name from kysely_migration`.execute(
        await database(),
      );
      print(`schema ${rows[0]?.name}`);
    },
  },
};
